// Package inspect looks at a data directory without changing it: it decodes every kind of file for people and
// scripts, and verifies a whole directory against what the next start of the server would make of it.
//
// Nothing is parsed twice. Files are read by the packages that own their formats, and a recovery is rehearsed by
// calling it on a vfs.Overlay, which takes its repairs in memory: what the overlay differs by afterwards is what a
// start would do. What a start does not look at, because it begins behind the newest index entry, is read here to
// the last byte.
//
//	Verify       the whole directory, as findings
//	Survey       what a directory holds: cluster, node, streams, topics, partitions
//	Describe*    one file, or one partition
//
// Every result has fields with stable JSON names and a method Print for people.
package inspect
