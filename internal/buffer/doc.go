// Package buffer owns the memory that message bytes live in between a socket and a file.
//
// A Lease is one block from a Pool. Its reference count is a cell of its own, owned by the garbage
// collector, so that a reader holding an outdated view can ask for the block with TryRetain and be told
// no instead of touching memory that already serves another request. Blocks come in size classes and go
// back to the class they came from; a pool keeps at most a configured number of idle bytes and lets the
// collector have the rest.
//
// Rules: whoever retains releases exactly once; bytes are written only before the lease is shared; a
// Lease never moves between pools. All methods are safe for concurrent use.
package buffer
