package bench

import (
	"net"
	"os"
	"testing"
	"time"
)

func TestParseStat_CommandNameWithSpacesAndParentheses(t *testing.T) {
	line := []byte("42 (a) b (c) S 1 42 42 0 -1 4194560 7 0 0 0 150 25 9 9 20 0 5 0 100 1000 50\n")
	got, err := parseStat(line)
	if err != nil || got != 1750*time.Millisecond {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1 2", "42 (x) S 1 2 3 4 5 6 7 8 9 10 x 25 9"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestParseStatus_Memory(t *testing.T) {
	rss, peak := parseStatus([]byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n"))
	if rss != 1<<20 || peak != 2<<20 {
		t.Errorf("got %d, %d", rss, peak)
	}
	if rss, peak := parseStatus([]byte("VmRSS:\nVmHWM: x kB\n")); rss != 0 || peak != 0 {
		t.Errorf("got %d, %d from nonsense", rss, peak)
	}
}

func TestListeningInodes_OnlyListenersOfThePort(t *testing.T) {
	table := []byte(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F9A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0
   1: 0100007F:1F9A 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 556 1 0
   2: 0100007F:1F9B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 557 1 0
   3: broken
`)
	got := listeningInodes(table, 8090)
	if len(got) != 1 || got[0] != "555" {
		t.Errorf("got %v", got)
	}
}

func TestListenerPID_FindsThisProcess(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	pid, err := listenerPID(port)
	if err != nil || pid != os.Getpid() {
		t.Errorf("got %d, %v; want %d", pid, err, os.Getpid())
	}
	u, err := processUsage(pid)
	if err != nil || u.RSS <= 0 || u.PeakRSS < u.RSS {
		t.Errorf("usage %+v, %v", u, err)
	}
	ln.Close()
	if pid, err := listenerPID(port); err == nil {
		t.Errorf("found %d on a closed port", pid)
	}
}
