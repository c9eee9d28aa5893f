package batch

import "github.com/galgolog/galgo/internal/protocol"

// Selection says which messages of a record are wanted: offsets from From to Ceiling, both included, at
// most MaxCount of them and at most MaxBytes bytes of record, the header included.
type Selection struct {
	From, Ceiling uint64
	MaxCount      uint32
	MaxBytes      int
	// AtLeastOne takes the first message wanted even when it does not fit MaxBytes.
	AtLeastOne bool
}

// Cut is the part of a record that a Selection took. Count 0 means nothing: First and Last then mean
// nothing either.
type Cut struct {
	// Frames is the contiguous run of frames, aliasing the record from byte At on.
	Frames []byte
	At     int
	Count  uint32
	// First and Last are the offsets of the outer messages taken.
	First, Last uint64
	// Whole is true when everything was taken: the record is to be served as it is and the caller's
	// header buffer was not touched.
	Whole bool
	// Full is true when the next message was left out because it did not fit MaxBytes.
	Full bool
}

// Slice takes a contiguous run of messages out of record. When that is less than all, the header of the
// part goes to head: base offset, partition and timestamps of the record, length, count and checksum of
// the part. Frames are never changed. The layout of the record must have been checked. head may lie inside
// record, over bytes that are not wanted any more.
func Slice(record []byte, want Selection, head *Header) Cut {
	h := (*Header)(record)
	base, end, count := h.BaseOffset(), h.EndOffset(), h.MessageCount()
	if want.MaxCount == 0 || want.From > end || want.Ceiling < base || want.Ceiling < want.From || end < base {
		return Cut{}
	}
	if want.From <= base && end <= want.Ceiling && count <= want.MaxCount && len(record) <= want.MaxBytes {
		return Cut{Frames: record[HeaderSize:], At: HeaderSize, Count: count, First: base, Last: end, Whole: true}
	}
	return cutFrames(record, want, head)
}

func cutFrames(record []byte, want Selection, head *Header) Cut {
	h := (*Header)(record)
	base, rest := h.BaseOffset(), record[HeaderSize:]
	skip := uint64(0)
	if want.From > base {
		skip = want.From - base
	}
	for range skip {
		length, code := nextFrame(rest)
		if code != protocol.Success {
			return Cut{}
		}
		rest = rest[length:]
	}
	limit := min(uint64(want.MaxCount), min(want.Ceiling, h.EndOffset())-base-skip+1)
	// The seal covers length and count, which are known only after the walk: frames are found first.
	cut := Cut{First: base + skip}
	taken := 0
	for uint64(cut.Count) < limit {
		length, code := nextFrame(rest[taken:])
		if code != protocol.Success {
			break
		}
		if HeaderSize+taken+length > want.MaxBytes && !(want.AtLeastOne && cut.Count == 0) {
			cut.Full = true
			break
		}
		taken += length
		cut.Count++
	}
	if cut.Count == 0 {
		return Cut{Full: cut.Full}
	}
	cut.Last = cut.First + uint64(cut.Count) - 1
	cut.Frames, cut.At = rest[:taken:taken], len(record)-len(rest)
	part := *h
	part.setLength(uint64(HeaderSize + taken))
	part.setMessageCount(cut.Count)
	part.setChecksum(sealPart(&part, cut.Frames))
	*head = part
	return cut
}

func sealPart(head *Header, frames []byte) uint64 {
	var seal sealer
	seal.begin(head)
	for len(frames) > 0 {
		seal.add(Frame(frames).Checksum())
		frames = frames[Frame(frames).length():]
	}
	return seal.sum()
}
