package metadata

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/galgolog/galgo/internal/protocol/command"
)

// Flags of a permission record, in the order of the wire: bit n is the n-th byte of its level.
const (
	globalManageServers uint16 = 1 << iota
	globalReadServers
	globalManageUsers
	globalReadUsers
	globalManageStreams
	globalReadStreams
	globalManageTopics
	globalReadTopics
	globalPollMessages
	globalSendMessages
	globalAll uint16 = 1<<iota - 1
)

const (
	streamManageStream uint16 = 1 << iota
	streamReadStream
	streamManageTopics
	streamReadTopics
	streamPollMessages
	streamSendMessages
)

const (
	topicManageTopic uint16 = 1 << iota
	topicReadTopic
	topicPollMessages
	topicSendMessages
)

const (
	globalFlags = 10
	streamFlags = 6
	topicFlags  = 4
)

// Grants is an immutable permission record: what a user may do everywhere, in single streams and in single
// topics. A grant at any level is enough, nothing denies.
type Grants struct {
	global  uint16
	streams []streamGrants // ascending by id
}

type streamGrants struct {
	id     uint32
	flags  uint16
	topics []topicGrants // ascending by id
}

type topicGrants struct {
	id    uint32
	flags uint16
}

func (s streamGrants) compare(id uint32) int { return cmp.Compare(s.id, id) }
func (t topicGrants) compare(id uint32) int  { return cmp.Compare(t.id, id) }

// on returns the flags that apply to a stream and to a topic in it.
func (g *Grants) on(stream, topic uint32) (global, inStream, inTopic uint16) {
	i, ok := slices.BinarySearchFunc(g.streams, stream, streamGrants.compare)
	if !ok {
		return g.global, 0, 0
	}
	s := &g.streams[i]
	if j, ok := slices.BinarySearchFunc(s.topics, topic, topicGrants.compare); ok {
		inTopic = s.topics[j].flags
	}
	return g.global, s.flags, inTopic
}

// withoutStream returns the record without grants for the stream; g itself when there are none.
func (g *Grants) withoutStream(stream uint32) *Grants {
	i, ok := slices.BinarySearchFunc(g.streams, stream, streamGrants.compare)
	if !ok {
		return g
	}
	return &Grants{g.global, slices.Delete(slices.Clone(g.streams), i, i+1)}
}

// withoutTopic returns the record without grants for the topic; g itself when there are none.
func (g *Grants) withoutTopic(stream, topic uint32) *Grants {
	i, ok := slices.BinarySearchFunc(g.streams, stream, streamGrants.compare)
	if !ok {
		return g
	}
	s := g.streams[i]
	j, ok := slices.BinarySearchFunc(s.topics, topic, topicGrants.compare)
	if !ok {
		return g
	}
	s.topics = slices.Delete(slices.Clone(s.topics), j, j+1)
	streams := slices.Clone(g.streams)
	streams[i] = s
	return &Grants{g.global, streams}
}

// grantsOf makes a record of what a request holds; nil stays nil. Of what is named twice the last counts.
func grantsOf(p *command.Permissions) *Grants {
	if p == nil {
		return nil
	}
	f := &p.Global
	g := &Grants{global: flags(f.ManageServers, f.ReadServers, f.ManageUsers, f.ReadUsers, f.ManageStreams,
		f.ReadStreams, f.ManageTopics, f.ReadTopics, f.PollMessages, f.SendMessages)}
	for i := range p.Streams {
		f := &p.Streams[i]
		s := streamGrants{id: f.Stream, flags: flags(f.ManageStream, f.ReadStream, f.ManageTopics, f.ReadTopics,
			f.PollMessages, f.SendMessages)}
		for j := range f.Topics {
			f := &f.Topics[j]
			s.topics = append(s.topics, topicGrants{f.Topic, flags(f.ManageTopic, f.ReadTopic, f.PollMessages, f.SendMessages)})
		}
		s.topics = lastOfEach(s.topics, func(t topicGrants) uint32 { return t.id })
		g.streams = append(g.streams, s)
	}
	g.streams = lastOfEach(g.streams, func(s streamGrants) uint32 { return s.id })
	return g
}

// lastOfEach sorts by id and keeps the last of those with one id.
func lastOfEach[T any](all []T, id func(T) uint32) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	kept := all[:0]
	for i, x := range all {
		if i+1 == len(all) || id(all[i+1]) != id(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func flags(set ...bool) (mask uint16) {
	for i, on := range set {
		mask |= uint16(flag(on)) << i
	}
	return mask
}

// append encodes the record as permissions travel: flags as bytes 0 and 1, ids ascending.
func (g *Grants) append(dst []byte) []byte {
	dst = appendFlags(dst, g.global, globalFlags)
	dst = append(dst, flag(len(g.streams) > 0))
	for i, s := range g.streams {
		dst = binary.LittleEndian.AppendUint32(dst, s.id)
		dst = appendFlags(dst, s.flags, streamFlags)
		dst = append(dst, flag(len(s.topics) > 0))
		for j, t := range s.topics {
			dst = binary.LittleEndian.AppendUint32(dst, t.id)
			dst = appendFlags(dst, t.flags, topicFlags)
			dst = append(dst, flag(j+1 < len(s.topics)))
		}
		dst = append(dst, flag(i+1 < len(g.streams)))
	}
	return dst
}

func appendFlags(dst []byte, flags uint16, n int) []byte {
	for i := range n {
		dst = append(dst, byte(flags>>i&1))
	}
	return dst
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
