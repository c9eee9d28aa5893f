package rawclient

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// PollReply is the answer to a poll. Records are the batch records back to back, as stored; they alias the
// receive buffer of the Conn and live until its next call that receives.
type PollReply struct {
	command.PollReply
	Records []byte
}

// Resync reports whether the answer tells a group member to sync before it polls again.
func (p PollReply) Resync() bool { return p.Partition == command.ResyncPartition && p.Count == 0 }

// valueFromEnd is how far the value of the strategy is from the end of the body of a poll: itself, the
// count and the auto-commit flag.
const valueFromEnd = 8 + 4 + 1

// PollFrame is a poll request that is made once and sent often, with another start each time. It belongs
// to one goroutine.
type PollFrame struct {
	frame []byte
	value []byte // of the strategy, inside frame
}

// NewPollFrame makes the frame of a poll.
func (c *Conn) NewPollFrame(p command.PollMessages) *PollFrame {
	body := p.Append(nil)
	f := &PollFrame{frame: c.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdMessagePoll, body)}
	at := len(f.frame) - valueFromEnd
	f.value = f.frame[at : at+8]
	return f
}

// SetOffset changes the value of the strategy: an offset, or microseconds.
func (p *PollFrame) SetOffset(v uint64) { binary.LittleEndian.PutUint64(p.value, v) }

// PollFrame sends a prebuilt poll and waits for its answer. It allocates nothing unless it fails, once the
// receive buffer has grown to the size of the answers.
func (c *Conn) PollFrame(p *PollFrame) (PollReply, error) {
	c.stamp(p.frame)
	reply, err := c.Exchange(p.frame)
	if err != nil {
		return PollReply{}, err
	}
	return readPoll(reply)
}

// Poll sends a poll and waits for its answer.
func (c *Conn) Poll(p command.PollMessages) (PollReply, error) {
	reply, err := c.Read(protocol.CmdMessagePoll, p.Append(nil))
	if err != nil {
		return PollReply{}, err
	}
	return readPoll(reply)
}

func readPoll(reply Reply) (PollReply, error) {
	head, records, err := command.DecodePollReply(reply.Body)
	return PollReply{head, records}, err
}
