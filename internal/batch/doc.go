// Package batch is the one layout of a message batch: what a producer sends, a replica receives, a log and
// a segment store and a poll returns. It reads, checks, stamps, cuts and builds records in place and never
// decodes them into a second form.
//
// A record is a 256-byte Header followed by message frames that tile the rest exactly. Two checksums guard
// it: every frame carries the XXH3-64 of its own bytes, and the header carries the XXH3-64 of its six
// variable fields followed by the checksums of all frames. The bodies are therefore bound to the header by
// way of 8 bytes a message: stamping and cutting a batch never read them again.
//
// Two strengths of checking exist. CheckLayout proves that the record can be walked; Verify proves in
// addition that nothing in it changed, in one pass over the bodies. Verifier is Verify for a record that
// arrives in pieces. Everything else in this package expects a record whose layout was checked, and stays
// inside the slice it was given when that is not so.
//
// Offsets: message i of a record has the offset base_offset + i, whatever its frame says in offset_delta,
// which producers write and nobody checks. All functions are safe for concurrent use on records that
// nobody writes; none of them allocates.
package batch
