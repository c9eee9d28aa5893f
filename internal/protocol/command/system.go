package command

import (
	"math"

	"github.com/galgolog/galgo/internal/protocol"
)

// Stats is the reply to command 10.
type Stats struct {
	ProcessID                              uint32
	CPUUsage, TotalCPUUsage                float32 // percent
	MemoryUsage, TotalMemory, Available    uint64  // bytes
	RunTime, StartTime                     uint64  // microseconds
	ReadBytes, WrittenBytes, MessagesBytes uint64
	Streams, Topics, Partitions, Segments  uint32
	Messages                               uint64
	Clients, Groups                        uint32
	Hostname, OSName, OSVersion, Kernel    string
	ServerVersion                          string
	ServerVersionNumber                    uint32
	Threads                                uint32
	FreeDisk, TotalDisk                    uint64 // bytes of the volume of the data directory
}

// Append encodes s behind dst; the list of cache metrics is empty.
func (s *Stats) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, s.ProcessID)
	dst = le.AppendUint32(dst, math.Float32bits(s.CPUUsage))
	dst = le.AppendUint32(dst, math.Float32bits(s.TotalCPUUsage))
	for _, v := range []uint64{
		s.MemoryUsage, s.TotalMemory, s.Available, s.RunTime, s.StartTime, s.ReadBytes, s.WrittenBytes, s.MessagesBytes,
	} {
		dst = le.AppendUint64(dst, v)
	}
	for _, v := range []uint32{s.Streams, s.Topics, s.Partitions, s.Segments} {
		dst = le.AppendUint32(dst, v)
	}
	dst = le.AppendUint64(dst, s.Messages)
	dst = le.AppendUint32(le.AppendUint32(dst, s.Clients), s.Groups)
	for _, v := range []string{s.Hostname, s.OSName, s.OSVersion, s.Kernel, s.ServerVersion} {
		dst = protocol.AppendText32(dst, v)
	}
	dst = le.AppendUint32(le.AppendUint32(dst, s.ServerVersionNumber), 0)
	dst = le.AppendUint32(dst, s.Threads)
	return le.AppendUint64(le.AppendUint64(dst, s.FreeDisk), s.TotalDisk)
}

// DecodeStats reads a Stats. Cache metrics are skipped.
func DecodeStats(payload []byte) (Stats, error) {
	r := protocol.NewReader(payload)
	s := Stats{ProcessID: r.U32("pid")}
	s.CPUUsage, s.TotalCPUUsage = math.Float32frombits(r.U32("cpu")), math.Float32frombits(r.U32("total cpu"))
	for _, p := range []*uint64{
		&s.MemoryUsage, &s.TotalMemory, &s.Available, &s.RunTime, &s.StartTime, &s.ReadBytes, &s.WrittenBytes, &s.MessagesBytes,
	} {
		*p = r.U64("stats")
	}
	for _, p := range []*uint32{&s.Streams, &s.Topics, &s.Partitions, &s.Segments} {
		*p = r.U32("stats")
	}
	s.Messages = r.U64("messages")
	s.Clients, s.Groups = r.U32("clients"), r.U32("groups")
	for _, p := range []*string{&s.Hostname, &s.OSName, &s.OSVersion, &s.Kernel, &s.ServerVersion} {
		*p = string(r.Text32("text"))
	}
	s.ServerVersionNumber = r.U32("version")
	if n := r.U32("cache metrics"); uint64(n)*32 <= uint64(r.Len()) {
		r.Bytes(int(n)*32, "cache metrics")
	} else {
		r.Fail("cache metrics")
	}
	s.Threads, s.FreeDisk, s.TotalDisk = r.U32("threads"), r.U64("free disk"), r.U64("total disk")
	return s, r.Err()
}

// Compressions of a diagnostic archive; no other value decodes.
const (
	SnapshotStored   uint8 = 1
	SnapshotDeflated uint8 = 2
	SnapshotBzip2    uint8 = 3
	SnapshotZstd     uint8 = 4
	SnapshotLZMA     uint8 = 5
	SnapshotXZ       uint8 = 6
)

// Sections of a diagnostic archive; no other value decodes. SectionAll stands for all but SectionTest and
// must be alone.
const (
	SectionFilesystem uint8 = 1
	SectionProcesses  uint8 = 2
	SectionResources  uint8 = 3
	SectionTest       uint8 = 4
	SectionLogs       uint8 = 5
	SectionConfig     uint8 = 6
	SectionAll        uint8 = 100
)

// Snapshot is the body of command 11: which sections of a diagnostic archive to make, compressed how. No
// section makes an empty archive; one that comes twice is made twice.
type Snapshot struct {
	Compression uint8
	Sections    []byte
}

// DecodeSnapshot reads a Snapshot. Sections aliases body.
func DecodeSnapshot(body []byte) (Snapshot, error) {
	r := protocol.NewReader(body)
	s := Snapshot{Compression: r.U8("compression")}
	s.Sections = r.Bytes(int(r.U8("sections")), "sections")
	if s.Compression < SnapshotStored || s.Compression > SnapshotXZ {
		r.Fail("compression")
	}
	for _, section := range s.Sections {
		known := section >= SectionFilesystem && section <= SectionConfig || section == SectionAll && len(s.Sections) == 1
		if !known {
			r.Fail("section")
		}
	}
	return s, r.Err()
}

// Append encodes s.
func (s Snapshot) Append(dst []byte) []byte {
	return append(append(dst, s.Compression, byte(len(s.Sections))), s.Sections...)
}

// ClusterNode is one node of the roster.
type ClusterNode struct {
	Name, Host                 string
	TCP, QUIC, HTTP, WebSocket uint16 // 0 = not served
	Role                       uint8  // 0 leader, 1 follower
	Status                     uint8  // 0 healthy, 1 starting, 2 stopping, 3 unreachable, 4 maintenance
}

// ClusterMetadata is the reply to command 12.
type ClusterMetadata struct {
	Name  string
	Nodes []ClusterNode
}

// Append encodes c.
func (c ClusterMetadata) Append(dst []byte) []byte {
	dst = le.AppendUint32(protocol.AppendText32(dst, c.Name), uint32(len(c.Nodes)))
	for _, n := range c.Nodes {
		dst = protocol.AppendText32(protocol.AppendText32(dst, n.Name), n.Host)
		for _, port := range []uint16{n.TCP, n.QUIC, n.HTTP, n.WebSocket} {
			dst = le.AppendUint16(dst, port)
		}
		dst = append(dst, n.Role, n.Status)
	}
	return dst
}

// DecodeClusterMetadata reads a ClusterMetadata.
func DecodeClusterMetadata(payload []byte) (ClusterMetadata, error) {
	r := protocol.NewReader(payload)
	c := ClusterMetadata{Name: string(r.Text32("name"))}
	count := r.U32("count")
	for i := uint32(0); i < count && r.Err() == nil; i++ {
		c.Nodes = append(c.Nodes, ClusterNode{
			string(r.Text32("node")), string(r.Text32("host")), r.U16("tcp"), r.U16("quic"), r.U16("http"),
			r.U16("websocket"), r.U8("role"), r.U8("status"),
		})
	}
	return c, r.Err()
}

// Transports of a client record.
const (
	TransportTCP       uint8 = 1
	TransportQUIC      uint8 = 2
	TransportWebSocket uint8 = 4
)

// NoUser stands for the user of a connection that has not signed in.
const NoUser = ^uint32(0)

// ClientRecord describes a connection in replies to commands 20 to 22.
type ClientRecord struct {
	ID, User  uint32
	Transport uint8
	Address   string
	Groups    []ClientGroup
	// GroupsCount is the number of groups, also where they are not listed.
	GroupsCount uint32
}

// ClientGroup is a membership of a client.
type ClientGroup struct{ Stream, Topic, Group uint32 }

// AppendHeader encodes c without its groups, as command 22 lists it.
func (c ClientRecord) AppendHeader(dst []byte) []byte {
	dst = append(le.AppendUint32(le.AppendUint32(dst, c.ID), c.User), c.Transport)
	return le.AppendUint32(protocol.AppendText32(dst, c.Address), c.GroupsCount)
}

// Append encodes c with its groups, whose number GroupsCount is.
func (c ClientRecord) Append(dst []byte) []byte {
	dst = c.AppendHeader(dst)
	for _, g := range c.Groups {
		dst = le.AppendUint32(le.AppendUint32(le.AppendUint32(dst, g.Stream), g.Topic), g.Group)
	}
	return dst
}

func readClient(r *protocol.Reader) ClientRecord {
	return ClientRecord{
		ID: r.U32("client"), User: r.U32("user"), Transport: r.U8("transport"), Address: string(r.Text32("address")),
		GroupsCount: r.U32("groups"),
	}
}

// DecodeClient reads the reply to commands 20 and 21.
func DecodeClient(payload []byte) (ClientRecord, error) {
	r := protocol.NewReader(payload)
	c := readClient(&r)
	for i := uint32(0); i < c.GroupsCount && r.Err() == nil; i++ {
		c.Groups = append(c.Groups, ClientGroup{r.U32("stream"), r.U32("topic"), r.U32("group")})
	}
	return c, r.Err()
}

// DecodeClients reads the reply to command 22.
func DecodeClients(payload []byte) ([]ClientRecord, error) {
	r := protocol.NewReader(payload)
	var all []ClientRecord
	for r.Len() > 0 && r.Err() == nil {
		all = append(all, readClient(&r))
	}
	return all, r.Err()
}

// Scopes of command 13.
const (
	ScopeTopic  uint8 = 1
	ScopeStream uint8 = 2
	ScopeUser   uint8 = 3
)

// OptionDescription is one entry of the reply to command 13.
type OptionDescription struct {
	Key         string
	Kind        uint8
	Default     []byte
	Description string
}

// AppendOptionDescriptions encodes the reply to command 13.
func AppendOptionDescriptions(dst []byte, all []OptionDescription) []byte {
	dst = le.AppendUint32(dst, uint32(len(all)))
	for _, o := range all {
		dst = append(protocol.AppendName(dst, o.Key), o.Kind)
		dst = protocol.AppendText32(protocol.AppendText32(dst, o.Default), o.Description)
	}
	return dst
}

// DecodeOptionDescriptions reads the reply to command 13.
func DecodeOptionDescriptions(payload []byte) ([]OptionDescription, error) {
	r := protocol.NewReader(payload)
	n := r.U32("count")
	var all []OptionDescription
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		all = append(all, OptionDescription{
			string(r.Name("key")), r.U8("kind"), r.Text32Raw("default"), string(r.Text32("description")),
		})
	}
	return all, r.Err()
}

// DecodeU32 reads the body of command 21.
func DecodeU32(body []byte) (uint32, error) {
	r := protocol.NewReader(body)
	v := r.U32("id")
	return v, r.Err()
}

// DecodeU8 reads the body of command 13, which is one of the scopes.
func DecodeU8(body []byte) (uint8, error) {
	r := protocol.NewReader(body)
	v := r.U8("scope")
	if v < ScopeTopic || v > ScopeUser {
		r.Fail("scope")
	}
	return v, r.Err()
}

// AppendU32 encodes the body of command 21.
func AppendU32(dst []byte, v uint32) []byte { return le.AppendUint32(dst, v) }
