package rawclient

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Channel tells by which of the protocol's three ways a server stated a failure.
type Channel uint8

// Channels. The zero value is no channel.
const (
	// ChannelDenial is the status of a reply header: refused before anything was committed.
	ChannelDenial Channel = iota + 1
	// ChannelResult is the result section of a framed reply: a committed rejection, or one of the
	// transient answers 57, 58, 59 (and 51) that travel in the same shape.
	ChannelResult
	// ChannelEviction is an eviction frame in place of a reply: the session is over.
	ChannelEviction
)

// String names the channel.
func (ch Channel) String() string {
	switch ch {
	case ChannelDenial:
		return "denial"
	case ChannelResult:
		return "result"
	case ChannelEviction:
		return "eviction"
	}
	return fmt.Sprintf("channel %d", uint8(ch))
}

// Error is a failure that the server stated. Code is 0 and Reason set for an eviction; otherwise Code is
// set and Reason 0.
type Error struct {
	Channel   Channel
	Code      protocol.Code
	Reason    protocol.EvictionReason
	Operation protocol.Operation // of the request that was answered
	Request   uint64             // its request number
}

// Error implements error.
func (e *Error) Error() string {
	if e.Channel == ChannelEviction {
		return fmt.Sprintf("%s answered by eviction %d", e.Operation, uint8(e.Reason))
	}
	return fmt.Sprintf("%s answered by %s %d", e.Operation, e.Channel, uint32(e.Code))
}

// CodeOf returns the code of a denial or result section inside err, and false for anything else,
// evictions included.
func CodeOf(err error) (protocol.Code, bool) {
	var e *Error
	if errors.As(err, &e) && e.Channel != ChannelEviction {
		return e.Code, true
	}
	return 0, false
}

// ReasonOf returns the reason of an eviction inside err, and false for anything else.
func ReasonOf(err error) (protocol.EvictionReason, bool) {
	var e *Error
	if errors.As(err, &e) && e.Channel == ChannelEviction {
		return e.Reason, true
	}
	return 0, false
}

// ProtocolError is a breach of the protocol by the server: a frame that cannot be, or a reply that does
// not belong to the request whose turn it is. The connection is unusable afterwards.
type ProtocolError struct{ Detail string }

// Error implements error.
func (e *ProtocolError) Error() string { return "protocol breach: " + e.Detail }

func breach(format string, args ...any) error {
	return &ProtocolError{Detail: fmt.Sprintf(format, args...)}
}
