package protocol_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// rows reads a table of testdata: lines of tab-separated columns, # in front of the heading.
func rows(t *testing.T, name string, columns, count int) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		row := strings.Split(s.Text(), "\t")
		if len(row) != columns {
			t.Fatalf("%s: row %q", name, s.Text())
		}
		all = append(all, row)
	}
	if len(all) != count {
		t.Errorf("%s: %d rows, want %d", name, len(all), count)
	}
	return all
}

func integer(t *testing.T, s string) int {
	t.Helper()
	v, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The table of codes is the protocol's: every code with its name, and no other.
func TestCodes_AreThoseOfTheProtocol(t *testing.T) {
	known := map[protocol.Code]string{}
	for _, row := range rows(t, "error_codes.tsv", 2, 238) {
		known[protocol.Code(integer(t, row[0]))] = row[1]
	}
	for n := range 20_000 {
		code := protocol.Code(n)
		want, assigned := known[code]
		if !assigned {
			want = "Error"
		}
		if got := code.Info().Name; got != want {
			t.Errorf("code %d: %s, want %s", n, got, want)
		}
		if info := code.Info(); info.Text == "" {
			t.Errorf("code %d has no text", n)
		}
	}
}

func TestCodes_OnlyTransientOnesAreRetriable(t *testing.T) {
	for n := range 20_000 {
		code := protocol.Code(n)
		transient := code == protocol.CodeTransientNotAccepted || code == protocol.CodeTransientNotCommitted
		if info := code.Info(); info.Retriable != transient || (info.Kind == protocol.KindTransient) != transient {
			t.Errorf("code %d: %+v", n, info)
		}
	}
}

func TestCode_IsAnError(t *testing.T) {
	err := fmt.Errorf("create stream: %w", protocol.CodeStreamNameAlreadyExists)
	var code protocol.Code
	if !errors.As(err, &code) || code != 1012 || !errors.Is(err, protocol.CodeStreamNameAlreadyExists) {
		t.Errorf("code of %v: %d", err, code)
	}
	if want := "create stream: StreamNameAlreadyExists (1012): stream name already taken"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if protocol.Success.Error() != "success" {
		t.Errorf("success reads %q", protocol.Success.Error())
	}
}

// The table of commands is the protocol's: name, operation and who may send it, and no other command.
func TestCommands_AreThoseOfTheProtocol(t *testing.T) {
	known := map[protocol.CommandCode]protocol.CommandInfo{}
	for _, row := range rows(t, "command_codes.tsv", 4, 51) {
		known[protocol.CommandCode(integer(t, row[0]))] = protocol.CommandInfo{
			Name: row[1], Operation: protocol.Operation(integer(t, row[2])),
			PreAuth: row[3] == "before", Checked: row[3] == "permission",
		}
	}
	for n := range 2000 {
		code := protocol.CommandCode(n)
		want, assigned := known[code]
		got, ok := code.Info()
		if ok != assigned || got != want {
			t.Errorf("command %d: %+v (%t), want %+v (%t)", n, got, ok, want, assigned)
		}
		name := want.Name
		if !assigned {
			name = fmt.Sprintf("command %d", n)
		}
		if code.String() != name {
			t.Errorf("command %d is called %s", n, code)
		}
	}
}

// Every operation that a client sends belongs to at least one command.
func TestCommands_CoverTheOperations(t *testing.T) {
	covered := map[protocol.Operation]bool{}
	for n := range 2000 {
		if info, ok := protocol.CommandCode(n).Info(); ok {
			covered[info.Operation] = true
		}
	}
	for b := range 256 {
		op := protocol.Operation(b)
		if op.IsKnown() && !op.IsInternal() && !covered[op] {
			t.Errorf("%s has no command", op)
		}
	}
}

func TestOperations_Predicates(t *testing.T) {
	for b := range 256 {
		op := protocol.Operation(b)
		internal := b >= 64 && b <= 127
		partition := b >= 160 || b == 69
		metadata := internal && b != 69 || b >= 128 && b <= 149 && b != 138
		if op.IsInternal() != internal || op.IsPartition() != partition || op.IsMetadata() != metadata {
			t.Errorf("%s: internal %t, partition %t, metadata %t", op, op.IsInternal(), op.IsPartition(), op.IsMetadata())
		}
		if framed := metadata || b == 161 || b == 162; op.IsResultFramed() != framed {
			t.Errorf("%s: framed %t", op, op.IsResultFramed())
		}
		if named := op.String() != fmt.Sprintf("operation %d", b); named != (op.IsKnown() || b == 0) {
			t.Errorf("operation %d: known %t, named %s", b, op.IsKnown(), op)
		}
	}
}

func TestEvictions_NamesAndCodes(t *testing.T) {
	want := map[protocol.EvictionReason]protocol.Code{
		1: 40, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 7: 40, 8: 40, 9: 42, 10: 53, 11: 40, 12: 40, 13: 30, 14: 14003, 15: 4,
	}
	names := map[string]bool{}
	for b := range 256 {
		reason := protocol.EvictionReason(b)
		code, known := want[reason]
		if !known {
			code = protocol.CodeUnauthenticated
		}
		if reason.Code() != code {
			t.Errorf("%s: code %d, want %d", reason, reason.Code(), code)
		}
		if named := reason.String() != fmt.Sprintf("eviction %d", b); named != known {
			t.Errorf("reason %d: %s", b, reason)
		}
		names[reason.String()] = true
	}
	if len(names) != 256 {
		t.Errorf("%d names of 256 reasons", len(names))
	}
}
