// Package vfs is the file system seen through an interface, so that every byte of durable I/O runs
// unchanged against the kernel (OS) or against a memory that can lose power (Mem).
//
// FS covers names and directories, File covers one open file. Durability follows POSIX and promises no
// more: File.Sync makes content and size durable, never the name; SyncDir makes the names in one
// directory durable, never content. A rename within a directory is atomic.
//
// Mem keeps for every file the durable image beside the writes that no sync has covered, and for every
// directory the durable entries beside the changes that no SyncDir has covered. CrashClone returns a file
// system holding what could be found after power was lost at this moment: whatever was synced, and of
// everything else a seeded choice, torn at sectors or at single bytes. SetHook sees every mutating
// operation before it happens, with a running number, and may fail it or end the life of the file system
// there. A test can therefore die at exactly operation n, for every n, and look at what recovery makes of it.
//
// Why own code and not a library: the file-system layers of existing storage engines, pebble's first of
// all, offer no vectored positional write, no start of write-back, and crash clones that keep or drop
// whole operations but do not tear one at an arbitrary byte; and they bring the tree of their engine
// along. What is needed here is two small interfaces and some hundred lines behind each.
//
// Implementations are safe for concurrent use. Errors carry operation and path (*fs.PathError) and answer
// errors.Is for fs.ErrNotExist, fs.ErrExist, fs.ErrClosed and the system's error numbers.
package vfs
