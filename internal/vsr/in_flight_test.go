package vsr

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestInFlight_FromThePositionInTheLogToTheApply(t *testing.T) {
	c := newCluster(clusterOptions{replicas: 1, depth: 2, written: true, group: testGroup})
	r := c.nodes[0].r
	req := func(client, number uint64, user uint32) Request {
		return Request{Client: protocol.Uint128From64(client), Request: number, UserID: user, Operation: protocol.OpSendMessages}
	}
	known := func(want bool, q Request) {
		t.Helper()
		if got := r.InFlight(&q); got != want {
			t.Errorf("client %s number %d user %d in flight: %v", q.Client, q.Request, q.UserID, got)
		}
	}
	known(false, req(1, 1, 1))
	for n := range uint64(3) { // the third one waits in the request queue
		if o := c.propose(0, req(1, n+1, 1), "body"); o.Verdict != Accepted {
			t.Fatal(o)
		}
	}
	for n := range uint64(3) {
		known(true, req(1, n+1, 1))
		known(false, req(1, n+1, 2))
		known(false, req(2, n+1, 1))
	}
	known(false, req(1, 4, 1))
	c.drain(0)
	c.appendDone(0, 1)
	known(false, req(1, 1, 1))
	known(true, req(1, 2, 1))
	known(true, req(1, 3, 1))
	c.drain(0)
	c.appendFailed(0, 2)
	known(false, req(1, 2, 1))
	known(false, req(1, 3, 1))
}
