package protocol_test

import "github.com/galgolog/galgo/internal/protocol/command"

func createStream(body []byte) (fields, []byte, error) {
	c, err := command.DecodeCreateStream(body)
	return fields{"name": string(c.Name), "options": optionFields(c.Options)}, c.Append(nil), err
}

func updateStream(body []byte) (fields, []byte, error) {
	u, err := command.DecodeUpdateStream(body)
	return fields{"stream_id": idValue(u.Stream), "name": string(u.Name)}, u.Append(nil), err
}

func topicRef(body []byte) (fields, []byte, error) {
	r, err := command.DecodeTopicRef(body)
	return topicFields(r), r.Append(nil), err
}

func createTopic(body []byte) (fields, []byte, error) {
	c, err := command.DecodeCreateTopic(body)
	return fields{
		"stream_id": idValue(c.Stream), "partitions": c.PartitionsCount, "name": string(c.Name), "options": optionFields(c.Options),
	}, c.Append(nil), err
}

func updateTopic(body []byte) (fields, []byte, error) {
	u, err := command.DecodeUpdateTopic(body)
	f := topicFields(u.TopicRef).add(fields{"name": string(u.Name), "options": optionFields(u.Options)})
	return f, u.Append(nil), err
}

func partitionsChange(body []byte) (fields, []byte, error) {
	c, err := command.DecodePartitionsChange(body)
	return topicFields(c.TopicRef).add(fields{"count": c.Count}), c.Append(nil), err
}

func deleteSegments(body []byte) (fields, []byte, error) {
	d, err := command.DecodeDeleteSegments(body)
	return topicFields(d.TopicRef).add(fields{"partition_id": d.Partition, "count": d.Count}), d.Append(nil), err
}

func createGroup(body []byte) (fields, []byte, error) {
	c, err := command.DecodeCreateGroup(body)
	return topicFields(c.TopicRef).add(fields{"name": string(c.Name)}), c.Append(nil), err
}

func groupRef(body []byte) (fields, []byte, error) {
	g, err := command.DecodeGroupRef(body)
	return topicFields(g.TopicRef).add(fields{"group_id": idValue(g.Group)}), g.Append(nil), err
}

func offsetFields(o command.OffsetRef) fields {
	return topicFields(o.TopicRef).add(consumerFields(o.Consumer, o.Partition, o.HasPartition))
}

func offsetRef(body []byte) (fields, []byte, error) {
	o, err := command.DecodeOffsetRef(body)
	return offsetFields(o), o.Append(nil), err
}

func storeOffset(body []byte) (fields, []byte, error) {
	s, err := command.DecodeStoreOffset(body)
	return offsetFields(s.OffsetRef).add(fields{"offset": s.Offset, "ack": s.Ack}), s.Append(nil), err
}

func deleteOffset(body []byte) (fields, []byte, error) {
	d, err := command.DecodeDeleteOffset(body)
	return offsetFields(d.OffsetRef).add(fields{"ack": d.Ack}), d.Append(nil), err
}

func flush(body []byte) (fields, []byte, error) {
	f, err := command.DecodeFlush(body)
	return topicFields(f.TopicRef).add(fields{"partition_id": f.Partition, "fsync": f.Fsync}), f.Append(nil), err
}
