//go:build !linux

package transport

import "net"

// ioVector has no use where vectored writes go through the standard library.
type ioVector struct{}

func (*ioVector) reset() {}

func newSink(nc net.Conn, m *Metrics) sink { return &streamSink{nc: nc, metrics: m} }

func (*Conn) findEOF() {}
