package cases

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// A real, small volume is filled by producers at full speed, then by somebody else to its last byte. Producers stop
// near the watermark; reads, deletions and sign-ins go on without a single free byte; a start on the full volume
// serves what is there; room brings sends back without a restart. Throughout, what was confirmed is there and what
// was refused is not.
func TestFullVolume_OnlySendsStop(t *testing.T) {
	for _, kind := range []string{"ext4", "tmpfs"} {
		t.Run(kind, func(t *testing.T) { fillVolume(t, volume(t, kind)) })
	}
}

func fillVolume(t *testing.T, dir string) {
	s := process.Start(t, process.Options{Data: dir + "/data", Env: []string{
		"IGGY_SYSTEM_FREE_SPACE_MIN=16 MiB", "IGGY_SYSTEM_LOGGING_FILE_ENABLED=false",
	}})
	c := drive.Root(t, s)
	segments := command.U64Option("segment_size", mib)
	written := c.NewTopic("small", "written", 2, segments)
	synced := c.NewTopic("small", "synced", 1, segments, command.BoolOption("enforce_fsync", true))
	purged := c.NewTopic("small", "purged", 1, segments)
	deleted := c.NewTopic("small", "deleted", 1, segments)
	logs := []*filled{
		{ref: written.TopicRef}, {ref: written.TopicRef, partition: 1}, {ref: synced.TopicRef}, {ref: deleted.TopicRef}, {ref: purged.TopicRef},
	}
	var producers sync.WaitGroup
	for _, l := range logs {
		conn := drive.DialOptions(t, s, rawclient.Options{Retry: -1})
		conn.Must(conn.SignIn(process.RootName, process.RootPassword))
		producers.Go(func() { l.fill(conn.Conn) })
	}
	producers.Wait()
	for i, l := range logs {
		if l.failed != nil {
			t.Fatalf("producer %d: %v", i, l.failed)
		}
	}
	if free := freeBytes(t, dir); free < 8*mib {
		t.Errorf("%d bytes are free when the producers stopped: they ran through the watermark of 16 MiB", free)
	}
	whole := func(when string) {
		t.Helper()
		c := drive.Root(t, s) // a sign-in is written to the journal
		for _, l := range logs {
			l.compare(t, when, c.All(l.ref, l.partition))
		}
	}
	whole("at the watermark")
	occupy(t, dir)
	whole("without a free byte")
	c = drive.Root(t, s)
	c.Apply(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: purged.TopicRef, Count: 3}.Append(nil)) // the journal may take a MiB of it
	s.Eventually(10*time.Second, "deleted segments make room", func() bool { return freeBytes(t, dir) > mib/2 })
	occupy(t, dir)
	c.Apply(protocol.OpPurgeTopic, purged.TopicRef.Append(nil))
	s.Eventually(10*time.Second, "a purge makes room", func() bool { return freeBytes(t, dir) > mib/2 })
	logs = logs[:4]
	occupy(t, dir)
	whole("after a purge")
	s.Crash()
	whole("after a kill and a start without a free byte")
	c = drive.Root(t, s)
	c.Must(c.DeleteTopic(deleted.TopicRef))
	logs = logs[:3]
	s.Eventually(20*time.Second, "sends are accepted after a deletion", func() bool {
		_, err := c.SendMessages(written.TopicRef, drive.To(0), drive.Record(logs[0].name(-1)))
		return err == nil
	})
	ballast, err := filepath.Glob(dir + "/ballast*")
	if err != nil || len(ballast) < 3 {
		t.Fatal(ballast, err)
	}
	for _, b := range ballast {
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
	}
	s.Restart()
	for _, l := range logs[1:] {
		l.compare(t, "after an orderly restart", drive.Root(t, s).All(l.ref, l.partition))
	}
	if log := s.LifeLog(); strings.Contains(log, "fenced") {
		t.Error("a partition was fenced")
	}
}

// filled is one partition and what its producer was told.
type filled struct {
	ref       command.TopicRef
	partition uint32
	confirmed []string
	refused   map[string]bool
	failed    error
}

func (l *filled) name(n int) string {
	return fmt.Sprintf("%d/%d %s", l.partition, n, strings.Repeat("x", 64<<10))
}

// fill sends until it was refused for a second.
func (l *filled) fill(c *rawclient.Conn) {
	l.refused = map[string]bool{}
	var since time.Time
	for n := 0; since.IsZero() || time.Since(since) < time.Second; n++ {
		payload := l.name(n)
		_, err := c.SendMessages(l.ref, drive.To(l.partition), drive.Record(payload))
		answer, answered := drive.AnswerOf(err)
		switch {
		case err == nil:
			l.confirmed = append(l.confirmed, payload)
			since = time.Time{}
			continue
		case !answered || answer != drive.Denied(protocol.CodeTransientNotAccepted):
			l.failed = fmt.Errorf("send %d: %w", n, err)
			return
		}
		l.refused[payload] = true
		if since.IsZero() {
			since = time.Now()
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *filled) compare(t *testing.T, when string, got []drive.Message) {
	t.Helper()
	if len(got) != len(l.confirmed) {
		t.Errorf("%s: %d messages, %d were confirmed", when, len(got), len(l.confirmed))
	}
	for i, m := range got {
		if l.refused[m.Payload] {
			t.Fatalf("%s: offset %d holds a message that was refused", when, m.Offset)
		}
		if i < len(l.confirmed) && m.Payload != l.confirmed[i] {
			t.Fatalf("%s: offset %d holds %.20q instead of %.20q", when, m.Offset, m.Payload, l.confirmed[i])
		}
	}
}

// volume mounts a file system of 160 MiB, or says loudly that the test has not run.
func volume(t *testing.T, kind string) string {
	t.Helper()
	if kind == "tmpfs" {
		return smallDisk(t, "160m")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	run := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Skipf("NOT RUN: no %s volume can be made here: %s: %v: %s", kind, name, err, out)
		}
	}
	run("truncate", "-s", "160M", image)
	run("mkfs.ext4", "-q", "-F", "-m", "0", image)
	run("mount", "-o", "loop", image, dir)
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// occupy leaves less than two blocks free, whatever the file system promised before it wrote.
func occupy(t *testing.T, dir string) {
	t.Helper()
	for range 20 {
		f, err := os.CreateTemp(dir, "ballast")
		if err != nil {
			t.Fatal(err)
		}
		fillUp(t, f.Name())
		if err := errors.Join(unix.Syncfs(int(f.Fd())), f.Close()); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if freeBytes(t, dir) < 8<<10 {
			return
		}
	}
	t.Fatalf("%d bytes stay free", freeBytes(t, dir))
}

func freeBytes(t *testing.T, dir string) uint64 {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Bavail * uint64(st.Bsize)
}
