package segment

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
)

func scrub(fsys vfs.FS, seg Info) (found []Damage, read int64, err error) {
	err = Scrub(fsys, testDir, seg, testPartition, func(n int64) error { read += n; return nil },
		func(d *Damage) { found = append(found, *d) })
	return found, read, err
}

// Every flipped bit of a sealed segment is found, and told as the messages of the batch it lies in. Records larger
// than the buffer of the walk are among them.
func TestScrub_EveryFlippedBitIsFound(t *testing.T) {
	mem := vfs.NewMem(1)
	l := newTestLog(t, mem, 5)
	for i := range 12 {
		size := 200
		if i == 5 {
			size = 1 << 20
		}
		l.append(1+i%3, size)
	}
	must(t, l.w.Close())
	seg := Info{Start: 5, End: l.next - 1, Size: l.size()}
	if found, read, err := scrub(mem, seg); err != nil || len(found) > 0 || read != seg.Size {
		t.Fatalf("of an intact segment of %d bytes: %d read, %v, %v", seg.Size, read, found, err)
	}
	from, first := int64(0), uint64(5)
	for i, end := range l.ends {
		next := uint64(len(l.records[i]))
		for _, at := range []int64{from, from + int64(next)/2, end - 1} {
			must(t, mem.FlipBit(logPath(testDir, 5), at, uint(at%8)))
			found, _, err := scrub(mem, seg)
			last := first + uint64(i%3)
			if err != nil || len(found) != 1 || found[0] != (Damage{Start: 5, Position: from, Next: end, First: first, Last: last}) {
				t.Fatalf("byte %d of batch %d at %d (messages %d to %d): %+v, %v", at, i, from, first, last, found, err)
			}
			must(t, mem.FlipBit(logPath(testDir, 5), at, uint(at%8)))
		}
		from, first = end, first+uint64(1+i%3)
	}
}

func TestScrub_TellsEveryDamageOfASegment(t *testing.T) {
	mem := vfs.NewMem(1)
	l := newTestLog(t, mem, 0)
	for range 20 {
		l.append(10, 500)
	}
	must(t, l.w.Close())
	seg := Info{Start: 0, End: l.next - 1, Size: l.size()}
	for _, batch := range []int{3, 4, 11, 19} {
		must(t, mem.FlipBit(logPath(testDir, 0), l.ends[batch]-1, 0))
	}
	found, _, err := scrub(mem, seg)
	if err != nil || len(found) != 3 || found[0].First != 30 || found[0].Last != 49 || found[1].First != 110 || found[1].Last != 119 ||
		found[2].First != 190 || found[2].Last != 199 || found[2].Next != seg.Size {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestScrub_WhatCannotBeRead(t *testing.T) {
	mem := vfs.NewMem(1)
	l := newTestLog(t, mem, 0)
	for range 10 {
		l.append(1, 500<<10)
	}
	must(t, l.w.Close())
	seg := Info{Start: 0, End: l.next - 1, Size: l.size()}
	mem.SetReadHook(func(_ string, off int64, n int) error {
		if off+int64(n) > 3<<20 {
			return syscall.EIO
		}
		return nil
	})
	found, _, err := scrub(mem, seg)
	if err != nil || len(found) != 1 || !errors.Is(&found[0], syscall.EIO) || found[0].Last != 9 || found[0].First == 0 {
		t.Errorf("a read that fails: %+v, %v", found, err)
	}
	mem.SetReadHook(nil)
	f, err := mem.OpenFile(logPath(testDir, 0), vfs.ReadWrite)
	must(t, err)
	must(t, f.Truncate(l.ends[6]))
	if found, _, err := scrub(mem, seg); err != nil || len(found) != 1 || found[0].Last != 9 {
		t.Errorf("a log that was cut: %+v, %v", found, err)
	}
	must(t, mem.Remove(logPath(testDir, 0)))
	if _, _, err := scrub(mem, seg); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that is gone: %v", err)
	}
	stop := errors.New("stop")
	l = newTestLog(t, mem, 20)
	l.append(1, 10)
	if err := Scrub(mem, testDir, Info{Start: 20, End: 20, Size: l.size()}, testPartition, func(int64) error { return stop }, nil); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
}
