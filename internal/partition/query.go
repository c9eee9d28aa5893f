package partition

// Strategy tells where a poll begins. The values are those of the protocol.
type Strategy uint8

// Strategies.
const (
	FromOffset    Strategy = 1
	FromTimestamp Strategy = 2
	FromFirst     Strategy = 3
	FromLast      Strategy = 4
	FromNext      Strategy = 5
)

// Query is a poll before it met a view.
type Query struct {
	Strategy Strategy
	Value    uint64 // offset, or microseconds
	Count    uint32
	Key      ConsumerKey // for FromNext
}

// Selection is a poll resolved against one view: messages from Offset on, or from the first batch appended
// at or after Micros when ByTime is set, at most Count, none above Ceiling. Empty says there is nothing.
type Selection struct {
	Empty   bool
	ByTime  bool
	Offset  uint64
	Micros  uint64
	Count   uint32
	Ceiling uint64
}

// Resolve applies the strategy of q to v. next is the stored offset of the consumer, if there is one.
func (v *View) Resolve(q Query, next uint64, hasNext bool) Selection {
	s := Selection{Count: q.Count, Ceiling: v.Committed}
	if !v.Seeded || q.Count == 0 {
		s.Empty = true
		return s
	}
	switch q.Strategy {
	case FromOffset:
		s.Offset = q.Value
	case FromTimestamp:
		s.ByTime, s.Micros = true, q.Value
	case FromLast:
		s.Offset = v.lastFrom(uint64(q.Count))
	case FromNext:
		if hasNext && next >= v.Committed {
			s.Empty = true
			return s
		}
		if hasNext {
			s.Offset = next + 1
		}
	}
	if !s.ByTime && s.Offset > v.Committed {
		s.Empty = true
	}
	return s
}

// lastFrom is the offset at which exactly count messages remain, gaps between segments not counted; the
// oldest retained one when there are fewer.
func (v *View) lastFrom(count uint64) uint64 {
	left := count
	for i := v.SegmentCount() - 1; i >= 0; i-- {
		s := v.Segment(i)
		n := s.Messages()
		if n == 0 {
			continue
		}
		if n >= left {
			return s.End - left + 1
		}
		left -= n
	}
	return v.FirstOffset()
}
