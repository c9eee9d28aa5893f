package transport

import "testing"

func TestFlushToken_ANoteKeepsTheHolderAtWork(t *testing.T) {
	c := &Conn{wake: make(chan struct{}, 1)}
	if !c.takeToken() {
		t.Fatal("free token not given")
	}
	for range 2 {
		if c.takeToken() {
			t.Fatal("token given twice")
		}
	}
	if c.returnToken() {
		t.Fatal("note lost: the holder has to look again")
	}
	if !c.returnToken() || !c.takeToken() {
		t.Fatal("token not free after the second look")
	}
}

func TestWriteBatch_AdvanceStopsAtAnyByte(t *testing.T) {
	for stop := range 14 {
		b := &writeBatch{bufs: [][]byte{[]byte("abc"), []byte("d"), []byte("efghij"), []byte("klm")}}
		b.advance(stop)
		var rest []byte
		for _, p := range b.rest() {
			if len(p) == 0 {
				t.Fatalf("empty buffer left after %d bytes", stop)
			}
			rest = append(rest, p...)
		}
		if string(rest) != "abcdefghijklm"[stop:] {
			t.Fatalf("after %d bytes %q is left", stop, rest)
		}
	}
}
