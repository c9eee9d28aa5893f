package command

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Assignment places a partition of a replicated create operation: its id (absolute for a new topic, counted
// from the end for new partitions of an existing one) and the consensus group that holds it.
type Assignment struct {
	Partition uint32
	Group     uint64
}

// CreateTopicReplicated is the replicated form of CreateTopic (operation 64).
type CreateTopicReplicated struct {
	CreateTopic
	Derived     []byte // options that the client did not name, resolved
	Assignments []Assignment
}

// DecodeCreateTopicReplicated reads a CreateTopicReplicated.
func DecodeCreateTopicReplicated(body []byte) (CreateTopicReplicated, error) {
	r := protocol.NewReader(body)
	var c CreateTopicReplicated
	request := r.Text32Raw("request")
	if r.Err() != nil {
		return c, r.Err()
	}
	var err error
	if c.CreateTopic, err = DecodeCreateTopic(request); err != nil {
		return c, fmt.Errorf("request of a replicated create topic: %w", err)
	}
	if c.Derived = r.Text32Raw("derived options"); !validOptions(c.Derived) {
		r.Fail("derived options")
	}
	c.Assignments = readAssignments(&r)
	r.End()
	return c, r.Err()
}

// Append encodes c.
func (c CreateTopicReplicated) Append(dst []byte) []byte {
	dst = protocol.AppendText32(dst, c.CreateTopic.Append(nil))
	return appendAssignments(protocol.AppendText32(dst, c.Derived), c.Assignments)
}

// CreatePartitionsReplicated is the replicated form of a create of partitions (operation 65).
type CreatePartitionsReplicated struct {
	PartitionsChange
	Assignments []Assignment
}

// DecodeCreatePartitionsReplicated reads a CreatePartitionsReplicated.
func DecodeCreatePartitionsReplicated(body []byte) (CreatePartitionsReplicated, error) {
	r := protocol.NewReader(body)
	var c CreatePartitionsReplicated
	request := r.Text32Raw("request")
	if r.Err() != nil {
		return c, r.Err()
	}
	var err error
	if c.PartitionsChange, err = DecodePartitionsChange(request); err != nil {
		return c, fmt.Errorf("request of a replicated create partitions: %w", err)
	}
	c.Assignments = readAssignments(&r)
	r.End()
	return c, r.Err()
}

// Append encodes c.
func (c CreatePartitionsReplicated) Append(dst []byte) []byte {
	return appendAssignments(protocol.AppendText32(dst, c.PartitionsChange.Append(nil)), c.Assignments)
}

func readAssignments(r *protocol.Reader) []Assignment {
	n := r.U32("assignments")
	var all []Assignment
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		all = append(all, Assignment{r.U32("partition"), r.U64("group")})
	}
	return all
}

func appendAssignments(dst []byte, all []Assignment) []byte {
	dst = le.AppendUint32(dst, uint32(len(all)))
	for _, a := range all {
		dst = le.AppendUint64(le.AppendUint32(dst, a.Partition), a.Group)
	}
	return dst
}
