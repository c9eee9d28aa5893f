// Package wal is the write-ahead log: the journal of the metadata group, and the record format that it
// shares with the logs of shards (record.go).
//
// A journal is two files. journal.wal is a 64-byte header and then records, appended in batches: one write
// and one fdatasync for everything that gathered, one batch id for all of it. journal.mirror holds the
// headers of recent entries and the acked head; a header gets there after the fsync of its entry and
// leaves before its entry does, so whatever the mirror names must be in the journal.
//
// What Open must decide about a record that does not read:
//
//	torn tail        the last batch was interrupted; nothing of it was acknowledged; it is cut off
//	interior damage  the record had been durable and may have been acknowledged; the journal is refused
//
// Two proofs make it damage. A batch is written only when the one before it is synced, and every record says
// so: one intact record anywhere behind the damage with synced >= the damaged batch. Or a header in the
// mirror whose entry the scan has not met, which also finds a last batch that rotted and a file that became
// shorter. Records carry the random epoch of their file, which no client knows, so that nothing inside a
// message can pass for a record. Without a proof it is a torn tail. Two records in one batch prove nothing
// about each other.
//
// A batch whose tail was cut stays open: the next append goes on with its id, so that "synced" never says
// more than it knows.
//
// A failed write is undone by cutting it off; a failed fsync poisons the journal, because the kernel may
// have dropped the pages: only opening it again tells what is durable.
package wal
