// Package gatecheck asserts that what depends on a durable record leaves a node only after that record is
// durable. It is for tests.
//
// A Gate stands between a node and its file system, where it sees what really became durable: the superblock of
// a group when the directory was synced after its rename, the entries of the metadata journal when the file was
// synced. It is also the node's Witness, and so is shown every answer and every published end at the moment at
// which it leaves. What the node believes does not count: neither a completion that came early nor one that
// carries other values than those that were written gets past it.
//
// Rules, for every answer to a committed operation: the superblock of the group holds the view of the operation;
// in the metadata group the journal holds the operation under that identity; the offsets of a batch lie below the
// reservation that the superblock holds, and so does what polls see.
package gatecheck
