// Package superblock keeps the durable consensus record of one group: who the replica is, its view and
// log view, and lower bounds of what it has committed and promised.
//
// The record lives in two slots, superblock.a and superblock.b, written alternately. A write goes to the
// slot that does not hold the newest record: temporary file, fsync, rename, fsync of the directory. So a
// crash leaves the record before or the one after, whole.
//
// That makes three outcomes of opening, never two. Empty: nothing was ever written. Present: the newest
// record is known. Unreadable: something was written and cannot be trusted, which refuses the group
// (a partition) or the boot (metadata). A single damaged slot is enough for Unreadable even beside a valid
// one: rename is atomic, so damaged bytes are rot of a record that was durable once, it may have been the
// newer one, and falling back could move the view backwards. While a slot is damaged, writes are
// refused, too, so that the evidence stays.
//
// Each record names the trailer of the one before it. Two valid slots that are not neighbours in that
// chain do not come from one history (a slot was put back from somewhere else) and are Unreadable as well. So
// is a missing or empty slot beside a record that was not the first: what stood in it may have been newer.
//
// Record, little-endian, exactly 36 bytes longer than its payload (spec: superblock):
//
//	off size field
//	  0    4 magic            bytes 4B 4C 42 53
//	  4    2 version          2
//	  6    2 reserved         0
//	  8    8 sequence         1, 2, 3, ...
//	 16    8 parent checksum  trailer of the record with the sequence before, 0 for the first
//	 24    4 payload length   74
//	 28   74 payload          see State
//	102    8 trailer          XXH3-64 of bytes 0 to 102
package superblock
