package drive

import (
	"errors"
	"fmt"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/rawclient"
)

// Answer is what a request is to be answered: success, a code in one of its two forms, or an eviction.
type Answer struct {
	channel rawclient.Channel
	code    protocol.Code
	reason  protocol.EvictionReason
}

// OK is a success.
var OK = Answer{}

// Denied is a refusal before anything was committed: the status of a reply.
func Denied(code protocol.Code) Answer { return Answer{channel: rawclient.ChannelDenial, code: code} }

// Rejected is a refusal in the result section of a reply.
func Rejected(code protocol.Code) Answer {
	return Answer{channel: rawclient.ChannelResult, code: code}
}

// Evicted is an eviction.
func Evicted(reason protocol.EvictionReason) Answer {
	return Answer{channel: rawclient.ChannelEviction, reason: reason}
}

// String names the answer.
func (a Answer) String() string {
	switch a.channel {
	case 0:
		return "success"
	case rawclient.ChannelEviction:
		return fmt.Sprintf("eviction %d", a.reason)
	}
	return fmt.Sprintf("%s %d", a.channel, uint32(a.code))
}

// AnswerOf tells what an error of a raw client says; false when the server has not answered at all.
func AnswerOf(err error) (Answer, bool) {
	if err == nil {
		return OK, true
	}
	var stated *rawclient.Error
	if !errors.As(err, &stated) {
		return OK, false
	}
	return Answer{channel: stated.Channel, code: stated.Code, reason: stated.Reason}, true
}

// Want fails the test unless err says the answer.
func Want(t testing.TB, what string, err error, want Answer) {
	t.Helper()
	got, answered := AnswerOf(err)
	if !answered {
		t.Fatalf("%s: no answer: %v; want %s", what, err, want)
	}
	if got != want {
		t.Errorf("%s: %s; want %s", what, got, want)
	}
}
