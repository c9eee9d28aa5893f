package node

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vsr"
)

// numberedSend is a send of one message, whose id is the number that the client gave it.
func numberedSend(t testing.TB, id protocol.GroupID, rev, client, number uint64) Work {
	return Work{Group: id, Revision: rev, Messages: 1, Request: vsr.Request{
		Client: protocol.Uint128From64(client), UserID: 1, Request: number, Operation: protocol.OpSendMessages,
		Body: record(t, client*1_000_000+number, 1, 20),
	}}
}

// absorbed fails unless the request was answered with success and not given a log position.
func (a *answer) absorbed(t testing.TB) {
	t.Helper()
	a.wait(t)
	if a.code != protocol.Success || a.op != 0 {
		t.Fatalf("number %d: code %v op %d, want success without an append", a.work.Request.Request, a.code, a.op)
	}
	a.gaveBodyBack(t)
}

func (a *answer) executed(t testing.TB) {
	t.Helper()
	if a.wait(t); a.code != protocol.Success || a.op == 0 {
		t.Fatalf("number %d: code %v op %d, want a commit", a.work.Request.Request, a.code, a.op)
	}
}

func (a *answer) refusedWith(t testing.TB, code protocol.Code) {
	t.Helper()
	if a.wait(t); a.code != code || a.op != 0 {
		t.Fatalf("number %d: code %v op %d, want %v", a.work.Request.Request, a.code, a.op, code)
	}
	a.gaveBodyBack(t)
}

// gaveBodyBack fails when somebody still holds the body of a request that was not executed.
func (a *answer) gaveBodyBack(t testing.TB) {
	t.Helper()
	if l := a.work.Request.Body.Lease; l != nil && l.TryRetain() {
		t.Fatalf("number %d: the body is still held", a.work.Request.Request)
	}
}

// submitAll hands several requests over in one batch.
func (r *rig) submitAll(works ...Work) []*answer {
	var b Batch
	answers := make([]*answer, len(works))
	for i, w := range works {
		answers[i] = &answer{work: w, done: make(chan struct{})}
		answers[i].work.Request.Waiter = answers[i]
		b.Add(r.n, &answers[i].work)
	}
	r.n.Submit(&b)
	return answers
}

// numberedTopics are partitions of two topics, one for each promise of durability.
func numberedTopics(t testing.TB) map[string]protocol.GroupID {
	return map[string]protocol.GroupID{"default": groupID(t, 0, 0), "fsync": groupID(t, 1, 0)}
}

func TestNumbered_PipelinedRetriesAppendOnce(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	revs := map[string]uint64{"default": r.topic(0, 1), "fsync": r.topic(1, 1, command.BoolOption("enforce_fsync", true))}
	for name, id := range numberedTopics(t) {
		t.Run(name, func(t *testing.T) {
			rev := revs[name]
			var works []Work
			for n := range uint64(10) {
				works = append(works, numberedSend(t, id, rev, 5, n+1), numberedSend(t, id, rev, 5, n+1))
			}
			for i, a := range r.submitAll(works...) {
				if i%2 == 0 {
					a.executed(t)
					if a.base != uint64(i/2) {
						t.Fatalf("number %d is at offset %d", i/2+1, a.base)
					}
				} else {
					a.refusedWith(t, protocol.CodeTransientNotCommitted)
				}
			}
			works = works[:0]
			for n := range uint64(10) {
				works = append(works, numberedSend(t, id, rev, 5, n+1))
			}
			works = append(works, numberedSend(t, id, rev, 5, 11))
			for i, a := range r.submitAll(works...) {
				if i < 10 {
					a.absorbed(t)
				} else if a.executed(t); a.base != 10 {
					t.Fatalf("the new number is at offset %d", a.base)
				}
			}
		})
	}
}

func TestNumbered_WindowEdges(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	rev := r.topic(0, 2)
	id := groupID(t, 0, 0)
	send := func(n uint64) *answer { return r.submit(numberedSend(t, id, rev, 5, n)).wait(t) }
	for n := uint64(1); n <= 128; n++ {
		if n != 2 && n != 3 {
			send(n).executed(t)
		}
	}
	send(1).absorbed(t) // 127 behind
	send(129).executed(t)
	send(1).refusedWith(t, protocol.CodeRequestAlreadyApplied) // 128 behind
	send(2).executed(t)                                        // skipped so far, 127 behind
	send(2).absorbed(t)
	send(130).executed(t)
	send(2).refusedWith(t, protocol.CodeRequestAlreadyApplied)
	send(3).executed(t)
	send(1_000_000).executed(t)
	send(130).refusedWith(t, protocol.CodeRequestAlreadyApplied)
	send(1_000_000).absorbed(t)

	// Another partition, client or user has numbers of its own.
	r.submit(numberedSend(t, groupID(t, 0, 1), rev, 5, 1)).executed(t)
	r.submit(numberedSend(t, id, rev, 6, 1)).executed(t)
	other := numberedSend(t, id, rev, 5, 1)
	other.Request.UserID = 2
	r.submit(other).executed(t)

	// Number 0 is none.
	for range 3 {
		send(0).executed(t)
	}
	// A retry needs no room on the disk.
	r.n.space.low.Store(true)
	r.submit(numberedSend(t, id, rev, 6, 1)).absorbed(t)
	r.n.space.low.Store(false)
}

func TestNumbered_OffsetOperations(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	revs := map[string]uint64{"default": r.topic(0, 1), "fsync": r.topic(1, 1, command.BoolOption("enforce_fsync", true))}
	for name, id := range numberedTopics(t) {
		t.Run(name, func(t *testing.T) {
			key := partition.ConsumerKey{Kind: partition.KindConsumer, ID: 3}
			op := func(what protocol.Operation, number, offset uint64) Work {
				body := make([]byte, partition.OffsetOpSize)
				partition.OffsetOp{Key: key, Offset: offset}.Put(body)
				return Work{Group: id, Revision: revs[name], Request: vsr.Request{
					Client: protocol.Uint128From64(5), UserID: 1, Request: number, Operation: what, Body: vsr.Body{Bytes: body},
				}}
			}
			r.submit(numberedSend(t, id, revs[name], 5, 1)).executed(t)
			// An operation refused before it is logged uses up no number.
			r.submit(op(protocol.OpStoreConsumerOffset, 2, 99)).refusedWith(t, protocol.CodeInvalidOffset)
			r.submit(op(protocol.OpStoreConsumerOffset, 2, 0)).executed(t)
			r.submit(op(protocol.OpStoreConsumerOffset, 2, 0)).absorbed(t)
			r.submit(op(protocol.OpDeleteConsumerOffset, 3, 0)).executed(t)
			r.submit(op(protocol.OpDeleteConsumerOffset, 3, 0)).absorbed(t)
			r.submit(op(protocol.OpDeleteConsumerOffset, 4, 0)).refusedWith(t, protocol.CodeConsumerOffsetNotFound)
			// The late retry of a store does not bring back what was deleted since.
			r.submit(op(protocol.OpStoreConsumerOffset, 2, 0)).absorbed(t)
			if _, _, found, _ := r.n.ConsumerOffset(id, revs[name], 0, key); found {
				t.Fatal("the deleted offset is back")
			}
		})
	}
}

func TestNumbered_PurgeAndRestartForget(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, nil)
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	r.submit(numberedSend(t, id, rev, 5, 200)).executed(t)
	r.submit(numberedSend(t, id, rev, 5, 200)).absorbed(t)
	r.metadata(protocol.OpPurgeTopic, command.TopicRef{Stream: protocol.NumericID(0), Topic: protocol.NumericID(0)}.Append(nil))
	for _, n := range []uint64{1, 200} { // what they had stored is gone: they are stored again
		r.submit(numberedSend(t, id, rev, 5, n)).executed(t)
		r.submit(numberedSend(t, id, rev, 5, n)).absorbed(t)
	}
	r.close()
	r = openRig(t, dir, nil)
	defer r.close()
	// The segment is the log here and knows no numbers.
	if a := r.submit(numberedSend(t, id, rev, 5, 200)).wait(t); a.op == 0 || a.base != 2 {
		t.Fatalf("after a restart: op %d base %d", a.op, a.base)
	}
	r.submit(numberedSend(t, id, rev, 5, 200)).absorbed(t)
}

// Clients that send every number several times, at once and pipelined, until they are told that it is
// there: it is there once.
func TestNumbered_RetriesAtOnceAppendOnce(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	revs := map[string]uint64{"default": r.topic(0, 1), "fsync": r.topic(1, 1, command.BoolOption("enforce_fsync", true))}
	const clients, numbers, window = 3, 60, 16
	var wg sync.WaitGroup
	for name, id := range numberedTopics(t) {
		for client := range uint64(clients) {
			for range 2 { // two connections of one client
				wg.Go(func() {
					for from := uint64(1); from <= numbers; from += window {
						if err := r.sendUntilKnown(id, revs[name], client+1, from, min(from+window, numbers+1)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
	}
	wg.Wait()
	for name, id := range numberedTopics(t) {
		if err := r.holdsOnce(id, revs[name], clients*numbers); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sendUntilKnown sends the numbers from first to below end in one batch, again and again until each was
// answered with success.
func (r *rig) sendUntilKnown(id protocol.GroupID, rev, client, first, end uint64) error {
	open := make(map[uint64]bool)
	for n := first; n < end; n++ {
		open[n] = true
	}
	for deadline := time.Now().Add(20 * time.Second); len(open) > 0; {
		var works []Work
		for n := first; n < end; n++ {
			if open[n] {
				works = append(works, numberedSend(r.t, id, rev, client, n))
			}
		}
		for _, a := range r.submitAll(works...) {
			<-a.done
			switch a.code {
			case protocol.Success:
				delete(open, a.work.Request.Request)
			case protocol.CodeTransientNotCommitted:
			default:
				return fmt.Errorf("client %d, number %d: %w", client, a.work.Request.Request, a.code)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("client %d: %d numbers still unknown", client, len(open))
		}
	}
	return nil
}

// holdsOnce reads a partition that must hold count messages with ids of their own.
func (r *rig) holdsOnce(id protocol.GroupID, rev uint64, count int) error {
	found := map[uint64]bool{}
	for next := uint64(0); ; {
		ids, after, code := r.poll(id, rev, 0, next, 1000)
		if code != protocol.Success {
			return code
		}
		if len(ids) == 0 {
			break
		}
		for _, m := range ids {
			if found[m] {
				return fmt.Errorf("message %d was appended twice", m)
			}
			found[m] = true
		}
		next = after
	}
	if len(found) != count {
		return fmt.Errorf("%d messages, want %d", len(found), count)
	}
	return nil
}

// Any mix of new numbers and retries in any batches: an answer of success means exactly one append.
func TestNumbered_AnyMixOfRetriesAppendsOnce(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	client, appended := uint64(0), 0
	rapid.Check(t, func(t *rapid.T) {
		client++
		next, executed := uint64(0), map[uint64]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			var works []Work
			for range rapid.IntRange(1, 60).Draw(t, "requests") {
				n := next + 1
				if next > 0 && rapid.Bool().Draw(t, "retry") {
					n = next - rapid.Uint64Range(0, min(next-1, 150)).Draw(t, "back")
				} else {
					n += rapid.SampledFrom([]uint64{0, 0, 0, 1, 40}).Draw(t, "gap")
					next = n
				}
				works = append(works, numberedSend(r.t, id, rev, client, n))
			}
			for _, a := range r.submitAll(works...) {
				a.wait(r.t)
				n := a.work.Request.Request
				switch {
				case a.op > 0 && executed[n]:
					t.Fatalf("number %d was executed twice", n)
				case a.op > 0:
					executed[n] = true
					appended++
				case a.code == protocol.Success && !executed[n]:
					t.Fatalf("number %d was absorbed and never executed", n)
				case a.code != protocol.Success && a.code != protocol.CodeTransientNotCommitted && a.code != protocol.CodeRequestAlreadyApplied:
					t.Fatalf("number %d: %v", n, a.code)
				}
			}
		}
	})
	if err := r.holdsOnce(id, rev, appended); err != nil {
		t.Fatal(err)
	}
}
