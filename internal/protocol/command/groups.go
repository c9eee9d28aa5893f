package command

import "github.com/galgolog/galgo/internal/protocol"

// GroupRef names a consumer group of a topic: the body of commands 600 and 603 to 606.
type GroupRef struct {
	TopicRef
	Group protocol.Identifier
}

func readGroupRef(r *protocol.Reader) GroupRef {
	return GroupRef{readTopicRef(r), r.Identifier("group")}
}

// DecodeGroupRef reads a GroupRef.
func DecodeGroupRef(body []byte) (GroupRef, error) {
	r := protocol.NewReader(body)
	g := readGroupRef(&r)
	return g, r.Err()
}

// Append encodes g.
func (g GroupRef) Append(dst []byte) []byte { return g.Group.Append(g.TopicRef.Append(dst)) }

// CreateGroup is the body of command 602.
type CreateGroup struct {
	TopicRef
	Name []byte
}

// DecodeCreateGroup reads a CreateGroup.
func DecodeCreateGroup(body []byte) (CreateGroup, error) {
	r := protocol.NewReader(body)
	c := CreateGroup{readTopicRef(&r), r.Name("name")}
	return c, r.Err()
}

// Append encodes c.
func (c CreateGroup) Append(dst []byte) []byte {
	return protocol.AppendName(c.TopicRef.Append(dst), c.Name)
}

// JoinGroup is the replicated form of command 604: the client, and the partitions of the topic that were
// polled for the group and not committed when the request came in.
type JoinGroup struct {
	GroupRef
	Client   protocol.Uint128
	InFlight []uint32
}

// DecodeJoinGroup reads a JoinGroup.
func DecodeJoinGroup(body []byte) (JoinGroup, error) {
	r := protocol.NewReader(body)
	j := JoinGroup{GroupRef: readGroupRef(&r), Client: r.U128("client")}
	n := r.U32("count")
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		j.InFlight = append(j.InFlight, r.U32("partition"))
	}
	r.End()
	return j, r.Err()
}

// Append encodes j.
func (j JoinGroup) Append(dst []byte) []byte {
	dst = appendUint128(j.GroupRef.Append(dst), j.Client)
	dst = le.AppendUint32(dst, uint32(len(j.InFlight)))
	for _, p := range j.InFlight {
		dst = le.AppendUint32(dst, p)
	}
	return dst
}

// LeaveGroup is the replicated form of command 605.
type LeaveGroup struct {
	GroupRef
	Client protocol.Uint128
}

// DecodeLeaveGroup reads a LeaveGroup.
func DecodeLeaveGroup(body []byte) (LeaveGroup, error) {
	r := protocol.NewReader(body)
	l := LeaveGroup{readGroupRef(&r), r.U128("client")}
	r.End()
	return l, r.Err()
}

// Append encodes l.
func (l LeaveGroup) Append(dst []byte) []byte { return appendUint128(l.GroupRef.Append(dst), l.Client) }

func appendUint128(dst []byte, v protocol.Uint128) []byte {
	return le.AppendUint64(le.AppendUint64(dst, v.Lo), v.Hi)
}

// GroupHeader describes a consumer group in replies.
type GroupHeader struct {
	ID              uint32
	PartitionsCount uint32
	MembersCount    uint32
	Name            []byte
}

// Append encodes g.
func (g GroupHeader) Append(dst []byte) []byte {
	dst = le.AppendUint32(le.AppendUint32(le.AppendUint32(dst, g.ID), g.PartitionsCount), g.MembersCount)
	return protocol.AppendName(dst, g.Name)
}

func readGroupHeader(r *protocol.Reader) GroupHeader {
	return GroupHeader{r.U32("id"), r.U32("partitions"), r.U32("members"), r.Name("name")}
}

// GroupMember is one member and the partitions it has.
type GroupMember struct {
	ID         uint32
	Partitions []uint32
}

// Append encodes m.
func (m GroupMember) Append(dst []byte) []byte {
	dst = le.AppendUint32(le.AppendUint32(dst, m.ID), uint32(len(m.Partitions)))
	for _, p := range m.Partitions {
		dst = le.AppendUint32(dst, p)
	}
	return dst
}

// GroupDetails is a consumer group with its members.
type GroupDetails struct {
	GroupHeader
	Members []GroupMember
}

// Append encodes d, whose MembersCount is the number of Members.
func (d GroupDetails) Append(dst []byte) []byte {
	dst = d.GroupHeader.Append(dst)
	for _, m := range d.Members {
		dst = m.Append(dst)
	}
	return dst
}

// DecodeGroupDetails reads the reply to get and create group.
func DecodeGroupDetails(payload []byte) (GroupDetails, error) {
	r := protocol.NewReader(payload)
	d := GroupDetails{GroupHeader: readGroupHeader(&r)}
	for i := uint32(0); i < d.MembersCount && r.Err() == nil; i++ {
		m := GroupMember{ID: r.U32("member")}
		n := r.U32("partitions")
		for j := uint32(0); j < n && r.Err() == nil; j++ {
			m.Partitions = append(m.Partitions, r.U32("partition"))
		}
		d.Members = append(d.Members, m)
	}
	return d, r.Err()
}

// DecodeGroups reads the reply to get groups.
func DecodeGroups(payload []byte) ([]GroupHeader, error) {
	r := protocol.NewReader(payload)
	var all []GroupHeader
	for r.Len() > 0 && r.Err() == nil {
		all = append(all, readGroupHeader(&r))
	}
	return all, r.Err()
}

// SyncReply is the payload of command 606 for a member.
type SyncReply struct {
	Generation uint64
	Partitions []uint32
}

// Append encodes s.
func (s SyncReply) Append(dst []byte) []byte {
	dst = le.AppendUint32(le.AppendUint64(dst, s.Generation), uint32(len(s.Partitions)))
	for _, p := range s.Partitions {
		dst = le.AppendUint32(dst, p)
	}
	return dst
}

// DecodeSyncReply reads a SyncReply.
func DecodeSyncReply(payload []byte) (SyncReply, error) {
	r := protocol.NewReader(payload)
	s := SyncReply{Generation: r.U64("generation")}
	n := r.U32("count")
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		s.Partitions = append(s.Partitions, r.U32("partition"))
	}
	return s, r.Err()
}
