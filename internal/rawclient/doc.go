// Package rawclient is a small, fast client of the client wire protocol for galgo's own tools: the
// benchmark, black-box suites and checkers. It is not the public SDK: it hides nothing. It follows no
// roster, reconnects never, retries only when told to, and hands out every header and body as received.
//
// A Conn works lockstep (Do and the wrappers around it: one request, one reply) or pipelined (Send, then
// Receive once per request; replies arrive in the order of the requests). Numbering follows the protocol:
// Register carries request 0 and session 0; metadata operations, DeleteSegments and Logout each take the
// next number; partition operations and reads repeat the current one. Every reply is checked against the
// request it must answer, so a server that loses, invents or reorders one is found at once.
//
// Failures that the server states are *Error and name their channel: the status of a denial, the result
// section of a framed reply, or an eviction. Everything else is a transport failure or a *ProtocolError,
// after which the Conn is unusable.
//
// A Conn belongs to one goroutine, with one exception: one goroutine may send while another receives.
// Slices inside a Reply alias the receive buffer and live until the next call that receives.
package rawclient
