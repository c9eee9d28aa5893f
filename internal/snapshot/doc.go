// Package snapshot is the file that a group's state machine is restored from, and the frame around its
// content: a header, the sections of the state machine, and a trailer that vouches for both. What the
// sections mean belongs to the state machine.
//
//	off size header, little-endian
//	  0    4 magic "GLMS"
//	  4    4 version 1
//	  8    8 op that the state reflects
//	 16    8 timestamp of that op, microseconds; the clock never goes back behind it
//	 24    4 clients_table_max
//	 28   36 zero
//	 64      sections
//	         trailer: magic "PNSI", XXH3-64 of everything before it, zero-extended to 16 bytes
//
// Nothing is decoded before the trailer is verified, and a snapshot without a trailer is no snapshot. The
// header stands before the sections so that a boot can compare the op with what the superblock says before
// it looks at anything else.
//
// A file is replaced as a whole: temporary, fsync, rename, fsync of the directory. A crash leaves the one
// before or the one after. Functions of this package are safe for concurrent use on different files.
package snapshot
