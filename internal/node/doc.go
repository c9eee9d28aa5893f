// Package node is one running server between the edge and the core: shards that own groups, the registry of
// groups, the executor of file jobs, recovery, and the read path.
//
// Ownership. A shard owns its groups behind a try-lock. Its goroutine holds the lock while there is work in
// the inbox; where the shard is idle, the goroutine that has the work takes the lock and runs the pass
// itself, so that a lone request needs no hand-off. A pass samples the time once, takes completions, then
// control messages, then requests, runs every touched group until nothing more can be done, publishes views,
// and lets go. No socket is written and no device waited for under ownership: replies are completed into
// their connection's queue and flushed after release, what waits for the device is a task of the executor
// whose completion comes back through the inbox.
//
// Blocking. An append to the page cache is a copy and belongs to the pass; one that takes more than two
// milliseconds is counted. Everything that waits for the device by design is a task.
//
// Readers do not enter shards. A poll takes the published view of its partition, serves itself from the tail
// in memory or from the files, and starts again when the chain generation moved meanwhile.
package node
