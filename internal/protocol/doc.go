// Package protocol is the codec of the client wire protocol, version 0.11: frames and their 256-byte
// headers, operations, error codes, eviction reasons and the primitives that command bodies are made of.
// The bodies themselves live in protocol/command. The prepare header, which replicas exchange and logs
// store, is here too, because its first half is the common one and several ground packages read it.
//
// Everything is little-endian. Header types are arrays that the accessors read and write in place: a
// header is never decoded into a second form. Decoders treat input as hostile: they check length before
// they read and never allocate from a length they have not compared with what is there.
package protocol
