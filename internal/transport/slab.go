package transport

import (
	"time"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/vsr"
)

const (
	slabBytesMin = 4 << 10
	slabBytesMax = 256 << 10
	slabBusyTime = int64(time.Second)
)

// slab cuts small bodies out of shared leases. Each body holds a reference of its own; the slab holds one
// for as long as it cuts. A slab that was used up within a second is followed by a larger one, others by a
// smaller one, so that quiet connections stay small.
type slab struct {
	lease *buffer.Lease
	used  int
	size  int
	born  int64
}

// take returns room for n bytes, at most smallBodyBytesMax.
func (s *slab) take(pool *buffer.Pool, n int, now int64) vsr.Body {
	if s.lease == nil || len(s.lease.Bytes)-s.used < n {
		s.renew(pool, n, now)
	}
	end := s.used + n
	b := vsr.Body{Lease: s.lease, Bytes: s.lease.Bytes[s.used:end:end]}
	s.lease.Retain()
	s.used = min((end+7)&^7, len(s.lease.Bytes))
	return b
}

func (s *slab) renew(pool *buffer.Pool, n int, now int64) {
	switch {
	case s.lease == nil:
		s.size = slabBytesMin
	case now-s.born < slabBusyTime:
		s.size = min(s.size*4, slabBytesMax)
	default:
		s.size = max(s.size/4, slabBytesMin)
	}
	for s.size < n {
		s.size *= 4
	}
	s.drop()
	s.lease, s.used, s.born = pool.Get(s.size), 0, now
}

// drop gives the slab's own reference back.
func (s *slab) drop() {
	if s.lease != nil {
		s.lease.Release()
		s.lease = nil
	}
}
