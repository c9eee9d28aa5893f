// Package cases replays public failure stories about log brokers against the real server: the smallest steps that
// once broke somebody, and the outcome that is right here. Every story that fits a single node has a test; its id
// stands in the comment above it.
//
// Stories that a process cannot tell are covered elsewhere:
//
//   - IGGY-3946, LOGCABIN-221, RMQ-RA170 and RP-3722 need disks that lose what was not synced, at every point:
//     crash tests of internal/segment, internal/superblock and internal/wal on the crash-losing file system, and
//     internal/sim. What a kill and files cut from outside can show of
//     them is in test/acceptance.
//   - NATS-5382 needs a disk that fills up: TestDiskFull here runs on a small file system of its own where the
//     machine allows one to be mounted and says so where it does not; internal/vfs and internal/segment inject
//     the same error.
//   - KOP-334 is here through the clock of the server; the naive comparison is in internal/segment.
//   - Stories of several replicas (views, repair, transfer) are told by the simulator.
package cases
