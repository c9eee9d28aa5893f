// Package sim runs a whole node from a seed: its shards, groups, recovery, journal and segments unchanged, in
// one goroutine, over a file system in memory that loses what was not synced.
//
// The seed decides the order of passes and file tasks, what the clients of the workload send, when the clock
// moves, at which file operation the node dies and what of the unsynced bytes survives. After every death the
// node is opened again on what is left and checked against what its clients were told:
//
//   - what was acknowledged is there, at the offset that was confirmed, as far as its topic promises;
//   - no offset that was confirmed or seen ever belongs to another message;
//   - what was refused never turns up;
//   - acknowledged metadata is there.
//
// A failure names the seed; the same seed replays the same life.
//
// A Sweep is exhaustive where a Run is random: its paths are short scripts (append, rotation, purge, ...), and the node
// dies before, during and after every file operation of them, with every policy for what was not synced. The next life
// is held against what clients know, goes on working, dies once more somewhere, and is held against it again. Beside
// the above, operations that a client repeats are not executed twice, what was deleted or purged stays away, gaps in
// the offsets are anchored, superblocks do not go back, nothing piles up on the disk, and a graceful stop skips no
// offset.
package sim
