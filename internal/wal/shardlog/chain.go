package shardlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// foundLog is one log directory as the scan finds it.
type foundLog struct {
	log    *Log
	broken *BrokenError
	// damaged is the newest damage that the scan met in the log.
	damaged *InteriorError

	head      head
	hasHead   bool
	files     []*logFile // the chain, oldest first
	leftovers []string   // files that the log does not consist of any more, or never did
	spares    []spareFile

	numberMax uint64 // of any file
	lifeMax   uint64
	batch     uint64 // of the last good record
	isClean   bool   // a Clean record is the last of all
	isSynced  bool   // every file could be synced
	isTaken   bool   // Begin has handed chain and spares to the log
}

// findLog reads names, head and file headers of a directory. What does not fit together makes it broken.
func (ls *Logs) findLog(shard int, dir string) (*foundLog, error) {
	names, err := ls.fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	fl := &foundLog{log: &Log{logs: ls, shard: shard, dir: dir}, isSynced: true}
	if err := fl.readHead(); err != nil {
		return fl, err
	}
	var numbers []uint64 // ascending, as names are
	for _, name := range names {
		if n, ok := parseName(name, walSuffix); ok {
			numbers = append(numbers, n)
			fl.numberMax = max(fl.numberMax, n)
		}
		if n, ok := parseName(name, spareSuffix); ok {
			info, err := ls.fs.Stat(path.Join(dir, name))
			if err != nil {
				return fl, err
			}
			fl.spares = append(fl.spares, spareFile{path: path.Join(dir, name), number: n, filled: info.SizeBytes})
			fl.numberMax = max(fl.numberMax, n)
		}
	}
	fl.numberMax = max(fl.numberMax, fl.head.newest)
	return fl, fl.readChain(numbers)
}

// breaks makes the log broken, the first reason counts.
func (fl *foundLog) breaks(file, format string, args ...any) {
	if fl.broken == nil {
		fl.broken = &BrokenError{Dir: fl.log.dir, File: file, Reason: fmt.Sprintf(format, args...)}
	}
}

func (fl *foundLog) readHead() error {
	name := fl.log.headPath()
	b, err := vfs.ReadFile(fl.log.logs.fs, name, headBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, vfs.ErrTooLarge):
		fl.breaks(headName, "is damaged")
		return nil
	case err != nil:
		return err
	}
	h, err := decodeHead(name, b)
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return err
	case err != nil:
		fl.breaks(headName, "%v", err)
	case int(h.shard) != fl.log.shard:
		fl.breaks(headName, "belongs to shard %d", h.shard)
	default:
		fl.head, fl.hasHead, fl.lifeMax = h, true, max(h.life, h.unprovenLife)
	}
	return nil
}

// readChain reads the headers of the files between oldest and newest, and of those that crashes can leave behind
// them: activated, but not in the head yet. They continue the chain and have no records.
func (fl *foundLog) readChain(numbers []uint64) error {
	oldest, newest := fl.head.oldest, fl.head.newest
	if !fl.hasHead {
		if len(numbers) == 0 {
			return nil
		}
		oldest, newest = numbers[0], counterMax // the first files of a log may be there before its head is
	}
	for _, n := range numbers {
		name := fileName(n, walSuffix)
		if n < oldest {
			fl.leftovers = append(fl.leftovers, path.Join(fl.log.dir, name))
			continue
		}
		f, reason, err := fl.openFile(n)
		if err != nil {
			return err
		}
		switch {
		case reason == nil:
			reason = fl.follows(f)
		case n > newest && fl.broken == nil && fl.hasHead:
			// Its header was synced before it got its name, and no record was written before the head named it.
			fl.leftovers = append(fl.leftovers, path.Join(fl.log.dir, name))
			continue
		}
		if reason != nil {
			fl.breaks(name, "%v", reason)
			continue
		}
		fl.files = append(fl.files, f)
	}
	fl.checkEnds(oldest, newest)
	return nil
}

// follows says why f does not continue the chain.
func (fl *foundLog) follows(f *logFile) error {
	if len(fl.files) == 0 {
		if !fl.hasHead && f.header.prevNumber != 0 {
			return fmt.Errorf("follows file %d, which is missing like the head", f.header.prevNumber)
		}
		return nil
	}
	last := &fl.files[len(fl.files)-1].header
	switch {
	case f.header.prevNumber != last.number:
		return fmt.Errorf("follows file %d, file %d comes before it", f.header.prevNumber, last.number)
	case f.header.life < last.life:
		return fmt.Errorf("is of life %d, the file before it of life %d", f.header.life, last.life)
	}
	return nil
}

// checkEnds compares the chain with the head.
func (fl *foundLog) checkEnds(oldest, newest uint64) {
	if fl.broken != nil || !fl.hasHead {
		return
	}
	at := -1
	for i, f := range fl.files {
		if f.header.number == newest {
			at = i
		}
	}
	switch {
	case len(fl.files) == 0 || fl.files[0].header.number != oldest:
		fl.breaks(fileName(oldest, walSuffix), "is missing")
	case at < 0:
		fl.breaks(fileName(newest, walSuffix), "is missing")
	case fl.files[at].header.epoch != fl.head.epoch:
		fl.breaks(fileName(newest, walSuffix), "is another one than the head names")
	}
}

// openFile opens a file, syncs it, because what the scan reads is built upon as durable, and reads its header.
// reason says why the header does not count.
func (fl *foundLog) openFile(number uint64) (f *logFile, reason, err error) {
	ls := fl.log.logs
	name := path.Join(fl.log.dir, fileName(number, walSuffix))
	f = &logFile{log: fl.log, path: name, isOld: true, isDurable: true}
	if f.f, err = ls.fs.OpenFile(name, vfs.ReadOnly); err != nil {
		return f, nil, err
	}
	ls.open = append(ls.open, f)
	if err := f.f.Sync(); err != nil { // shows a write-back error of the last process, too
		f.isDurable, fl.isSynced = false, false
	}
	if f.filled, err = f.f.Size(); err != nil {
		return f, nil, err
	}
	b := make([]byte, fileHeaderBytes)
	if n, rerr := f.f.ReadAt(b, 0); n != len(b) {
		return f, fmt.Errorf("is too short for a header or cannot be read (%w)", rerr), nil
	}
	f.header, err = decodeFileHeader(name, b)
	var version *VersionError
	if errors.As(err, &version) {
		return f, nil, err
	}
	if err != nil {
		return f, err, nil
	}
	h := &f.header
	fl.lifeMax = max(fl.lifeMax, h.life, h.unprovenLife)
	switch {
	case h.cluster != ls.opts.Cluster || h.replica != ls.opts.Replica:
		return f, fmt.Errorf("belongs to replica %d of cluster %s", h.replica, h.cluster), nil
	case int(h.shard) != fl.log.shard || h.number != number:
		return f, fmt.Errorf("is file %d of shard %d", h.number, h.shard), nil
	}
	return f, nil, nil
}
