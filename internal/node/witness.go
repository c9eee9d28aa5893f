package node

import "github.com/galgolog/galgo/internal/protocol"

// Witness is shown what leaves a node: answers to committed operations, and what polls may see. Tests hold that
// against what the disk holds; a node in production has none, which costs one comparison.
//
// Calls come under the ownership of a shard, from several shards at once. dir is the folder of the group.
type Witness interface {
	// Answered: a client is about to learn that the operation of h is committed. body is that of the reply.
	Answered(dir string, h *protocol.PrepareHeader, body []byte)
	// Visible: polls see the offsets up to highest.
	Visible(dir string, highest uint64)
}

// groupDir is the folder of a group.
func (n *Node) groupDir(id protocol.GroupID) string {
	if id == protocol.MetadataGroup {
		return n.layout.Metadata()
	}
	return n.partitionDir(id)
}
