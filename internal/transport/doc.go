// Package transport moves frames between sockets and sessions: it delimits requests in the byte stream of
// a connection, hands them over in batches, and writes the answers in the order of the requests. It knows
// nothing about sign-in, commands or partitions.
//
// # Life of a request
//
// One socket read may hold many frames. Each becomes an Exchange: header copied, body in leased memory,
// and room for the answer. Handler.Frame receives it; when every frame of that read was handed over,
// Handler.ReadEnd lets the session submit what it gathered in one pass. Exchange.Done marks an answer
// complete from any goroutine and never touches the socket; Conn.Flush writes the completed prefix, many
// answers to one vectored write.
//
// # Concurrency
//
// A connection has one goroutine, which reads and calls its Handler. Flush is guarded by a token: whoever
// holds it writes, everybody else leaves a note and returns at once. A write that would block passes the
// token to a goroutine that exists only until the backlog is gone. Done, Flush, Pause and Resume take no
// lock.
//
// # Memory and limits
//
// A connection that waits for its next request keeps no read buffer; large read buffers are borrowed for
// as long as bytes are there. One that fills the largest reads has a block of 512 KiB that they land in;
// bodies of 1 to 16 KiB stay there. Other bodies up to 16 KiB share slabs of 4 to 256 KiB, larger ones get a
// lease that is never more than 1.25 MiB or twice the bytes that really arrived. A connection is not read
// any further while too many exchanges are open, too many answer bytes wait unwritten, too many request
// bytes are held by open exchanges, or its session paused it.
//
// # Layers
//
// frameReader (bytes to frames) and the answer queue know no socket. A sink writes a batch of answers and
// a read loop feeds the frame reader; the ones for net.Conn work for every stream, the ones for Linux TCP
// use the descriptor directly, which saves a read call per request and never blocks a foreign goroutine.
package transport
