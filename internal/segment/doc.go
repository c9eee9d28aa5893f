// Package segment owns the files of one partition directory: segments with their sparse indexes and
// anchors, consumer offsets and the applied purge generation. It knows formats, order of I/O and what a
// crash can leave; it decides nothing about retention, visibility or replication.
//
//	00000000000000000000.log      batch records back to back; the name is the offset of the first message
//	00000000000000000000.index    24-byte entries, one for the first batch and then every 64 KiB of log
//	00000000000000065537.anchor   permission for a gap between this segment and the one before
//	offsets/consumers/7           16 bytes each
//	offsets/groups/3
//	purge.gen                     16 bytes
//
// Writer appends to the newest segment, Reader serves polls from any, Recover brings a directory back into
// a state that both can work with, PlantAnchor, PlantEmpty and Reanchor start a segment behind a gap.
//
// The log is the truth. An index is derived data: entries are kept in memory when their batch is written
// and reach the file lazily, at the latest every 8 MiB of log and at every sync and close; a reader checks
// the entry that it uses against the log, and recovery rebuilds what is missing. Positions of a log are
// byte offsets from its start; an offset is always a message offset.
//
// Nothing here syncs a directory unless its description says so. Errors wrap the operation that failed;
// damage is told by *Refusal (recovery) and *Fault (reading).
package segment
