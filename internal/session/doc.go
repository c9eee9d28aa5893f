// Package session is one client's protocol state: who signed in on a connection, the fence and number of its
// session, what a request may do and where it goes, and the form of every answer.
//
// It stands between internal/transport, which delimits frames and keeps answers in order, and internal/node,
// which owns the groups. A Server knows the sessions of all connections; a session belongs to the goroutine of
// its connection, apart from what shards complete into it.
//
// Order within a connection: sends and offset writes of one read are gathered and submitted together. Whatever
// is not one of them waits until those before it are answered, so that a client which pipelines sees its own
// writes. Metadata operations are answered before the next frame is looked at: their views are published and
// the shards told by then, which is the order between the planes that a client relies on.
//
// Identity comes from the connection's binding, never from a header.
//
// Completions and the end of sessions come in under the ownership of a shard. They take Server.mu at most, for a
// few lines; nothing that waits for a shard is called while it is held.
package session
