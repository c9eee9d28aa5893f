// Package partition is the replicated state machine of one partition: it mints offsets, lays batches out
// in segments, keeps consumer offsets, decides what retention and purge remove, and publishes the view that
// polls read.
//
// The package is sans-IO. A Partition implements vsr.StateMachine; what must happen on disk comes back as an
// AppendPlan (from Stage) or as Jobs, and their completions are told with AppendDone and JobDone. It is
// called by the owner of its group only. The two exceptions are made for readers: View, which returns an
// immutable snapshot through an atomic pointer, and Cursors, whose cells polls raise.
//
// Life of a batch here: Mint claims offsets and stamps the record, Stage assigns segment and position,
// AppendDone confirms the bytes, Apply makes it visible. Unmint takes back what a failed append had claimed.
//
// Offsets: appended is the highest offset ever stamped, committed the highest that readers may see;
// appended >= committed. On a solo node every offset that may leave the process is below the durable
// reservation (see reservation.go), so a crash never leads to one offset for two messages.
package partition
