package cases

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// IGGY-2581: thousands of tiny batches are written although one vectored call takes no more than 1,024 of them.
func TestFlush_OfThousandsOfTinyBatches(t *testing.T) {
	s, c := drive.Fresh(t)
	const total = 20_000
	topic := c.NewTopic("orders", "events", 1, command.U32Option("messages_required_to_save", 50_000))
	body := append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 1}.Append(nil), drive.Record("1")...)
	frame := c.AppendFrame(nil, protocol.OpSendMessages, 0, body)
	written := make(chan error, 1)
	go func() { written <- c.SendFrames(slices.Repeat(frame, total), total) }()
	for c.InFlight() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range total {
		_, err := c.Receive()
		c.Must(err)
	}
	c.Must(<-written)
	c.Must(c.Flush(topic.TopicRef, 0, true))
	want := drive.Span(0, total-1)
	for _, again := range []func(){func() {}, s.Restart, s.Crash} {
		again()
		if got := drive.Offsets(drive.Root(t, s).All(topic.TopicRef, 0)); !slices.Equal(got, want) {
			t.Fatalf("%d messages; want %d", len(got), total)
		}
	}
}

// IGGY-2588: segments that rotate while others are flushed lose and disorder nothing.
func TestRotation_UnderConcurrentProducers(t *testing.T) {
	for _, fsync := range []bool{false, true} {
		t.Run(fmt.Sprint("fsync ", fsync), func(t *testing.T) {
			s, c := drive.Fresh(t)
			topic := smallSegments(c, command.U32Option("messages_required_to_save", 1), command.BoolOption("enforce_fsync", fsync))
			const producers, each = 4, 60
			confirmed := make([][]uint64, producers)
			errs := make([]error, producers)
			var all sync.WaitGroup
			for n := range producers {
				conn := drive.Root(t, s)
				all.Go(func() {
					for i := range each {
						payload := fmt.Sprintf("%d/%d %s", n, i, strings.Repeat("x", 150_000))
						got, err := conn.SendMessages(topic.TopicRef, drive.To(0), drive.Record(payload))
						if err != nil {
							errs[n] = err
							return
						}
						confirmed[n] = append(confirmed[n], got.BaseOffset)
						if i%10 == 0 {
							if err := conn.Flush(topic.TopicRef, 0, true); err != nil {
								errs[n] = err
							}
						}
					}
				})
			}
			all.Wait()
			for _, err := range errs {
				c.Must(err)
			}
			for _, again := range []func(){func() {}, s.Restart, s.Crash} {
				again()
				got := drive.Root(t, s).All(topic.TopicRef, 0)
				if !slices.Equal(drive.Offsets(got), drive.Span(0, producers*each-1)) {
					t.Fatalf("%d messages are not the offsets 0 to %d", len(got), producers*each-1)
				}
				for n, offsets := range confirmed {
					for i, offset := range offsets {
						if !strings.HasPrefix(got[offset].Payload, fmt.Sprintf("%d/%d ", n, i)) {
							t.Fatalf("offset %d holds %.10q; it was confirmed for %d/%d", offset, got[offset].Payload, n, i)
						}
					}
				}
			}
		})
	}
}

// IGGY-2686: memory and open files stay flat while segments rotate and retention removes them.
func TestRotation_DoesNotGrowMemoryOrOpenFiles(t *testing.T) {
	s, c := drive.Alone(t, "IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL=50ms")
	topic := smallSegments(c, command.U64Option("message_expiry", 1000))
	record := drive.Record(slices.Repeat([]string{strings.Repeat("x", 100_000)}, 10)...)
	next := uint64(0)
	rotate := func(times int) {
		for range times {
			next = c.SendRecord(topic.TopicRef, 0, record) + 10
			// Readers take handles of segments that then go away.
			c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 1))
		}
		// The active segment and one batch that it may hold besides stay.
		s.Eventually(40*time.Second, "retention has caught up", func() bool { return first(c, topic) >= next-20 })
		time.Sleep(200 * time.Millisecond)
	}
	rotate(100)
	memory, open := s.ResidentBytes(), s.OpenFiles()
	rotate(400)
	s.Eventually(10*time.Second, fmt.Sprintf("no more than %d files are open", open+4), func() bool { return s.OpenFiles() <= open+4 })
	grown := int64(s.ResidentBytes()) - int64(memory)
	t.Logf("memory %d MiB and %d MiB more, %d open files and %d", memory>>20, grown>>20, open, s.OpenFiles())
	if grown > 24*mib {
		t.Errorf("memory grew by %d MiB in 400 sends of a megabyte", grown>>20)
	}
}

// NATS-5382: on a full disk sends are refused, reads work, nothing is deleted, and all is there once space returns.
func TestDiskFull_RefusesSendsKeepsDataAndRecovers(t *testing.T) {
	dir := smallDisk(t, "96m")
	s := process.Start(t, process.Options{Data: dir + "/data", Env: []string{"IGGY_SYSTEM_FREE_SPACE_MIN=16 MiB"}})
	c := drive.DialOptions(t, s, rawclient.Options{Retry: -1})
	c.Must(c.SignIn(process.RootName, process.RootPassword))
	topic := smallSegments(c)
	confirmed := 0
	var refused error
	for refused == nil && confirmed < 500 {
		_, refused = c.SendMessages(topic.TopicRef, drive.To(0), drive.Record(third(confirmed)))
		if refused == nil {
			confirmed++
		}
	}
	drive.Want(t, "send to a full disk", refused, drive.Denied(protocol.CodeTransientNotAccepted))
	whole := func(when string) {
		t.Helper()
		got := drive.Root(t, s).All(topic.TopicRef, 0)
		drive.Check(t, when+": messages", len(got), confirmed)
		for i, m := range got {
			if !strings.HasPrefix(m.Payload, fmt.Sprint(i, " ")) || m.Offset != uint64(i) {
				t.Fatalf("%s: offset %d holds %.10q", when, m.Offset, m.Payload)
			}
		}
	}
	whole("while full")
	c.Must(c.Try(protocol.OpCreateStream, command.CreateStream{Name: []byte("admin works")}.Append(nil)))
	fillUp(t, dir+"/ballast")
	_, err := c.SendMessages(topic.TopicRef, drive.To(0), drive.Record("to no space at all"))
	drive.Want(t, "send without any space", err, drive.Denied(protocol.CodeTransientNotAccepted))
	whole("without any space")
	s.Kill()
	if err := os.Remove(dir + "/ballast"); err != nil {
		t.Fatal(err)
	}
	s.Launch()
	whole("after a restart while full")
	_, err = drive.DialOptions(t, s, rawclient.Options{}).SendMessages(topic.TopicRef, drive.To(0), nil)
	if err == nil {
		t.Error("a stranger may send")
	}
	c = drive.Root(t, s)
	deleteSegments(c, topic, 20)
	s.Eventually(20*time.Second, "sends are accepted again", func() bool {
		_, err := c.SendMessages(topic.TopicRef, drive.To(0), drive.Record("again"))
		return err == nil
	})
}

// smallDisk mounts a file system of its own, or skips the test where the machine does not allow it.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("NOT RUN: no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fillUp writes a file until there is no space left.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	_ = f.Close()
}
