package partition

// Config names a partition and its topic's options.
type Config struct {
	Stream, Topic, ID uint32
	// Revision is the op of the metadata operation that created this incarnation.
	Revision uint64
	// Replicas is the number of members of the group. Only a solo group reserves offsets.
	Replicas uint8
	// Logged tells that prepares count when a write-ahead log holds them: batches go to the segments when they
	// are committed. Otherwise the segments are the log, and the append of a batch is what makes it count.
	Logged  bool
	Options Options
	// TailMaxBytes bounds the recent batches kept in memory for polls; 0 keeps none.
	TailMaxBytes int64
	// ReservationLease is the number of offsets claimed ahead by one superblock write; 0 means the default
	// of 65,536.
	ReservationLease uint64
	// ReservationLeaseMax bounds how far the lease grows with rate and size of batches; 0 means 16,777,216.
	ReservationLeaseMax uint64
}

// Options are the properties of the topic that the log obeys. They may change while the partition runs;
// the next segment uses them.
type Options struct {
	// SegmentBytes is the size at which a segment is sealed; the crossing batch is included whole.
	SegmentBytes int64
	// Preallocate reserves SegmentBytes of disk for each new segment.
	Preallocate bool
	// ExpiryMicros is the age after which a sealed segment may go; 0 means never.
	ExpiryMicros uint64
	// BudgetBytes bounds the bytes of sealed segments; 0 means no bound.
	BudgetBytes int64
}

const (
	defaultLease    = 65_536
	defaultLeaseMax = 16_777_216
)

func (c *Config) lease() uint64 {
	if c.ReservationLease == 0 {
		return defaultLease
	}
	return c.ReservationLease
}

func (c *Config) leaseMax() uint64 {
	if c.ReservationLeaseMax == 0 {
		return defaultLeaseMax
	}
	return c.ReservationLeaseMax
}
