package inspect

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/units"
	"github.com/galgolog/galgo/internal/vfs"
)

// Overview is what a data directory holds, as the next start would find it.
type Overview struct {
	Data         string           `json:"data"`
	Cluster      string           `json:"cluster"`
	Replica      uint8            `json:"replica"`
	Replicas     uint8            `json:"replicas"`
	View         uint32           `json:"view"`
	LogView      uint32           `json:"log_view"`
	MetadataOp   uint64           `json:"metadata_op"`
	CheckpointOp uint64           `json:"checkpoint_op"`
	JournalOps   int              `json:"journal_ops"`
	JournalBytes int64            `json:"journal_bytes"`
	Sessions     int              `json:"sessions"`
	Users        int              `json:"users"`
	Streams      []StreamOverview `json:"streams"`
	// Problems are why something cannot be shown; verify has the details.
	Problems []Finding `json:"problems"`
}

// StreamOverview is one stream.
type StreamOverview struct {
	ID     uint32          `json:"id"`
	Name   string          `json:"name"`
	Topics []TopicOverview `json:"topics"`
}

// TopicOverview is one topic.
type TopicOverview struct {
	ID            uint32              `json:"id"`
	Name          string              `json:"name"`
	Promise       string              `json:"promise"`       // "written" or "synced"
	PromiseWords  string              `json:"promise_words"` // the same in a sentence
	SegmentSize   uint64              `json:"segment_size"`
	MessageExpiry string              `json:"message_expiry"`
	MaxTopicSize  string              `json:"max_topic_size"`
	Groups        []GroupOverview     `json:"consumer_groups"`
	Partitions    []PartitionOverview `json:"partitions"`
}

// GroupOverview is one consumer group.
type GroupOverview struct {
	ID      uint32 `json:"id"`
	Name    string `json:"name"`
	Members int    `json:"members"`
}

// PartitionOverview is one partition.
type PartitionOverview struct {
	ID              uint32 `json:"id"`
	CreatedRevision uint64 `json:"created_revision"`
	PurgeGeneration uint64 `json:"purge_generation"`
	InUse           bool   `json:"in_use"` // it has a directory
	Segments        int    `json:"segments"`
	Bytes           int64  `json:"bytes"` // of its logs
	FirstOffset     uint64 `json:"first_offset"`
	NextOffset      uint64 `json:"next_offset"` // that the next message would get
	OffsetFrontier  uint64 `json:"offset_frontier"`
	OffsetReserved  uint64 `json:"offset_reserved"`
	Consumers       int    `json:"stored_consumer_offsets"`
	Groups          int    `json:"stored_group_offsets"`
	Problem         string `json:"problem,omitempty"`
}

// Survey gathers what a data directory holds. It reads the ends of the logs only, and changes nothing.
func Survey(o Options) (*Overview, error) {
	info, err := o.FS.Stat(o.Layout.Path())
	if err == nil && !info.IsDir {
		err = fmt.Errorf("%s is no directory", o.Layout.Path())
	}
	if err != nil {
		return nil, fmt.Errorf("inspect data directory: %w", err)
	}
	var found findings
	g := loadGroup(&o, &found)
	ov := &Overview{
		Data: o.Layout.Path(), Cluster: g.Cluster.String(), Replica: g.Replica, Replicas: g.Replicas,
		Streams: []StreamOverview{}, Problems: []Finding{},
	}
	for _, f := range found.sorted() {
		if f.Severity > Note {
			ov.Problems = append(ov.Problems, f)
		}
	}
	if r := g.rehearsal; r != nil {
		ov.View, ov.LogView, ov.CheckpointOp = r.Superblock.View, r.Superblock.LogView, r.Superblock.CheckpointOp
		ov.JournalOps, ov.JournalBytes, ov.Sessions = r.JournalOps, r.JournalBytes, r.Sessions
	}
	ov.MetadataOp, ov.Users = g.view().Revision, g.view().UsersCount()
	ov.Streams = streamsOf(g.view(), func(stream, topic, part uint32, p *PartitionOverview) { surveyPartition(&o, g, stream, topic, part, p) })
	return ov, nil
}

// streamsOf lists what the metadata knows; look fills in what is on the disk.
func streamsOf(view *metadata.View, look func(stream, topic, part uint32, p *PartitionOverview)) []StreamOverview {
	streams := []StreamOverview{}
	for s := range view.Streams() {
		so := StreamOverview{ID: s.ID, Name: s.Name, Topics: []TopicOverview{}}
		for t := range s.Topics() {
			to := topicOverview(t)
			for id := range t.PartitionsCount() {
				p, _ := t.Partition(id)
				po := PartitionOverview{ID: id, CreatedRevision: p.CreatedRevision, PurgeGeneration: p.PurgeGeneration}
				look(s.ID, t.ID, id, &po)
				to.Partitions = append(to.Partitions, po)
			}
			so.Topics = append(so.Topics, to)
		}
		streams = append(streams, so)
	}
	return streams
}

func topicOverview(t *metadata.Topic) TopicOverview {
	promise := t.Options.Promise()
	to := TopicOverview{
		ID: t.ID, Name: t.Name, Promise: promise.String(), PromiseWords: promise.Words(), SegmentSize: t.Options.SegmentSize(),
		MessageExpiry: "never", MaxTopicSize: "unlimited", Groups: []GroupOverview{}, Partitions: []PartitionOverview{},
	}
	if expiry := t.Options.MessageExpiry(); expiry != metadata.Unlimited {
		to.MessageExpiry = units.FormatDuration(time.Duration(min(expiry, 1<<53)) * time.Microsecond)
	}
	if limit := t.Options.MaxTopicSize(); limit != metadata.Unlimited {
		to.MaxTopicSize = size(int64(min(limit, 1<<62)))
	}
	for g := range t.Groups() {
		to.Groups = append(to.Groups, GroupOverview{g.ID, g.Name, len(g.Members())})
	}
	return to
}

// surveyPartition looks at the directory of one partition.
func surveyPartition(o *Options, g *group, stream, topic, part uint32, p *PartitionOverview) {
	dir := o.Layout.Partition(stream, topic, part)
	names, err := o.FS.ReadDir(dir)
	if isMissing(err) {
		return
	}
	p.InUse = true
	if err != nil {
		p.Problem = err.Error()
		return
	}
	for _, name := range names {
		kind, start := segment.KindOf(name)
		if kind != segment.LogFile {
			continue
		}
		if p.Segments++; p.Segments == 1 {
			p.FirstOffset = start
		}
		if info, err := o.FS.Stat(path.Join(dir, name)); err == nil {
			p.Bytes += info.SizeBytes
		}
	}
	p.Consumers, p.Groups = countOffsets(o.FS, dir, segment.ConsumerOffset), countOffsets(o.FS, dir, segment.GroupOffset)
	id, err := protocol.PartitionGroup(stream, topic, part)
	if err != nil {
		p.Problem = err.Error()
		return
	}
	if g.start == nil {
		return
	}
	r, err := g.start.Partition(id)
	var fence *node.FenceError
	switch {
	case errors.As(err, &fence):
		p.Problem = strings.TrimPrefix(fence.Reason.Error(), dir+": ")
	case err != nil:
		p.Problem = err.Error()
	default:
		p.NextOffset, p.OffsetFrontier, p.OffsetReserved = r.NextOffset, r.Superblock.OffsetFrontier, r.Superblock.OffsetReserved
	}
}

func countOffsets(fsys vfs.FS, dir string, kind segment.OffsetKind) int {
	stored, err := segment.LoadOffsets(fsys, dir, kind)
	if err != nil {
		return 0 // verify tells why
	}
	return len(stored)
}
