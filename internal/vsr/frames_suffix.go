package vsr

import "github.com/galgolog/galgo/internal/protocol"

// SuffixMax is the largest number of headers in a DoViewChange or StartView.
const SuffixMax = 128

// Suffix is the decoded body of a DoViewChange or StartView: the headers of a log from its head down. It
// aliases the frame.
type Suffix struct {
	head    uint64
	headers []byte
}

// Len is the number of headers.
func (s Suffix) Len() int { return len(s.headers) / protocol.HeaderSize }

// At is the i-th header, that of op head-i. It may be blank.
func (s Suffix) At(i int) *protocol.PrepareHeader {
	return (*protocol.PrepareHeader)(s.headers[i*protocol.HeaderSize:])
}

// Of returns the header of an op, or nil when the suffix does not reach it or its place is blank.
func (s Suffix) Of(op uint64) *protocol.PrepareHeader {
	if op > s.head || s.head-op >= uint64(s.Len()) {
		return nil
	}
	if h := s.At(int(s.head - op)); !IsBlank(h) {
		return h
	}
	return nil
}

// Blank returns the header that stands for an unknown operation at op.
func Blank(op uint64) protocol.PrepareHeader {
	var h protocol.PrepareHeader
	h.Common().SetCommand(protocol.CommandPrepare)
	h.SetOp(op)
	return h
}

// IsBlank reports whether h is Blank(h.Op()), byte for byte.
func IsBlank(h *protocol.PrepareHeader) bool { return *h == Blank(h.Op()) }

// DecodeDoViewChangeSuffix decodes the body of a DoViewChange; the whole message is refused when any part
// of it is not in order. A blank may be nacked, a header may be present, nothing can be both.
func DecodeDoViewChangeSuffix(d *DoViewChangeHeader, body []byte) (Suffix, bool) {
	s, ok := decodeSuffix(d.Common(), d.Op(), d.Group(), body)
	nack, present := d.NackBitset(), d.PresentBitset()
	if !ok || bitsFrom(nack, s.Len()) || bitsFrom(present, s.Len()) {
		return Suffix{}, false
	}
	for i := range s.Len() {
		blank := IsBlank(s.At(i))
		if bit(nack, i) && !blank || bit(present, i) && blank {
			return Suffix{}, false
		}
	}
	return s, true
}

// DecodeStartViewSuffix decodes the body of a StartView, under the rules of a DoViewChange.
func DecodeStartViewSuffix(h *StartViewHeader, body []byte) (Suffix, bool) {
	return decodeSuffix(h.Common(), h.Op(), h.Group(), body)
}

func decodeSuffix(frame *protocol.Header, head uint64, group protocol.GroupID, body []byte) (Suffix, bool) {
	n := len(body) / protocol.HeaderSize
	if len(body)%protocol.HeaderSize != 0 || n > SuffixMax || uint64(n) > head {
		return Suffix{}, false
	}
	s := Suffix{head: head, headers: body}
	var above *protocol.PrepareHeader // nearest header above that is not blank
	for i := range n {
		h := s.At(i)
		if h.Op() != head-uint64(i) {
			return Suffix{}, false
		}
		if IsBlank(h) {
			continue
		}
		if !validSuffixHeader(frame, group, h) {
			return Suffix{}, false
		}
		if above != nil {
			if h.Timestamp() >= above.Timestamp() ||
				above.Op() == h.Op()+1 && above.Parent() != h.Common().Checksum() {
				return Suffix{}, false
			}
		}
		above = h
	}
	return s, true
}

func validSuffixHeader(frame *protocol.Header, group protocol.GroupID, h *protocol.PrepareHeader) bool {
	c := h.Common()
	return c.Command() == protocol.CommandPrepare && c.Size() >= protocol.HeaderSize &&
		c.Cluster() == frame.Cluster() && c.Revision() == frame.Revision() &&
		c.Replica() < ReplicasMax && protocol.GroupID(h.Group()) == group &&
		h.VerifyIdentity() && checkPrepare(c, nil) &&
		reservedClear(ruleOf(protocol.CommandPrepare), c, nil)
}

// bit reports whether bit i of set is set.
func bit(set protocol.Uint128, i int) bool {
	if i < 64 {
		return set.Lo>>i&1 == 1
	}
	return set.Hi>>(i-64)&1 == 1
}

// withBit returns set with bit i set.
func withBit(set protocol.Uint128, i int) protocol.Uint128 {
	if i < 64 {
		set.Lo |= 1 << i
	} else {
		set.Hi |= 1 << (i - 64)
	}
	return set
}

// bitsFrom reports whether any bit at n or above is set.
func bitsFrom(set protocol.Uint128, n int) bool {
	if n < 64 {
		return set.Hi != 0 || set.Lo>>n != 0
	}
	return n < 128 && set.Hi>>(n-64) != 0
}
