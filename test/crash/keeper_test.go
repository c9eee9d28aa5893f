package crash

import (
	"fmt"
	"sync"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// keeper is a client that stores offsets and creates and deletes streams until the server dies, and remembers
// what was acknowledged. verify runs between its lives.
type keeper struct {
	offset  command.OffsetRef
	stored  uint64
	created []string
	deleted []string
}

// first is the record of one message, so that offset 0 can be stored.
func first() []byte {
	b := batch.NewBuilder()
	if err := b.Add([]byte("first"), nil, protocol.Uint128{}, 1); err != nil {
		panic(err)
	}
	record, err := b.Build()
	if err != nil {
		panic(err)
	}
	return record
}

func (k *keeper) run(t testing.TB, addr string, round int, ready *sync.WaitGroup) {
	conn := enter(addr, ready)
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }() // the server is gone, or the round is over
	for n := 0; ; n++ {
		// The largest offset that may be stored is not known here; one that is too large is refused.
		err := conn.StoreOffset(k.offset, k.stored+1, protocol.AckQuorum)
		if code, answered := rawclient.CodeOf(err); answered && code != protocol.CodeInvalidOffset {
			t.Errorf("store offset: %v", err)
			return
		} else if err != nil && !answered {
			return
		} else if err == nil {
			k.stored++
		}
		if n%10 > 0 {
			continue
		}
		name := fmt.Sprintf("round %d stream %d", round, n)
		d, err := conn.CreateStream(name)
		if err != nil {
			return
		}
		k.created = append(k.created, name)
		if n%20 == 0 {
			if conn.DeleteStream(protocol.NumericID(d.ID)) != nil {
				k.created = k.created[:len(k.created)-1] // nobody knows
				return
			}
			k.created = k.created[:len(k.created)-1]
			k.deleted = append(k.deleted, name)
		}
	}
}

// verify demands every acknowledged stream, none that was deleted, and an offset that was not forgotten.
func (k *keeper) verify(t testing.TB, conn *rawclient.Conn) {
	reply, err := conn.Read(protocol.CmdStreamList, nil)
	must(t, "list streams", err)
	all, err := command.DecodeStreams(reply.Body)
	must(t, "list streams", err)
	found := map[string]bool{}
	for _, s := range all {
		found[string(s.Name)] = true
	}
	for _, name := range k.created {
		if !found[name] {
			t.Errorf("stream %q was created and is gone", name)
		}
	}
	for _, name := range k.deleted {
		if found[name] {
			t.Errorf("stream %q was deleted and is back", name)
		}
	}
	got, exists, err := conn.GetOffset(k.offset)
	must(t, "read offset", err)
	if k.stored > 0 && (!exists || got.Stored < k.stored || got.Stored > k.stored+1) {
		t.Errorf("offset %d is stored, %v; %d was acknowledged", got.Stored, exists, k.stored)
	}
	k.stored = max(k.stored, got.Stored)
}
