package shardlog

// Sync makes every batch durable that was appended before the call and returns the highest of them. One runs at a
// time, beside Append. *SyncError: nothing behind Synced is durable, and the file takes no more records; call
// PrepareFile, then Sync again. ErrNotReady: PrepareFile has not run after the last failure.
func (l *Log) Sync() (covered uint64, err error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	return l.syncActive()
}

// syncActive is Sync with syncing held.
func (l *Log) syncActive() (uint64, error) {
	l.mu.Lock()
	if l.state == statePoisoned || l.state == stateNew {
		l.mu.Unlock()
		return l.synced.Load(), ErrNotReady
	}
	if l.state != stateSealed && l.state != stateOpen {
		err := l.unusable()
		l.mu.Unlock()
		return l.synced.Load(), err
	}
	f, end, batch := l.active(), l.tail, l.appended
	l.mu.Unlock()
	if batch == l.synced.Load() {
		return batch, nil
	}
	return l.syncUpTo(f, end, batch)
}

// syncUpTo syncs the active file and publishes what that covers. Called with syncing held.
func (l *Log) syncUpTo(f *logFile, end int64, batch uint64) (uint64, error) {
	err := f.f.Datasync()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.Syncs++
	if err != nil {
		l.metrics.FailedSyncs++
		l.failures++
		l.state = statePoisoned
		return l.synced.Load(), &SyncError{File: f.path, Failures: l.failures, Err: err}
	}
	l.failures = 0
	f.syncedEnd = end
	l.kept.release(end)
	l.synced.Store(batch)
	return batch, nil
}
