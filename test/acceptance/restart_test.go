package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// everything is what a server answers about all that it keeps, in one text.
func everything(c *drive.Client) string {
	var b strings.Builder
	show := func(what string, body []byte) { fmt.Fprintf(&b, "%s: %x\n", what, body) }
	show("users", c.Ask(protocol.CmdUserList, nil))
	all, err := command.DecodeUsers(c.Ask(protocol.CmdUserList, nil))
	c.Must(err)
	for _, u := range all {
		show("user", c.Ask(protocol.CmdUserGet, numbered(u.ID).Append(nil)))
	}
	show("tokens", c.Ask(protocol.CmdPersonalAccessTokenList, nil))
	show("streams", c.Ask(protocol.CmdStreamList, nil))
	for _, s := range streams(c) {
		for _, topic := range topics(c, numbered(s.ID)) {
			r := ref(numbered(s.ID), numbered(topic.ID))
			show("topic", c.Ask(protocol.CmdTopicGet, r.Append(nil)))
			show("groups", c.Ask(protocol.CmdConsumerGroupList, r.Append(nil)))
			for p := range topic.PartitionsCount {
				for _, m := range c.All(r, p) {
					fmt.Fprintf(&b, "message %+v\n", m)
				}
				for id := range uint32(3) {
					stored, found := c.Stored(drive.Consumer(id), r, p)
					fmt.Fprintln(&b, "stored", id, stored, found)
				}
			}
		}
	}
	return b.String()
}

// populate makes some of everything, with holes where things were deleted.
func populate(c *drive.Client) {
	newUser(c, "alice", "password", &command.Permissions{Global: command.GlobalPermissions{ReadStreams: true}})
	newUser(c, "bob", "password", nil)
	c.Apply(protocol.OpDeleteUser, named("alice").Append(nil))
	for _, name := range []string{"first", "second"} {
		c.Apply(protocol.OpCreatePersonalAccessToken, tokenBody(name, 0))
	}
	c.Apply(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "first"))
	for _, stream := range []string{"a", "b", "c"} {
		for _, name := range []string{"x", "y", "z"} {
			topic := c.NewTopic(stream, name, 2, command.U64Option("segment_size", mib))
			for p := range uint32(2) {
				c.Send(topic.TopicRef, p, drive.Payloads(stream+name, 5)...)
				c.Send(topic.TopicRef, p, strings.Repeat("large ", 100_000))
				c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, p), 3, protocol.AckQuorum))
				c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(2), topic.TopicRef, p), 2, protocol.AckNone))
				c.Must(c.DeleteOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), protocol.AckQuorum))
				c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 4, protocol.AckQuorum))
			}
			for _, group := range []string{"g", "h"} {
				newGroup(c, topic, group)
			}
			c.Must(c.Try(protocol.OpDeleteConsumerGroup, command.GroupRef{TopicRef: topic.TopicRef, Group: named("g")}.Append(nil)))
		}
		c.Must(c.DeleteTopic(ref(named(stream), named("y"))))
		c.Apply(protocol.OpPurgeTopic, ref(named(stream), named("z")).Append(nil))
		c.Apply(protocol.OpUpdateTopic, updateTopicBody(ref(named(stream), named("x")), "renamed", command.U64Option("message_expiry", 3_600_000_000)))
	}
	c.Must(c.DeleteStream(named("b")))
}

func TestRestart_EverythingIsTheSame(t *testing.T) {
	s, c := drive.Fresh(t)
	populate(c)
	want := everything(c)
	for name, again := range map[string]func(){"stop": s.Restart, "kill": s.Crash, "stop twice": func() { s.Restart(); s.Restart() }} {
		again()
		c = drive.Root(t, s)
		if got := everything(c); got != want {
			t.Errorf("after %s the answers differ: %s", name, difference(want, got))
		}
	}
	c.NewStream("in the hole")
	d, _, err := c.GetStream(named("in the hole"))
	c.Must(err)
	drive.Check(t, "id of the next stream", d.ID, 1)
}

// difference shows the first line that two texts do not share.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d was\n%.300s\nand is\n%.300s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines became %d", len(a), len(b))
}

// More operations than the journal has slots: checkpoints have made room, and the next starts begin with a
// snapshot.
func TestRestart_AfterMoreOperationsThanJournalSlots(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_METADATA_JOURNAL_SLOTS=256")
	for i := range 700 {
		id := c.NewStream(fmt.Sprint("stream ", i))
		if i%3 > 0 {
			c.Must(c.DeleteStream(id))
		}
	}
	want := everything(c)
	if _, err := os.Stat(filepath.Join(s.Data(), "metadata", "snapshot.bin")); err != nil {
		t.Error(err)
	}
	for range 3 {
		s.Crash()
		c = drive.Root(t, s)
		if got := everything(c); got != want {
			t.Fatalf("the answers differ: %s", difference(want, got))
		}
		c.Must(c.DeleteStream(c.NewStream("one more")))
	}
}

func TestRestart_ProducersAndConsumersGoOn(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	group := newGroup(c, topic, "workers")
	var sent, seen []string
	for life := range 4 {
		producer, consumer := drive.Root(t, s), join(t, s, group)
		for i := range 5 {
			sent = append(sent, fmt.Sprint(life, " ", i))
			producer.Send(topic.TopicRef, 0, sent[len(sent)-1])
		}
		s.Eventually(10*time.Second, "the member has the partition", func() bool { return len(consumer.owns()) == 1 })
		got, _ := consumer.take(0, 100)
		seen = append(seen, drive.Bodies(got)...)
		consumer.Must(consumer.commit(0, got[len(got)-1].Offset))
		consumer.Must(consumer.LeaveGroup(group))
		if life%2 == 0 {
			s.Restart()
		} else {
			s.Crash()
		}
	}
	if !slices.Equal(sent, seen) {
		t.Errorf("sent %v, received %v", sent, seen)
	}
}

func TestRestart_TornTailsAreRepairedOnce(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, logs, indexes []string){
		"log cut in a record":  func(t *testing.T, logs, _ []string) { cut(t, last(logs), 5) },
		"index cut":            func(t *testing.T, _, indexes []string) { cut(t, last(indexes), 3) },
		"index gone":           func(t *testing.T, _, indexes []string) { remove(t, last(indexes)) },
		"both cut":             func(t *testing.T, logs, indexes []string) { cut(t, last(logs), 300); cut(t, last(indexes), 1) },
		"zeroes behind":        func(t *testing.T, logs, _ []string) { extend(t, last(logs), make([]byte, 5000)) },
		"index of zeroes":      func(t *testing.T, _, indexes []string) { extend(t, last(indexes), make([]byte, 4096)) },
		"begin of a record":    func(t *testing.T, logs, _ []string) { extend(t, last(logs), drive.Record("torn")[:280]) },
		"half a header behind": func(t *testing.T, logs, _ []string) { extend(t, last(logs), drive.Record("torn")[:100]) },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := drive.Fresh(t)
			topic := segmented(c, "events", 5)
			before := c.All(topic.TopicRef, 0)
			s.Kill()
			damage(t, segmentFiles(t, s, topic, ".log"), segmentFiles(t, s, topic, ".index"))
			s.Launch()
			c = drive.Root(t, s)
			got := c.All(topic.TopicRef, 0)
			if len(got) < len(before)-1 || !slices.Equal(got, before[:len(got)]) {
				t.Fatalf("%d messages; want those of before, all or all but the torn one", len(got))
			}
			base := c.Send(topic.TopicRef, 0, "new")
			if base <= before[len(before)-1].Offset {
				t.Errorf("offset %d is issued again", base)
			}
			for range 2 {
				s.Restart()
				c = drive.Root(t, s)
				if again := c.All(topic.TopicRef, 0); len(again) != len(got)+1 || again[len(got)].Payload != "new" {
					t.Errorf("%d messages after a restart; want %d", len(again), len(got)+1)
				}
				for line := range strings.Lines(s.LifeLog()) {
					if strings.Contains(line, " WARN ") && strings.Contains(line, "galgo::node") {
						t.Errorf("a repaired partition is repaired again: %s", line)
					}
				}
			}
		})
	}
}

func last(paths []string) string { return paths[len(paths)-1] }

func cut(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, max(info.Size()-bytes, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func extend(t *testing.T, path string, more []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(raw, more...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flip changes one bit of a file, at a byte counted from the end when it is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(raw)
	}
	raw[at] ^= 0x10
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRestart_DamagedMetadataRefusesTheBootAndNamesTheFile(t *testing.T) {
	for name, x := range map[string]struct {
		damage func(t *testing.T, dir string) string // returns the file that must be named
	}{
		"superblock rotted": {func(t *testing.T, dir string) string {
			slots, _ := filepath.Glob(filepath.Join(dir, "superblock.*"))
			flip(t, slots[0], 40)
			return filepath.Base(slots[0])
		}},
		"superblock of another version": {func(t *testing.T, dir string) string {
			slots, _ := filepath.Glob(filepath.Join(dir, "superblock.*"))
			flip(t, slots[0], 4)
			return filepath.Base(slots[0])
		}},
		"journal rotted inside": {func(t *testing.T, dir string) string {
			flip(t, filepath.Join(dir, "journal.wal"), 600)
			return "journal.wal"
		}},
		"journal gone": {func(t *testing.T, dir string) string {
			remove(t, filepath.Join(dir, "journal.wal"))
			return "journal"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := drive.Fresh(t)
			for i := range 5 {
				c.NewStream(fmt.Sprint("stream ", i))
			}
			s.Stop()
			dir := filepath.Join(s.Data(), "metadata")
			file := x.damage(t, dir)
			before := files(t, dir)
			code, log := s.Refused()
			if code == 0 || !strings.Contains(log, file) {
				t.Errorf("exit code %d; the log does not name %s:\n%s", code, file, log)
			}
			if after := files(t, dir); !bytes.Equal(before, after) {
				t.Error("a refused boot changed the files")
			}
		})
	}
}

// files is the content of a folder in one piece.
func files(t *testing.T, dir string) []byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, e.Name()...), raw...)
	}
	return all
}

func TestRestart_ADamagedPartitionIsFencedAndTheOthersServe(t *testing.T) {
	s, c := drive.Fresh(t)
	bad, good := segmented(c, "bad", 5), segmented(c, "good", 5)
	s.Stop()
	flip(t, segmentFiles(t, s, bad, ".log")[0], 5000)
	s.Launch()
	c = drive.Root(t, s)
	intact(t, c, good, 4)
	drive.Check(t, "next offset of the good one", c.Send(good.TopicRef, 0, body(5)), 5)
	_, err := c.Conn.Poll(drive.Poll(bad.TopicRef, 0, command.FromFirst, 0, 10))
	refusals := []protocol.Code{protocol.CodeCannotReadPartitions, protocol.CodeCannotReadMessage, protocol.CodeInvalidMessageChecksum, protocol.CodeInvalidBatchChecksum}
	if code, _ := rawclient.CodeOf(err); !slices.Contains(refusals, code) {
		t.Errorf("poll of damaged messages: %v; want one of %v", err, refusals)
	}
	if logs := segmentFiles(t, s, bad, ".log"); len(logs) != 2 {
		t.Errorf("segment files %v; nothing of a damaged partition may vanish", logs)
	}
	c.Must(c.DeleteTopic(bad.TopicRef))
	drive.Check(t, "base offset in a new topic", c.Send(c.NewTopic("orders", "bad", 1).TopicRef, 0, "x"), 0)
}

func TestRestart_ARetriedRequestGetsItsReplyByteForByte(t *testing.T) {
	for name, again := range map[string]func(*process.Server){"no restart": func(*process.Server) {}, "stop": (*process.Server).Restart, "kill": (*process.Server).Crash} {
		t.Run(name, func(t *testing.T) {
			s, c := drive.Fresh(t)
			var frames, replies [][]byte
			for i := range 8 {
				name := fmt.Sprint("stream ", i%7) // the eighth is refused, which is remembered as well
				frames = append(frames, c.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody(name)))
				reply, _ := c.Exchange(frames[i])
				replies = append(replies, append(reply.Header[:], reply.Body...))
			}
			again(s)
			retry := drive.DialOptions(t, s, rawclient.Options{Client: c.Client()})
			retry.Must(retry.SignIn(process.RootName, process.RootPassword))
			for i := range 8 {
				reply, err := retry.Exchange(frames[i])
				if i < 4 { // five replies are kept, and that of the sign-in is one
					drive.Want(t, fmt.Sprint("retry of an old request ", i), err, drive.Rejected(protocol.CodeRequestAlreadyApplied))
					continue
				}
				if got := append(reply.Header[:], reply.Body...); !bytes.Equal(got, replies[i]) {
					t.Errorf("request %d: the reply differs:\n%x\n%x", i, replies[i], got)
				}
			}
			retry.SetNextRequest(9)
			retry.NewStream("next")
			drive.Check(t, "streams", len(streams(retry)), 8)
		})
	}
}

func TestSessions_ReusedNumbersGapsAndChecksums(t *testing.T) {
	_, c := drive.Fresh(t)
	stamped := func(number uint64, name string) []byte {
		c.SetNextRequest(number)
		frame := c.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody(name))
		(*protocol.RequestHeader)(frame).SetRequestChecksum(protocol.Uint128From64(protocol.Hash64(frame[protocol.HeaderSize:])))
		return frame
	}
	exchange := func(frame []byte) error {
		_, err := c.Exchange(frame)
		return err
	}
	c.Must(exchange(stamped(1, "one")))
	c.Must(exchange(stamped(1, "one")))
	drive.Want(t, "another body under the same number", exchange(stamped(1, "other")), drive.Denied(protocol.CodeInvalidCommand))
	c.Must(exchange(stamped(10, "gap")))
	drive.Want(t, "a number below the watermark that was never used", exchange(stamped(5, "late")), drive.Rejected(protocol.CodeRequestAlreadyApplied))
	wrong := stamped(11, "wrong")
	wrong[len(wrong)-1] ^= 1
	drive.Want(t, "wrong request checksum", exchange(wrong), drive.Denied(protocol.CodeInvalidFormat))
	c.Must(exchange(stamped(11, "right")))
	drive.Check(t, "streams", len(streams(c)), 3)
}

func TestSessions_AFullTableKeepsTheSessionsThatWork(t *testing.T) {
	s, _ := drive.Fresh(t, "IGGY_METADATA_CLIENTS_TABLE_MAX=8")
	busy := drive.Root(t, s)
	frame := busy.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody("once"))
	first, err := busy.Exchange(frame)
	busy.Must(err)
	want := append(first.Header[:], first.Body...)
	idle := drive.Root(t, s)
	for i := range 20 {
		drive.Root(t, s)
		if i%3 == 2 {
			busy.NewStream(fmt.Sprint("stream ", i))
		}
	}
	drive.Want(t, "a session that was pushed out", idle.Try(protocol.OpCreateStream, streamBody("idle")), drive.Evicted(protocol.EvictNoSession))
	s.Crash()
	again := drive.DialOptions(t, s, rawclient.Options{Client: busy.Client()})
	again.Must(again.SignIn(process.RootName, process.RootPassword))
	reply, err := again.Exchange(frame)
	if got, _ := drive.AnswerOf(err); got == drive.OK && !bytes.Equal(append(reply.Header[:], reply.Body...), want) || got != drive.OK && got != drive.Rejected(protocol.CodeRequestAlreadyApplied) {
		t.Errorf("a retried request is answered %s, %v", got, err)
	}
	s.Stop()
	s.Setenv("IGGY_METADATA_CLIENTS_TABLE_MAX=16")
	if code, log := s.Refused(); code == 0 || !strings.Contains(log, "16") || !strings.Contains(log, "8") {
		t.Errorf("another size of the table: exit code %d; the log does not name both values:\n%s", code, log)
	}
}

func TestCluster_ASingleNodeIsItsOwnLeader(t *testing.T) {
	s, c := drive.Fresh(t)
	got, err := command.DecodeClusterMetadata(c.Ask(protocol.CmdClusterMetadata, nil))
	c.Must(err)
	if got.Name != "single-node" || len(got.Nodes) != 1 {
		t.Fatalf("roster %+v", got)
	}
	n := got.Nodes[0]
	if address := fmt.Sprintf("%s:%d", n.Host, n.TCP); n.Name != "iggy-node" || n.Role != 0 || n.Status != 0 || address != s.Addr() {
		t.Errorf("node %+v; want the leader at %s", n, s.Addr())
	}
}
