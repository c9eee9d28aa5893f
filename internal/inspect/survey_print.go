package inspect

import "io"

// Print writes the overview for people.
func (ov *Overview) Print(w io.Writer) error {
	p := &printer{w: w}
	p.line("data directory   %s", ov.Data)
	p.line("cluster          %s, replica %d of %d", ov.Cluster, ov.Replica, ov.Replicas)
	p.line("metadata         op %d, view %d, log view %d, checkpoint at op %d", ov.MetadataOp, ov.View, ov.LogView, ov.CheckpointOp)
	p.line("journal          %s, %s", many(ov.JournalOps, "operation"), size(ov.JournalBytes))
	p.line("users, sessions  %d, %d", ov.Users, ov.Sessions)
	printStreams(p, ov.Streams)
	if len(ov.Problems) > 0 {
		p.line("")
	}
	for i := range ov.Problems {
		ov.Problems[i].print(p)
	}
	return p.err
}

func printStreams(p *printer, streams []StreamOverview) {
	for i := range streams {
		s := &streams[i]
		p.line("\nstream %d %q", s.ID, s.Name)
		for j := range s.Topics {
			s.Topics[j].print(p)
		}
	}
}

func (t *TopicOverview) print(p *printer) {
	p.line("  topic %d %q: %s", t.ID, t.Name, t.PromiseWords)
	p.line("    segments of %s, expiry %s, size limit %s", size(int64(t.SegmentSize)), t.MessageExpiry, t.MaxTopicSize)
	for _, g := range t.Groups {
		p.line("    group %d %q, %s", g.ID, g.Name, many(g.Members, "member"))
	}
	for i := range t.Partitions {
		t.Partitions[i].print(p)
	}
}

func (po *PartitionOverview) print(p *printer) {
	switch {
	case !po.InUse:
		p.line("    partition %d: never used", po.ID)
	case po.Problem != "":
		p.line("    partition %d: %s, %s; will be fenced: %s", po.ID, many(po.Segments, "segment"), size(po.Bytes), po.Problem)
	default:
		p.line("    partition %d: %s, %s, offsets %d..%d, reserved up to %d, purges %d, stored offsets of %s and %s", po.ID,
			many(po.Segments, "segment"), size(po.Bytes), po.FirstOffset, po.NextOffset, po.OffsetReserved, po.PurgeGeneration,
			many(po.Consumers, "consumer"), many(po.Groups, "group"))
	}
}
