// Package command holds the bodies of the protocol's commands, one file per family: requests as clients send
// them and replies as servers answer. Every type has an Append that encodes it behind dst and a Decode
// function that takes exactly one body.
//
// Decoded names, keys, texts and blocks alias the body. A body that does not fit its command gives a
// *protocol.DecodeError, which is answered with code 3; bytes behind the end are allowed where the protocol
// allows them and are said to be refused where not.
package command

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/galgolog/galgo/internal/protocol"
)

var le = binary.LittleEndian

// TopicRef names a topic in a stream.
type TopicRef struct{ Stream, Topic protocol.Identifier }

func readTopicRef(r *protocol.Reader) TopicRef {
	return TopicRef{r.Identifier("stream"), r.Identifier("topic")}
}

// Append encodes t.
func (t TopicRef) Append(dst []byte) []byte { return t.Topic.Append(t.Stream.Append(dst)) }

// DecodeTopicRef reads the body of commands that name a topic and nothing else.
func DecodeTopicRef(body []byte) (TopicRef, error) {
	r := protocol.NewReader(body)
	t := readTopicRef(&r)
	return t, r.Err()
}

// DecodeIdentifier reads the body of commands that name one stream or user.
func DecodeIdentifier(body []byte) (protocol.Identifier, error) {
	r := protocol.NewReader(body)
	id := r.Identifier("identifier")
	return id, r.Err()
}

// readOptions takes the rest of the body as a block of options.
func readOptions(r *protocol.Reader) []byte {
	block := r.Rest()
	if !validOptions(block) {
		r.Fail("options")
	}
	return block
}

// validOptions checks the form of an option block: keys are UTF-8 of the string kind, none comes twice, and
// the block keeps its limits. Keys are sorted to be compared, because a block that somebody made to be slow
// must not cost a comparison of every key with every other.
func validOptions(block []byte) bool {
	if len(block) == 0 {
		return true
	}
	if len(block) > protocol.BlockMaxBytes {
		return false
	}
	var keys [][]byte
	for r := protocol.NewReader(block); r.Len() > 0; {
		p := r.Pair()
		if r.Err() != nil || p.KeyKind != protocol.KindString || !utf8.Valid(p.Key) || len(keys) == protocol.BlockMaxEntries {
			return false
		}
		keys = append(keys, p.Key)
	}
	slices.SortFunc(keys, bytes.Compare)
	for i := range keys[1:] {
		if bytes.Equal(keys[i], keys[i+1]) {
			return false
		}
	}
	return true
}

// Options returns the pairs of a valid option block in its order, aliasing it. From a block that is not
// valid it returns the pairs in front of the fault and a zero one for the fault.
func Options(block []byte) []protocol.Pair {
	var pairs []protocol.Pair
	for r := protocol.NewReader(block); r.Len() > 0 && r.Err() == nil; {
		pairs = append(pairs, r.Pair())
	}
	return pairs
}

// AppendOptions encodes pairs.
func AppendOptions(dst []byte, pairs ...protocol.Pair) []byte {
	for _, p := range pairs {
		dst = p.Append(dst)
	}
	return dst
}

// StringOption is an option with a text value.
func StringOption(key, value string) protocol.Pair {
	return protocol.Pair{KeyKind: protocol.KindString, Key: []byte(key), ValueKind: protocol.KindString, Value: []byte(value)}
}

// U64Option is an option with a number.
func U64Option(key string, value uint64) protocol.Pair {
	return protocol.Pair{KeyKind: protocol.KindString, Key: []byte(key), ValueKind: protocol.KindU64, Value: le.AppendUint64(nil, value)}
}

// U32Option is an option with a number of 32 bits.
func U32Option(key string, value uint32) protocol.Pair {
	return protocol.Pair{KeyKind: protocol.KindString, Key: []byte(key), ValueKind: protocol.KindU32, Value: le.AppendUint32(nil, value)}
}

// BoolOption is an option with a switch.
func BoolOption(key string, value bool) protocol.Pair {
	b := byte(0)
	if value {
		b = 1
	}
	return protocol.Pair{KeyKind: protocol.KindString, Key: []byte(key), ValueKind: protocol.KindBool, Value: []byte{b}}
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}
