// Package shardlog is the write-ahead log of a shard: one log for all partition groups that the shard owns,
// so that one sync covers what all of them appended (group commit).
//
// A node has one Logs: the directory <data>/wal with one directory shard-<n> for each shard. Its life:
//
//	Scan      reads every log, decides the verdict, collects what must be replayed; writes nothing
//	Begin     starts a new file in every log, with the verdict in its header; nothing old is ever appended to
//	Replayed  gives back what only the start needed, and allows Reclaim
//	Shard     the log of one shard: Append by its owner; Sync, PrepareFile and Reclaim as jobs
//	Close     the Clean record, after a graceful stop
//
// A log is a chain of files `<number>.wal` that a small file `head` delimits (oldest, newest). A record never
// spans files. Every use of a file has a random epoch that all its records carry and no client knows: a scan
// stops at the first foreign record, and bytes of messages cannot pass for one. Files that nobody needs any
// more become spares and are used again, so that a sync moves data and no metadata of the file system.
//
// What a scan decides about a record that does not read:
//
//	torn tail        it was never synced: nobody claims that it was. The log ends there
//	interior damage  a later record was built when the batch of the failing one was known to be synced, or the
//	                 next file says that its predecessor went on. Groups whose records chain across the damage
//	                 lost nothing; the others are Lost
//	broken           a file is missing, foreign or its header is damaged: all groups met in that log are Broken
//
// None of that is an error of Scan; it is what Groups, Find and Damage tell. A file of a newer format, or a
// record of a kind that this build does not know, is one.
//
// # Rotation
//
// The header of a file says where the records of its predecessor end, so it can be written only once that is
// settled: Append that finds no room seals the file and answers ErrNotReady, PrepareFile syncs it, activates
// the next one and opens the log again. What takes long, making and zero-filling the next file, is done ahead.
//
// # A sync that fails
//
// The file takes no more records. PrepareFile activates the next one, whose header puts the end of its
// predecessor at the last good sync, and appends everything behind that point again under the same batch ids:
// records marked Sync from the copy that the log keeps until they are synced, others from the file, verified. A
// record that no longer verifies takes the log out of service (*RescueError) until a restart tells what is there.
//
// # Concurrency
//
// Append is called by the owner of the shard alone. Everything else may run beside it from any goroutine.
package shardlog
