package partition

// JobKind tells what a Job does.
type JobKind uint8

// Job kinds.
const (
	// JobStoreOffset replaces the file of a consumer offset; JobDeleteOffset removes it.
	JobStoreOffset JobKind = iota + 1
	JobDeleteOffset
	// JobRemoveSegments unlinks the segments that begin at Starts, oldest first, with index and anchor,
	// then syncs the directory. Before the first unlink it is on record that the log begins at First.
	JobRemoveSegments
	// JobPurge removes every segment and offset file, plants an empty segment at 0 and records Generation,
	// in the order that its crash windows need. Before the first unlink the superblock says 0 and 0.
	JobPurge
	// JobAppend writes the committed batches of a logged partition to the segments: the host gives what is
	// committed to Stage and carries the plan out. It is done when the write is; a failed one is taken back
	// with Unstage.
	JobAppend
)

// Job is file work that the partition asks for, as a value. Jobs of one partition run in order.
type Job struct {
	Kind JobKind
	// Op is the committed operation that waits for the job, 0 for none.
	Op         uint64
	Key        ConsumerKey
	Offset     uint64
	Starts     []uint64
	First      uint64
	Generation uint64
	Revision   uint64
	Chain      uint64 // chain generation when the job was made
	Again      bool   // it failed before
}

// JobDone tells the outcome of a job. With an error the job is asked for again by the host, after a pause:
// a held walk stays where it is. It reports whether the commit walk can be resumed.
func (p *Partition) JobDone(j *Job, err error) (resume bool) {
	if err != nil {
		return false
	}
	switch j.Kind {
	case JobStoreOffset:
		p.offsets.durable[j.Key] = j.Offset
	case JobDeleteOffset:
		delete(p.offsets.durable, j.Key)
	case JobRemoveSegments:
		return false
	case JobPurge:
		p.finishPurge(j)
	}
	if p.held.active && p.held.op == j.Op {
		p.held.done = true
		return true
	}
	return false
}

// Retry asks for a failed job again. A removal from before a purge is dropped: the purge removes everything, and
// the names of its segments may be used anew.
func (p *Partition) Retry(j Job) {
	if j.Kind == JobRemoveSegments && j.Chain < p.purge.chain {
		return
	}
	j.Again = true
	p.jobs = append(p.jobs, j)
}
