package vsr

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata print into them")

// TestScripts runs the protocol stories in testdata. A script is a list of commands; below each stands
// what it brought about, indented. With -rewrite the indented lines are written anew, to be read by hand.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := runScript(string(data))
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := strings.Split(string(data), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || want[i] != line {
					t.Fatalf("%s:%d:\n got %q\nwant %q", file, i+1, line, at(want, i))
				}
			}
			if n := len(strings.Split(got, "\n")); n != len(want) {
				t.Fatalf("%s: %d lines, want %d", file, n, len(want))
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func runScript(script string) (string, error) {
	s := &runner{}
	var out strings.Builder
	for n, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.run(line); err != nil {
			return "", fmt.Errorf("line %d, %q: %w", n+1, line, err)
		}
		out.WriteString(s.c.out.String())
		s.c.out.Reset()
	}
	if left := s.c.close(); left != 0 {
		return "", fmt.Errorf("%d bytes of bodies were never released", left)
	}
	return out.String(), nil
}

// runner executes the commands of one script.
type runner struct {
	c *cluster
	// names numbers the waiters: w1, w2, ...
	names int
}

// command is one line: words, and key=value arguments.
type command struct {
	words []string
	args  map[string]string
}

func parseCommand(line string) command {
	c := command{args: map[string]string{}}
	for _, word := range strings.Fields(line) {
		if k, v, ok := strings.Cut(word, "="); ok {
			c.args[k] = v
		} else {
			c.words = append(c.words, word)
		}
	}
	return c
}

func (c command) flag(name string) bool {
	for _, w := range c.words[1:] {
		if w == name {
			return true
		}
	}
	return false
}

func (c command) num(name string, otherwise uint64) uint64 {
	v, ok := c.args[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (s *runner) run(line string) error {
	cmd := parseCommand(line)
	if cmd.words[0] == "replicas" {
		return s.start(cmd)
	}
	if len(cmd.words) < 2 {
		return fmt.Errorf("no replica named")
	}
	if from, to, ok := strings.Cut(cmd.words[1], "->"); ok {
		return s.link(cmd, from, to)
	}
	switch cmd.words[0] {
	case "deliver", "state":
		if cmd.words[1] == "all" {
			return s.all(cmd)
		}
	}
	i, err := strconv.Atoi(cmd.words[1])
	if err != nil || i >= len(s.c.nodes) {
		return fmt.Errorf("replica %q", cmd.words[1])
	}
	return s.replica(cmd, i)
}

func (s *runner) start(cmd command) error {
	n, err := strconv.Atoi(cmd.words[1])
	o := clusterOptions{replicas: n, depth: int(cmd.num("depth", 4)), group: testGroup, written: cmd.flag("written")}
	if cmd.flag("sessions") {
		o.sessions, o.group = true, protocol.MetadataGroup
	}
	s.c = newCluster(o)
	for _, n := range s.c.nodes {
		n.r.Tick(s.c.now)
	}
	return err
}

// all delivers every frame, round after round, until none is left, or prints every state.
func (s *runner) all(cmd command) error {
	if cmd.words[0] == "state" {
		for i := range s.c.nodes {
			s.c.state(i)
		}
		return nil
	}
	for again := true; again; {
		again = false
		for from := range s.c.nodes {
			for to := range s.c.nodes {
				for n := len(s.c.links[from][to]); n > 0; n-- {
					s.c.deliver(from, to, 0)
					again = true
				}
				s.c.drain(to)
			}
		}
	}
	return nil
}

func (s *runner) link(cmd command, fromWord, toWord string) error {
	from, err1 := strconv.Atoi(fromWord)
	to, err2 := strconv.Atoi(toWord)
	if err1 != nil || err2 != nil || max(from, to) >= len(s.c.nodes) {
		return fmt.Errorf("link %s->%s", fromWord, toWord)
	}
	k := int(cmd.num("at", 0))
	q := s.c.links[from][to]
	if k >= len(q) {
		return fmt.Errorf("%d frames on the link", len(q))
	}
	switch cmd.words[0] {
	case "deliver":
		for n := cmd.num("n", uint64(len(q))); n > 0; n-- {
			s.c.deliver(from, to, k)
		}
		s.c.drain(to)
	case "drop":
		s.c.links[from][to] = append(q[:k:k], q[k+int(cmd.num("n", 1)):]...)
	case "duplicate":
		s.c.links[from][to] = append(q, q[k])
	case "reparent":
		p := (*protocol.PrepareHeader)(&q[k].header)
		p.SetParent(protocol.Uint128{Lo: 99})
		p.Seal()
	case "forge":
		(*CommitHeader)(&q[k].header).SetCommitChecksum(protocol.Uint128{Lo: 99})
		SealFrame(&q[k].header, nil)
	case "restamp":
		q[k].header.SetView(uint32(cmd.num("view", 0)))
		if q[k].header.Command() != protocol.CommandPrepare {
			SealFrame(&q[k].header, nil)
		}
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

func (s *runner) replica(cmd command, i int) error {
	c, n := s.c, s.c.nodes[i]
	switch cmd.words[0] {
	case "propose":
		s.propose(cmd, i)
	case "append-done":
		c.appendDone(i, cmd.num("op", n.r.Op()))
	case "append-failed":
		c.appendFailed(i, cmd.num("op", n.r.Op()))
	case "superblock-done", "superblock-failed":
		if n.write == nil {
			return fmt.Errorf("no superblock write runs")
		}
		if cmd.words[0] == "superblock-failed" {
			c.superblockDone(i, errDisk)
			break
		}
		c.superblockDone(i, nil)
	case "tick":
		for range cmd.num("times", 1) {
			c.tick(cmd.num("n", 1))
			n.r.Tick(c.now)
		}
	case "hold":
		n.machine.holdAt = cmd.num("op", 0)
	case "resume":
		n.machine.holdAt = 0
		n.r.Resume(c.now)
	case "refuse":
		n.machine.refuse = protocol.Code(cmd.num("code", 0))
	case "deny":
		n.table.deny[cmd.num("session", 0)] = Outcome{Verdict: Evicted, Evict: protocol.EvictNoSession}
	case "stop":
		n.r.Stop(c.now)
	case "unminted":
		c.printf("  unminted %v, minted %v", n.machine.unminted, n.machine.minted)
	case "table":
		c.printf("  table %q", n.table.committed)
	case "state":
		c.state(i)
	default:
		return fmt.Errorf("unknown command")
	}
	c.drain(i)
	return nil
}

func (s *runner) propose(cmd command, i int) {
	for range cmd.num("times", 1) {
		s.names++
		name := fmt.Sprintf("w%d", s.names)
		req := Request{
			Client: protocol.Uint128{Lo: cmd.num("client", 0)}, Session: cmd.num("session", 0),
			Request: cmd.num("request", 0), Operation: protocol.OpStoreConsumerOffset,
		}
		if s.c.nodes[i].table != nil {
			req.Operation = protocol.Operation(cmd.num("operation", uint64(protocol.OpCreateStream)))
		}
		if !cmd.flag("unheard") {
			req.Waiter = name
		}
		if o := s.c.propose(i, req, name); o.Verdict != Accepted {
			s.c.printf("  %d: %s %s", i, name, describeOutcome(o))
		}
	}
}
