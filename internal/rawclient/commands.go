package rawclient

import (
	"bytes"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// The wrappers below copy what they return, so that it outlives the next call. They answer the errors of
// Do, and a *protocol.DecodeError for a reply that does not decode.

// Ping asks for a sign of life. It needs no sign-in.
func (c *Conn) Ping() error {
	_, err := c.Read(protocol.CmdPing, nil)
	return err
}

// GetStream looks a stream up; false means that there is none.
func (c *Conn) GetStream(id protocol.Identifier) (command.StreamDetails, bool, error) {
	reply, err := c.Read(protocol.CmdStreamGet, id.Append(nil))
	if err != nil || len(reply.Body) == 0 {
		return command.StreamDetails{}, false, err
	}
	d, err := command.DecodeStreamDetails(bytes.Clone(reply.Body))
	return d, err == nil, err
}

// CreateStream creates a stream without topics.
func (c *Conn) CreateStream(name string) (command.StreamDetails, error) {
	body := command.CreateStream{Name: []byte(name)}.Append(nil)
	reply, err := c.Do(protocol.OpCreateStream, 0, body)
	if err != nil {
		return command.StreamDetails{}, err
	}
	return command.DecodeStreamDetails(bytes.Clone(reply.Body))
}

// DeleteStream deletes a stream with all its topics.
func (c *Conn) DeleteStream(id protocol.Identifier) error {
	_, err := c.Do(protocol.OpDeleteStream, 0, id.Append(nil))
	return err
}

// GetTopic looks a topic up; false means that the topic or its stream does not exist.
func (c *Conn) GetTopic(ref command.TopicRef) (command.TopicDetails, bool, error) {
	reply, err := c.Read(protocol.CmdTopicGet, ref.Append(nil))
	if err != nil || len(reply.Body) == 0 {
		return command.TopicDetails{}, false, err
	}
	d, err := command.DecodeTopicDetails(bytes.Clone(reply.Body))
	return d, err == nil, err
}

// CreateTopic creates a topic with a number of partitions and options.
func (c *Conn) CreateTopic(
	stream protocol.Identifier, name string, partitions uint32, options ...protocol.Pair,
) (command.TopicDetails, error) {
	body := command.CreateTopic{
		Stream: stream, PartitionsCount: partitions, Name: []byte(name), Options: command.AppendOptions(nil, options...),
	}.Append(nil)
	reply, err := c.Do(protocol.OpCreateTopic, 0, body)
	if err != nil {
		return command.TopicDetails{}, err
	}
	return command.DecodeTopicDetails(bytes.Clone(reply.Body))
}

// DeleteTopic deletes a topic with its messages.
func (c *Conn) DeleteTopic(ref command.TopicRef) error {
	_, err := c.Do(protocol.OpDeleteTopic, 0, ref.Append(nil))
	return err
}

// GetOffset reads a stored offset from the node of this connection; false means that nothing is stored.
func (c *Conn) GetOffset(ref command.OffsetRef) (command.OffsetReply, bool, error) {
	reply, err := c.Read(protocol.CmdConsumerOffsetGet, ref.Append(nil))
	if err != nil {
		return command.OffsetReply{}, false, err
	}
	return command.DecodeOffsetReply(reply.Body)
}

// StoreOffset stores an offset.
func (c *Conn) StoreOffset(ref command.OffsetRef, offset uint64, ack protocol.AckLevel) error {
	body := command.StoreOffset{OffsetRef: ref, Offset: offset, Ack: ack}.Append(nil)
	_, err := c.Do(protocol.OpStoreConsumerOffset, 0, body)
	return err
}

// DeleteOffset forgets a stored offset.
func (c *Conn) DeleteOffset(ref command.OffsetRef, ack protocol.AckLevel) error {
	_, err := c.Do(protocol.OpDeleteConsumerOffset, 0, command.DeleteOffset{OffsetRef: ref, Ack: ack}.Append(nil))
	return err
}

// CreateGroup creates a consumer group.
func (c *Conn) CreateGroup(ref command.TopicRef, name string) (command.GroupDetails, error) {
	body := command.CreateGroup{TopicRef: ref, Name: []byte(name)}.Append(nil)
	reply, err := c.Do(protocol.OpCreateConsumerGroup, 0, body)
	if err != nil {
		return command.GroupDetails{}, err
	}
	return command.DecodeGroupDetails(bytes.Clone(reply.Body))
}

// JoinGroup makes this session a member of a consumer group.
func (c *Conn) JoinGroup(ref command.GroupRef) error {
	_, err := c.Do(protocol.OpJoinConsumerGroup, 0, ref.Append(nil))
	return err
}

// LeaveGroup ends a membership.
func (c *Conn) LeaveGroup(ref command.GroupRef) error {
	_, err := c.Do(protocol.OpLeaveConsumerGroup, 0, ref.Append(nil))
	return err
}

// SyncGroup reads which partitions this member has; false means that the session is no member.
func (c *Conn) SyncGroup(ref command.GroupRef) (command.SyncReply, bool, error) {
	reply, err := c.Read(protocol.CmdConsumerGroupSync, ref.Append(nil))
	if err != nil || len(reply.Body) == 0 {
		return command.SyncReply{}, false, err
	}
	s, err := command.DecodeSyncReply(reply.Body)
	return s, err == nil, err
}

// Flush writes the committed messages of a partition out, to the device when fsync is set.
func (c *Conn) Flush(ref command.TopicRef, partition uint32, fsync bool) error {
	body := command.Flush{TopicRef: ref, Partition: partition, Fsync: fsync}.Append(nil)
	_, err := c.Read(protocol.CmdMessageFlushUnsavedBuffer, body)
	return err
}
