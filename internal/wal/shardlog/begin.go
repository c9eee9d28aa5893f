package shardlog

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// decide settles the verdict of this start from what the scan found.
func (ls *Logs) decide() {
	v := Verdict{Life: 1}
	known := 0
	clean, sameBoot := true, ls.opts.BootID != [16]byte{}
	for _, fl := range ls.found {
		v.Life = max(v.Life, fl.lifeMax+1)
		v.UnprovenLife = max(v.UnprovenLife, fl.head.unprovenLife)
		for _, f := range fl.files {
			v.UnprovenLife = max(v.UnprovenLife, f.header.unprovenLife)
		}
		switch {
		case fl.broken != nil:
			known++
			clean, sameBoot = false, false
		case len(fl.files) == 0: // it never had a record
		default:
			known++
			newest := fl.files[len(fl.files)-1]
			clean = clean && fl.isClean
			sameBoot = sameBoot && newest.header.bootID == ls.opts.BootID && fl.isSynced
		}
	}
	switch {
	case known == 0:
		v.Proven, v.Reason = true, "there was no log yet"
	case clean:
		v.Proven, v.Reason = true, "the last life ended in order"
	case sameBoot:
		v.Proven, v.Reason = true, "the machine was not restarted since the last life"
	default:
		v.Reason = "the last life did not end in order, and the machine was restarted or may have been"
		v.UnprovenLife = v.Life
	}
	ls.verdict = v
}

// Begin starts the new life: a new file in every log, with the verdict in its header, synced, and the head that
// names it. Nothing is ever appended to an older file. Logs that are broken are set aside whole (renamed to
// shard-<n>.broken-<life>), because no later record would repair their chain. It may be repeated after an error,
// and does nothing once it has succeeded. Safe for concurrent use.
func (ls *Logs) Begin() error {
	ls.creating.Lock()
	defer ls.creating.Unlock()
	ls.mu.Lock()
	begun := ls.begun
	ls.mu.Unlock()
	if begun {
		return nil
	}
	if err := ls.sweepGone(); err != nil {
		return fmt.Errorf("shard logs: %w", err)
	}
	for _, fl := range ls.found {
		if ls.has(fl.log.shard) {
			continue
		}
		if err := ls.beginLog(fl); err != nil {
			return fmt.Errorf("shard logs: %w", err)
		}
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.begun = true
	return nil
}

func (ls *Logs) has(shard int) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.logs[shard] != nil
}

// sweepGone finishes the removal of closing logs.
func (ls *Logs) sweepGone() error {
	names, err := list(ls.fs, ls.dir)
	for _, name := range names {
		stem, isGone := strings.CutSuffix(name, goneSuffix)
		if _, isShard := parseShard(stem); isGone && isShard {
			err = errors.Join(err, ls.fs.RemoveAll(path.Join(ls.dir, name)))
		}
	}
	return err
}

// beginLog opens the log for the new life. Repeated after an error, it goes on where it stopped.
func (ls *Logs) beginLog(fl *foundLog) error {
	l := fl.log
	if fl.broken != nil {
		if err := ls.setAside(fl); err != nil {
			return err
		}
		fresh, err := ls.createLog(l.shard)
		if err == nil {
			ls.adopt(fresh)
		}
		return err
	}
	if !fl.isTaken {
		l.chain, l.spares = fl.files, fl.spares
		l.number = fl.numberMax
		l.appended = fl.batch
		l.synced.Store(fl.batch)
		fl.isTaken = true
	}
	for len(fl.leftovers) > 0 {
		if err := l.recycle(fl.leftovers[0]); err != nil {
			return err
		}
		fl.leftovers = fl.leftovers[1:]
	}
	if err := l.activate(); err != nil {
		return err
	}
	ls.adopt(l)
	return nil
}

// setAside moves a broken log out of the way. Its old files stay open for reads.
func (ls *Logs) setAside(fl *foundLog) error {
	to := fmt.Sprintf("%s%s-%d", fl.log.dir, brokenSuffix, ls.verdict.Life)
	_, err := ls.fs.Stat(to)
	if err == nil {
		return nil // by an earlier attempt
	}
	if err := ls.fs.Rename(fl.log.dir, to); err != nil {
		return err
	}
	ls.registry.disown(fl.log)
	return ls.fs.SyncDir(ls.dir)
}

func (ls *Logs) adopt(l *Log) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.logs[l.shard] = l
}

// Shard returns the log of shard n, made with its directory when it has none; it waits for the device then.
// Begin comes before it.
func (ls *Logs) Shard(n int) (*Log, error) {
	if n < 0 || n >= shardsMax {
		return nil, fmt.Errorf("shard log of shard %d: %w", n, ErrRefused)
	}
	ls.creating.Lock()
	defer ls.creating.Unlock()
	ls.mu.Lock()
	l, begun := ls.logs[n], ls.begun
	ls.mu.Unlock()
	if l != nil {
		return l, nil
	}
	if !begun {
		return nil, fmt.Errorf("shard log of shard %d before the new life has begun: %w", n, ErrRefused)
	}
	l, err := ls.createLog(n)
	if err != nil {
		return nil, fmt.Errorf("shard log of shard %d: %w", n, err)
	}
	ls.adopt(l)
	return l, nil
}

// createLog makes the directory of a log, with its parents, and the first file. A crash on the way leaves nothing
// that counts.
func (ls *Logs) createLog(n int) (*Log, error) {
	l := &Log{logs: ls, shard: n, dir: path.Join(ls.dir, shardName(n))}
	if err := ls.fs.MkdirAll(l.dir); err != nil {
		return nil, err
	}
	for _, dir := range []string{ls.dir, path.Dir(ls.dir)} {
		if err := ls.fs.SyncDir(dir); err != nil {
			return nil, err
		}
	}
	if err := l.clear(); err != nil {
		return nil, err
	}
	return l, l.activate()
}

// clear removes what an interrupted creation left: nothing of it is part of the log. The head goes first, so that
// it never names what is gone.
func (l *Log) clear() error {
	fsys := l.logs.fs
	names, err := fsys.ReadDir(l.dir)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := removeIfThere(fsys, l.headPath()); err != nil {
		return err
	}
	if err := fsys.SyncDir(l.dir); err != nil {
		return err
	}
	for _, name := range names {
		n, isWal := parseName(name, walSuffix)
		if !isWal {
			n, isWal = parseName(name, spareSuffix)
		}
		if !isWal {
			continue
		}
		l.number = max(l.number, n)
		if err := removeIfThere(fsys, path.Join(l.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
