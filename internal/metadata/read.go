package metadata

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

// Stats are the counters of partitions, which live with their storage. They add up over a topic, but for
// CurrentOffset.
type Stats struct {
	SegmentsCount uint32
	CurrentOffset uint64 // offset of the newest message, 0 for an empty partition
	SizeBytes     uint64
	MessagesCount uint64
}

// PartitionStats is where the counters come from. It answers zeros for partitions that it does not hold.
type PartitionStats interface {
	PartitionStats(stream, topic, partition uint32) Stats
}

func (s *Stats) add(o Stats) {
	s.SegmentsCount += o.SegmentsCount
	s.SizeBytes += o.SizeBytes
	s.MessagesCount += o.MessagesCount
}

// partitionStats reads the counters of a partition that exists: it has at least one segment, although its
// storage may not have been made yet.
func partitionStats(from PartitionStats, stream, topic, partition uint32) Stats {
	s := from.PartitionStats(stream, topic, partition)
	s.SegmentsCount = max(s.SegmentsCount, 1)
	return s
}

func topicStats(from PartitionStats, stream uint32, t *Topic) (sum Stats) {
	for p := range t.PartitionsCount() {
		sum.add(partitionStats(from, stream, t.ID, p))
	}
	return sum
}

func streamStats(from PartitionStats, st *Stream) (sum Stats) {
	for t := range st.Topics() {
		sum.add(topicStats(from, st.ID, t))
	}
	return sum
}

// Totals returns the sums over all partitions.
func (v *View) Totals(from PartitionStats) (sum Stats) {
	for st := range v.Streams() {
		sum.add(streamStats(from, st))
	}
	return sum
}

// AppendStreams appends the reply to get streams.
func (v *View) AppendStreams(dst []byte, from PartitionStats) []byte {
	for st := range v.Streams() {
		dst = appendStreamHeader(dst, st, streamStats(from, st))
	}
	return dst
}

// AppendStream appends the reply to get stream.
func AppendStream(dst []byte, st *Stream, from PartitionStats) []byte {
	dst = appendStreamHeader(dst, st, streamStats(from, st))
	return appendTopicHeaders(dst, st, from)
}

// AppendTopics appends the reply to get topics; st is nil when there is no such stream.
func AppendTopics(dst []byte, st *Stream, from PartitionStats) []byte {
	if st == nil {
		return append(dst, 0, 0, 0, 0)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(st.TopicsCount()))
	return appendTopicHeaders(dst, st, from)
}

// AppendTopic appends the reply to get topic.
func AppendTopic(dst []byte, st *Stream, t *Topic, from PartitionStats) []byte {
	return appendTopicDetails(dst, st.ID, t, from)
}

func appendTopicHeaders(dst []byte, st *Stream, from PartitionStats) []byte {
	for t := range st.Topics() {
		dst = appendTopicHeader(dst, t, topicStats(from, st.ID, t))
	}
	return dst
}

func appendStreamHeader(dst []byte, st *Stream, sum Stats) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, st.ID)
	dst = binary.LittleEndian.AppendUint64(dst, st.CreatedAt)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(st.TopicsCount()))
	dst = binary.LittleEndian.AppendUint64(dst, sum.SizeBytes)
	dst = binary.LittleEndian.AppendUint64(dst, sum.MessagesCount)
	dst = protocol.AppendName(dst, st.Name)
	return append(dst, 0, 0, 0, 0) // no options
}

func appendTopicHeader(dst []byte, t *Topic, sum Stats) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, t.ID)
	dst = binary.LittleEndian.AppendUint64(dst, t.CreatedAt)
	dst = binary.LittleEndian.AppendUint32(dst, t.PartitionsCount())
	dst = binary.LittleEndian.AppendUint64(dst, t.Options.MessageExpiry())
	dst = append(dst, t.Options.Compression())
	dst = binary.LittleEndian.AppendUint64(dst, t.Options.MaxTopicSize())
	dst = binary.LittleEndian.AppendUint64(dst, sum.SizeBytes)
	dst = binary.LittleEndian.AppendUint64(dst, sum.MessagesCount)
	dst = protocol.AppendName(dst, t.Name)
	for _, explicit := range []bool{true, false} {
		at := len(dst)
		dst = t.Options.appendBlock(append(dst, 0, 0, 0, 0), explicit)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

// appendTopicDetails encodes a topic with its partitions. Without counters (nil) they are all zero, the
// number of segments included: that is how the reply to a creation looks.
func appendTopicDetails(dst []byte, stream uint32, t *Topic, from PartitionStats) []byte {
	var sum Stats
	if from != nil {
		sum = topicStats(from, stream, t)
	}
	dst = appendTopicHeader(dst, t, sum)
	for id := range t.PartitionsCount() {
		p, _ := t.Partition(id)
		var s Stats
		if from != nil {
			s = partitionStats(from, stream, t.ID, id)
		}
		dst = binary.LittleEndian.AppendUint32(dst, id)
		dst = binary.LittleEndian.AppendUint64(dst, p.CreatedAt)
		dst = binary.LittleEndian.AppendUint32(dst, s.SegmentsCount)
		dst = binary.LittleEndian.AppendUint64(dst, s.CurrentOffset)
		dst = binary.LittleEndian.AppendUint64(dst, s.SizeBytes)
		dst = binary.LittleEndian.AppendUint64(dst, s.MessagesCount)
	}
	return dst
}

// AppendUsers appends the reply to get users.
func (v *View) AppendUsers(dst []byte) []byte {
	for u := range v.Users() {
		dst = appendUserHeader(dst, u)
	}
	return dst
}

// AppendUser appends the reply to get user.
func AppendUser(dst []byte, u *User) []byte { return appendUserDetails(dst, u) }

func appendUserHeader(dst []byte, u *User) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, u.ID)
	dst = binary.LittleEndian.AppendUint64(dst, u.CreatedAt)
	dst = append(dst, byte(u.Status))
	dst = protocol.AppendName(dst, u.Name)
	return append(dst, 0, 0, 0, 0) // no options
}

// appendUserDetails encodes a user with its permissions; without a record the trailer is four zero bytes.
func appendUserDetails(dst []byte, u *User) []byte {
	dst = appendUserHeader(dst, u)
	if u.grants == nil {
		return append(dst, 0, 0, 0, 0)
	}
	at := len(dst) + 1
	dst = u.grants.append(append(dst, 1, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// AppendTokens appends the reply to get personal access tokens, for the caller's own.
func AppendTokens(dst []byte, u *User) []byte {
	for t := range u.Tokens() {
		dst = protocol.AppendName(dst, t.Name)
		dst = binary.LittleEndian.AppendUint64(dst, t.ExpiresAt)
	}
	return dst
}

// AppendGroups appends the reply to get consumer groups.
func AppendGroups(dst []byte, t *Topic) []byte {
	for g := range t.Groups() {
		dst = appendGroupHeader(dst, t, g)
	}
	return dst
}

// AppendGroup appends the reply to get consumer group. Partitions that are being handed over are shown with
// the member that gives them up.
func AppendGroup(dst []byte, t *Topic, g *ConsumerGroup) []byte {
	dst = appendGroupHeader(dst, t, g)
	for _, m := range g.Members() {
		dst = binary.LittleEndian.AppendUint32(dst, m.ID)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Owned)))
		for _, p := range m.Owned {
			dst = binary.LittleEndian.AppendUint32(dst, p)
		}
	}
	return dst
}

func appendGroupHeader(dst []byte, t *Topic, g *ConsumerGroup) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, g.ID)
	dst = binary.LittleEndian.AppendUint32(dst, t.PartitionsCount())
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.deal.Members)))
	return protocol.AppendName(dst, g.Name)
}

// AppendSync appends the reply to sync consumer group: what client may poll. It is empty when g is nil or
// client is no member.
func AppendSync(dst []byte, g *ConsumerGroup, client protocol.Uint128) []byte {
	if g == nil {
		return dst
	}
	m := g.Member(client)
	if m == nil {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, g.deal.Generation)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Owned)-len(m.Pending)))
	for _, p := range m.Owned {
		if !g.owners[p].pending {
			dst = binary.LittleEndian.AppendUint32(dst, p)
		}
	}
	return dst
}

// AnonymousUser is the user id of a connection that is not signed in.
const AnonymousUser = ^uint32(0)

// ConnectedClient is what a node knows about one of its connections.
type ConnectedClient struct {
	ID        uint32 // of the connection, on this node
	User      uint32 // AnonymousUser before sign-in
	Transport byte   // 1 TCP, 2 QUIC, 4 WebSocket
	Address   string // host:port
	// Client is the id that the connection's session is bound to; zero before sign-in.
	Client protocol.Uint128
}

// AppendClient appends a record of get clients, or with groups the reply to get me and get client.
func (v *View) AppendClient(dst []byte, c *ConnectedClient, groups bool) []byte {
	refs := v.Memberships(c.Client)
	dst = binary.LittleEndian.AppendUint32(dst, c.ID)
	dst = binary.LittleEndian.AppendUint32(dst, c.User)
	dst = append(dst, c.Transport)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.Address)))
	dst = append(dst, c.Address...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(refs)))
	if groups {
		for _, ref := range refs {
			dst = ref.append(dst)
		}
	}
	return dst
}
