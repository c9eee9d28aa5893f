package segment

import (
	"bytes"
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/vfs"
)

func TestWriter_FailedAppendKeepsThePositionAndRetryOverwrites(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	log.append(2, 100)
	before := log.size()
	lost := [][]byte{log.make(1, 500)}
	log.next++
	lost = append(lost, log.make(1, 500))
	log.next--
	fs.SetHook(vfs.FailAt(fs.Ops()+1, syscall.ENOSPC))
	if err := log.add(lost...); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	fs.SetHook(nil)
	if log.w.Size() != before {
		t.Fatalf("size %d after a failed append, want %d", log.w.Size(), before)
	}
	if _, ok := log.w.Index().Last(); !ok || log.w.Index().Len() != 1 {
		t.Fatal("index moved with a failed append")
	}
	log.append(1, 20) // shorter than what failed: nothing of that may come back
	must(t, log.w.Close())
	checkRecovered(t, fs, recoverSolo(t, fs), log, 2)
}

func TestWriter_RewindDropsWhatStoodBehind(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	log.append(1, 100)
	must(t, log.w.Datasync())
	synced := log.size()
	fs.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync {
			return syscall.EIO
		}
		return nil
	})
	a, b := makeBatch(t, testPartition, 1, 2000, 1, 90_000), makeBatch(t, testPartition, 2, 2001, 1, 90_000)
	must(t, log.w.Append([][]byte{a, b}, synced, []IndexEntry{{2, 2001, uint64(synced) + uint64(len(a))}}))
	if err := log.w.Datasync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	fs.SetHook(nil)
	if err := log.w.Datasync(); !errors.Is(err, ErrSyncLost) {
		t.Fatalf("sync after a failed one: %v", err)
	}
	must(t, log.w.Append([][]byte{makeBatch(t, testPartition, 3, 2002, 1, 10)}, log.w.Size(), nil))
	if err := log.w.Datasync(); !errors.Is(err, ErrSyncLost) {
		t.Fatalf("sync without writing anew: %v", err)
	}
	log.append(1, 30) // at the last good sync
	must(t, log.w.Datasync())
	must(t, log.w.Close())
	checkRecovered(t, fs, recoverSolo(t, fs), log, 2)
}

func TestWriter_RefusesAHoleAndAnUnexpectedLength(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	log.append(1, 100)
	if err := log.w.Append([][]byte{log.make(1, 1)}, log.size()+1, nil); !errors.Is(err, ErrPosition) {
		t.Fatal(err)
	}
	must(t, log.w.Close())
	for _, size := range []int64{log.size() - 1, log.size() + 1, 0} {
		if _, err := OpenWriter(fs, testDir, 0, size); !errors.Is(err, ErrLength) {
			t.Fatalf("size %d: %v", size, err)
		}
	}
}

func TestWriter_ReopenContinuesIndexAndFile(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	for range 30 {
		for range 5 {
			log.append(2, 5000)
		}
		must(t, log.w.Close())
		w, err := OpenWriter(fs, testDir, 0, log.size())
		must(t, err)
		log.w = w
		if last, _ := w.Index().Last(); int64(last.Position) != log.stride.last {
			t.Fatalf("last entry %+v, want position %d", last, log.stride.last)
		}
	}
	must(t, log.w.Close())
	st := recoverSolo(t, fs)
	if st.Segments[0].Reindexed {
		t.Fatal("index of a clean stop was rebuilt")
	}
	checkRecovered(t, fs, st, log, len(log.records))
}

func TestWriter_IndexReachesTheFileWithinEightMegabytes(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	for range 30 {
		log.append(100, 10_000)
		b := readAll(t, fs, indexPath(testDir, 0))
		entries, clean := DecodeIndex(b)
		if !clean {
			t.Fatal("index file in disorder")
		}
		known := int64(0)
		if len(entries) > 0 {
			known = int64(entries[len(entries)-1].Position)
		}
		if log.size()-known > indexFlushStep+2<<20 {
			t.Fatalf("index file knows %d of %d bytes", known, log.size())
		}
	}
}

// Case IGGY-2581: more buffers than one system call takes, on a real file system.
func TestWriter_ManyTinyBatchesInOneAppend(t *testing.T) {
	count := 20_000
	if testing.Short() {
		count = 3000
	}
	dir := t.TempDir()
	w, err := Create(vfs.OS, dir, 0, CreateOptions{SyncDir: true, PreallocateBytes: 32 << 20})
	must(t, err)
	records := make([][]byte, count)
	for i := range records {
		records[i] = makeBatch(t, testPartition, uint64(i), 1000+uint64(i), 1, 1)
	}
	must(t, w.Append(records, 0, indexOf(records, 0)))
	must(t, w.Sync())
	size := w.Size()
	must(t, w.Close())
	st, err := Recover(vfs.OS, dir, testPartition, Options{})
	must(t, err)
	if st.Segments[0].Size != size || st.Segments[0].End != uint64(count)-1 || st.Segments[0].Reindexed {
		t.Fatalf("%+v", st)
	}
	r, err := OpenReader(vfs.OS, dir, 0, nil)
	must(t, err)
	q := Query{
		Size: size, PartitionID: testPartition, Ceiling: uint64(count), MaxCount: uint32(count), MaxBytes: 1 << 30, Validate: true,
	}
	var res Result
	must(t, r.Read(buffer.New(1<<20), &q, &res))
	var got []byte
	for _, c := range res.Chunks {
		got = append(got, c.Bytes...)
	}
	if !bytes.Equal(got, bytes.Join(records, nil)) || res.Count != uint32(count) {
		t.Fatalf("%d messages, %d bytes", res.Count, len(got))
	}
	must(t, r.Close())
}

func TestAppend_DoesNotAllocate(t *testing.T) {
	w, err := Create(vfs.OS, t.TempDir(), 0, CreateOptions{})
	must(t, err)
	defer w.Close()
	rec := [][]byte{makeBatch(t, testPartition, 0, 1, 1, 1000)}
	entries := make([]IndexEntry, 0, 1)
	pos := int64(0)
	if n := testing.AllocsPerRun(200, func() {
		if err := w.Append(rec, pos, entries); err != nil {
			t.Fatal(err)
		}
		pos += int64(len(rec[0]))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReader_SeesWhatTheWriterAppends(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	log.append(1, 10)
	r, err := OpenReader(fs, testDir, 0, log.w.Index())
	must(t, err)
	pool := buffer.New(1 << 20)
	for range 200 {
		log.append(3, 9000)
		q := Query{Size: log.size(), PartitionID: testPartition, From: log.next - 2, Ceiling: log.next - 1, MaxCount: 9, MaxBytes: 1 << 20}
		var res Result
		must(t, r.Read(pool, &q, &res))
		if res.Count != 2 || res.Last != batch.EndOffset(log.records[len(log.records)-1]) {
			t.Fatalf("%+v", res)
		}
		res.Release()
	}
}

func TestWriter_AppendSyncAndPollTogether(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	log.append(1, 10)
	r, err := OpenReader(fs, testDir, 0, log.w.Index())
	must(t, err)
	pool := buffer.New(1 << 20)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for open := true; open; {
			select {
			case <-stop:
				open = false
			default:
			}
			if err := log.w.Datasync(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for open := true; open; {
			select {
			case <-stop:
				open = false
			default:
			}
			size := log.w.Size()
			last, _ := log.w.Index().Last()
			q := Query{
				Size: size, PartitionID: testPartition, From: last.Offset, Ceiling: last.Offset, MaxCount: 1, MaxBytes: 1, Validate: true,
			}
			var res Result
			if err := r.Read(pool, &q, &res); err != nil {
				t.Error(err)
			}
			res.Release()
		}
	})
	for range 300 {
		log.append(2, 20_000)
	}
	close(stop)
	wg.Wait()
	must(t, log.w.Close())
	checkRecovered(t, fs, recoverSolo(t, fs), log, len(log.records))
}

// TestWriter_SyncedIndexFollowsItsLog: recovery walks from the last index entry that the log bears out. An entry in
// the file before the sync of the log would hide a hole in front of it that a loss of power left.
func TestWriter_SyncedIndexFollowsItsLog(t *testing.T) {
	fs := vfs.NewMem(3)
	log := newTestLog(t, fs, 0)
	log.append(1, 90_000)
	synced, late := false, []byte(nil)
	fs.SetHook(func(op vfs.Op) error {
		switch {
		case op.Kind == vfs.OpDatasync && op.Path == logPath(testDir, 0):
			if late == nil { // written while the sync runs
				late = log.make(1, 90_000)
				must(t, log.w.Append([][]byte{late}, log.size(), []IndexEntry{{1, 2000, uint64(log.size())}}))
			}
			synced = true
		case op.Kind == vfs.OpWrite && op.Path == indexPath(testDir, 0) && !synced:
			t.Errorf("an index entry reached the file before its log was synced: %s", op)
		}
		return nil
	})
	must(t, log.w.Datasync())
	last := int64(len(readAll(t, fs, indexPath(testDir, 0)))) / IndexEntrySize
	if last > 2 || !synced {
		t.Fatalf("%d entries in the file after the sync", last)
	}
	must(t, log.w.Datasync())
	if n := len(readAll(t, fs, indexPath(testDir, 0))) / IndexEntrySize; n != log.w.Index().Len() {
		t.Fatalf("%d entries in the file, %d in memory", n, log.w.Index().Len())
	}
}
