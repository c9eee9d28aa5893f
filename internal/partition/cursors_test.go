package partition

import (
	"sync"
	"testing"
)

func TestCursors_ARaiseThatBeganBeforeARewindDoesNotUndoIt(t *testing.T) {
	var c Cursors
	key := ConsumerKey{KindConsumer, 1}
	c.Raise(key, 10)
	epoch := c.Epoch(key)
	c.store(key, 2)
	c.RaiseIn(key, epoch, 20)
	if got, _ := c.Get(key); got != 2 {
		t.Fatalf("rewound to 2, reads %d", got)
	}
	c.RaiseIn(key, c.Epoch(key), 5)
	if got, _ := c.Get(key); got != 5 {
		t.Fatalf("raised to 5, reads %d", got)
	}
	c.clear()
	c.RaiseIn(key, epoch+1, 7)
	if _, ok := c.Get(key); ok {
		t.Fatal("a poll from before the purge brought its offset back")
	}
}

func TestCursors_ManyRaisersEndAtTheHighest(t *testing.T) {
	var c Cursors
	key := ConsumerKey{KindGroup, 1}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				c.Raise(key, uint64(i*8+w))
				c.MarkPolled(key, uint64(i*8+w))
			}
		})
	}
	wg.Wait()
	got, _ := c.Get(key)
	polled, _ := c.Polled(key)
	if got != 7999 || polled != 7999 {
		t.Fatalf("offset %d polled %d", got, polled)
	}
	if keys := c.keys(); len(keys) != 1 || keys[0] != key {
		t.Fatalf("keys %v", keys)
	}
}
