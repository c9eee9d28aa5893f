package node

import (
	"fmt"
	"slices"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
)

// runJobs carries out what the partition asked for: what only touches the page cache in the pass, the rest on the
// lane. It reports whether the commit walk went on.
func (g *group) runJobs() (progress bool) {
	if g.retrying {
		return false
	}
	for _, j := range g.part.TakeJobs() {
		switch {
		case j.Kind == partition.JobAppend:
			progress = g.finish(j, g.appendCommitted(g.replica)) || progress
		case isOffsetJob(&j):
			progress = g.finish(j, g.execute(&j)) || progress
		case j.Kind == partition.JobPurge:
			g.publish()
			g.block.purging = true
			empty := g.superblockState(partition.Claim{})
			g.submit(func() error { return g.purgeFiles(&j, g.block.store, empty) }, func(err error) { g.finish(j, err) })
		default:
			if !j.Again {
				g.removing++
			}
			g.publish()
			g.submit(func() error { return g.execute(&j) }, func(err error) { g.finish(j, err) })
		}
	}
	return progress
}

// finish follows a job. A failed one is tried again after a pause and holds the walk until it succeeds.
func (g *group) finish(j partition.Job, err error) bool {
	if g.state != serving {
		return false
	}
	if err != nil {
		g.jobFailures++
		if g.jobFailures&(g.jobFailures-1) == 0 {
			g.shard.node.log.Error("partition job", "partition", g.id.String(), "kind", uint8(j.Kind), "failures", g.jobFailures, "error", err)
		}
		g.shard.node.noteDiskError(err)
		if !isNoSpace(err) || !isOffsetJob(&j) || !g.part.WantsPurge(g.purge.generation) {
			g.part.Retry(j)
			g.retrying, g.retryAt = true, g.shard.now.Ticks+backoffTicks(max(g.jobFailures-4, 0))
			g.shard.wantTick()
			g.jobFailed(err)
			return false
		}
		// The purge that waits behind this operation makes room, and deletes every stored offset: no file is needed.
	}
	g.jobFailures = 0
	if j.Kind == partition.JobPurge || j.Kind == partition.JobRemoveSegments {
		g.reader.forgetFiles()
	}
	if j.Kind == partition.JobRemoveSegments {
		g.removing--
		g.clean()
	}
	g.failingSince = 0
	if g.logged != nil && isOffsetJob(&j) {
		g.logged.noteOffset(j.Key)
	}
	if j.Kind == partition.JobPurge {
		g.removing = 0 // a removal from before that failed is forgotten
		g.reader.live.Store(nil)
		g.part.Claimed(partition.Claim{})
		g.block.purged()
		if g.logged != nil {
			g.logged.takeOffsets() // all of them are gone, durably
		}
	}
	if g.part.JobDone(&j, nil) {
		g.replica.Resume(g.shard.now)
		if g.logged != nil && (j.Kind == partition.JobPurge || len(g.files.full) > 0) {
			g.shard.wal.want(g)
		}
		return true
	}
	return false
}

// jobsWedgedTicks is how long committed work may fail before its partition is stopped.
const jobsWedgedTicks = 120 * ticksPerSecond

// jobFailed stops a partition whose committed work cannot be done. A full disk stops nobody: space comes back.
func (g *group) jobFailed(err error) {
	now := g.shard.now.Ticks
	if g.failingSince == 0 {
		g.failingSince = max(now, 1)
	}
	if now-min(now, g.failingSince) >= jobsWedgedTicks && !isNoSpace(err) {
		g.fence(fmt.Errorf("committed work cannot be carried out: %w", err))
	}
}

func isOffsetJob(j *partition.Job) bool {
	return j.Kind == partition.JobStoreOffset || j.Kind == partition.JobDeleteOffset
}

// execute does the file work of a job. It runs in the pass or on the lane of the group.
func (g *group) execute(j *partition.Job) error {
	fs := g.shard.node.fs
	switch j.Kind {
	case partition.JobStoreOffset:
		return segment.WriteOffset(fs, g.dir, segment.OffsetKind(j.Key.Kind), j.Key.ID, j.Offset)
	case partition.JobDeleteOffset:
		return segment.RemoveOffset(fs, g.dir, segment.OffsetKind(j.Key.Kind), j.Key.ID)
	case partition.JobRemoveSegments:
		return g.removeSegments(j)
	}
	return fmt.Errorf("partition job of unknown kind %d", j.Kind)
}

// removeSegments unlinks segments, oldest first over all removals: while one that failed waits to be tried again,
// the next one does not go past it, so that a crash never leaves a hole in the chain. What is removed on purpose is
// on record before anything is missing.
func (g *group) removeSegments(j *partition.Job) error {
	fs := g.shard.node.fs
	if g.owner.First < j.First {
		own := g.owner
		own.First = j.First
		err := segment.WriteOwner(fs, g.dir, own)
		if isNoSpace(err) && segment.DropIndexes(fs, g.dir, j.Starts) == nil {
			err = segment.WriteOwner(fs, g.dir, own) // in the room of what goes next
		}
		if err != nil {
			return err
		}
		g.owner = own
	}
	for _, start := range j.Starts {
		if !slices.Contains(g.toGo, start) {
			g.toGo = append(g.toGo, start)
		}
	}
	slices.Sort(g.toGo)
	for len(g.toGo) > 0 {
		if err := segment.RemoveSegments(fs, g.dir, g.toGo[:1]); err != nil {
			return err
		}
		g.toGo = g.toGo[1:]
	}
	return nil
}

// purgeFiles empties the directory. The superblock goes first: a crash in between leaves data that the next
// boot purges again, never offsets that were given out below data that is gone.
func (g *group) purgeFiles(j *partition.Job, store *superblock.Store, empty superblock.State) error {
	fs := g.shard.node.fs
	err := store.Write(empty)
	if isNoSpace(err) && segment.DropAllIndexes(fs, g.dir) == nil {
		err = store.Write(empty) // in the room of what goes next
	}
	if err != nil {
		return err
	}
	if err := g.files.close(); err != nil {
		return err
	}
	if err := segment.Purge(fs, g.dir); err != nil {
		return err
	}
	g.toGo = nil
	g.owner = segment.Owner{Revision: j.Revision, Generation: j.Generation}
	return segment.WriteOwner(fs, g.dir, g.owner)
}
