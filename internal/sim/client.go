package sim

import (
	"errors"
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/vsr"
)

// client is one session that sends metadata operations, one at a time.
type client struct {
	id       protocol.Uint128
	session  uint64 // 0: not signed in
	request  uint64
	open     *change   // not answered yet
	answered []*change // the newest last, at most retried
}

// retried is the number of answered operations that a client asks for again after a crash. The server keeps five
// replies of a client, that to its sign-in among them.
const retried = 3

// change is a metadata operation of a client: it survives the node that it was sent to, because its client asks
// again until it is answered.
type change struct {
	op      protocol.Operation
	request uint64
	body    []byte
	applied func(w *World, op uint64) error // takes the success over into what clients know
	call    *call
}

func (c *client) clone() *client {
	d := *c
	d.open, d.answered = c.open.clone(), nil
	for _, ch := range c.answered {
		d.answered = append(d.answered, ch.clone())
	}
	return &d
}

func (ch *change) clone() *change {
	if ch == nil {
		return nil
	}
	d := *ch
	call := *ch.call
	d.call = &call
	return &d
}

func newClient(number uint64) *client { return &client{id: protocol.Uint128From64(number)} }

// signIn registers c, for the first time or again.
func (w *World) signIn(c *client) error {
	answer := w.submitMetadata(vsr.Request{
		Operation: protocol.OpRegister, UserID: metadata.RootUser, Client: c.id,
		Body: vsr.Body{Bytes: metadata.AppendRegister(nil, w.node.MetadataCommit())},
	})
	if !w.settle(answer.answered) {
		return w.giveUp("register")
	}
	if answer.code != protocol.Success {
		return fmt.Errorf("register: %w", answer.code)
	}
	c.session = answer.op // request numbers go on: the table remembers the highest one
	return nil
}

// begin submits a metadata operation of c. finish waits for it.
func (w *World) begin(c *client, op protocol.Operation, body []byte, applied func(*World, uint64) error) {
	c.request++
	c.open = &change{op: op, request: c.request, body: body, applied: applied}
	w.ask(c, c.open)
}

func (w *World) ask(c *client, ch *change) {
	ch.call = w.submitMetadata(vsr.Request{
		Operation: ch.op, Client: c.id, Session: c.session, Request: ch.request,
		Body: vsr.Body{Bytes: append([]byte(nil), ch.body...)},
	})
}

// finish waits for the open operation of c and takes its success over. An answer that came in time counts, even if
// the node died right after it.
func (w *World) finish(c *client) error {
	ch := c.open
	if ch == nil {
		return nil
	}
	if !w.settle(ch.call.answered) {
		return w.giveUp(ch.op.String())
	}
	return w.takeAnswer(c)
}

func (w *World) takeAnswer(c *client) error {
	ch := c.open
	if ch.call.code != protocol.Success && !w.forgotten(ch) {
		return fmt.Errorf("%s: %w", ch.op, ch.call.code)
	}
	c.open = nil
	c.answered = append(c.answered, ch)
	if len(c.answered) > retried {
		c.answered = c.answered[1:]
	}
	w.revision = max(w.revision, ch.call.op)
	if ch.applied == nil {
		return nil
	}
	return ch.applied(w, ch.call.op) // op 0: known to be applied, not where
}

// change runs one metadata operation of the first client to its end.
func (w *World) change(op protocol.Operation, body []byte, applied func(*World, uint64) error) error {
	w.begin(w.clients[0], op, body, applied)
	return w.finish(w.clients[0])
}

// errAnotherAnswer says that a repeated request was executed or answered anew.
var errAnotherAnswer = errors.New("a repeated request got another answer")

// forgotten reports that ch was answered with "already applied": a snapshot keeps one reply of a client, so that after
// a start from one the server may know that it executed a request and not what it answered.
func (w *World) forgotten(ch *change) bool {
	if ch.call.code != protocol.CodeRequestAlreadyApplied {
		return false
	}
	_, err := w.disk.Stat(path.Join(w.layout().Metadata(), snapshot.FileName))
	return err == nil
}

// askAgain has c repeat what it was last answered and what it was not: the former is answered as before, without
// being executed again, the latter is executed now if it was not before.
func (w *World) askAgain(c *client) error {
	for _, ch := range c.answered {
		op, code := ch.call.op, ch.call.code
		w.ask(c, ch)
		if !w.settle(ch.call.answered) {
			return w.giveUp("repeated " + ch.op.String())
		}
		if w.forgotten(ch) {
			ch.call.op, ch.call.code = op, code
			continue
		}
		if ch.call.op != op || ch.call.code != code || !ch.call.replayed {
			return fmt.Errorf("%s, request %d: op %d code %d at first, now op %d code %d: %w",
				ch.op, ch.request, op, code, ch.call.op, ch.call.code, errAnotherAnswer)
		}
	}
	if c.open == nil {
		return nil
	}
	if c.open.call.done { // the answer left before the crash
		return w.takeAnswer(c)
	}
	w.ask(c, c.open)
	return w.finish(c)
}
