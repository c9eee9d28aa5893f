package bench

import (
	"fmt"
	"strings"
	"time"
)

// row is one thing the stand-in is measured at. Rows with a volume run until each connection has moved
// its share of it, the others for Calibration.Duration.
type row struct {
	Name   string
	role   role
	sync   syncMode
	conns  int
	batch  int // bytes of a batch or a reply
	chunk  int // bytes received, hashed and written at a time
	volume bool
}

const (
	bigBatch   = 1000 * 1024 // 1000 messages of 1 KiB
	smallBatch = 1024
	bigChunk   = 256 << 10
	smallChunk = 64 << 10
)

// calibrationRows are all rows in the order they run. The first five are the default.
var calibrationRows = []row{
	{"produce-1", roleProduce, syncNone, 1, bigBatch, bigChunk, true},
	{"produce-8", roleProduce, syncNone, 8, bigBatch, bigChunk, true},
	{"single-1", roleProduce, syncNone, 1, smallBatch, smallChunk, false},
	{"poll-file-8", rolePollFile, syncNone, 8, bigBatch, bigChunk, false},
	{"poll-memory-8", rolePollMemory, syncNone, 8, bigBatch, bigChunk, false},
	{"poll-file-1", rolePollFile, syncNone, 1, bigBatch, bigChunk, false},
	{"poll-memory-1", rolePollMemory, syncNone, 1, bigBatch, bigChunk, false},
	{"durable-1", roleProduce, syncOwn, 1, bigBatch, bigChunk, true},
	{"durable-8", roleProduce, syncOwn, 8, bigBatch, bigChunk, true},
	{"durable-single-8", roleProduce, syncGroup, 8, smallBatch, smallChunk, false},
	{"durable-single-64", roleProduce, syncGroup, 64, smallBatch, smallChunk, false},
}

const defaultRows = 5

// rowNames lists every row, for help texts and errors.
func rowNames() string {
	names := make([]string, len(calibrationRows))
	for i, r := range calibrationRows {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}

// selectRows finds rows by name. No names select the default rows, "all" selects every row.
func selectRows(names []string) ([]row, error) {
	if len(names) == 0 {
		return calibrationRows[:defaultRows], nil
	}
	if len(names) == 1 && names[0] == "all" {
		return calibrationRows, nil
	}
	var out []row
	for _, name := range names {
		found := false
		for _, r := range calibrationRows {
			if r.Name == name {
				out, found = append(out, r), true
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown row %q; rows are %s", name, rowNames())
		}
	}
	return out, nil
}

// describe says what a row does.
func (r row) describe() string {
	what := "receive, hash, append"
	switch {
	case r.role == rolePollFile:
		what = "read from the page cache, answer"
	case r.role == rolePollMemory:
		what = "answer from memory"
	case r.sync == syncOwn:
		what = "receive, hash, append, fdatasync"
	case r.sync == syncGroup:
		what = "receive, hash, append, group fdatasync"
	}
	return fmt.Sprintf("%s; %d B on %d connections", what, r.batch, r.conns)
}

// RowResult is the outcome of one run of one row.
type RowResult struct {
	Row         string  `json:"row"`
	MBPerSec    float64 `json:"mb_per_second"`
	PerSec      float64 `json:"batches_per_second"`
	ServerPerGB float64 `json:"server_cpu_seconds_per_gb"`
	ClientPerGB float64 `json:"client_cpu_seconds_per_gb"`
	P50Millis   float64 `json:"p50_ms"`
	P99Millis   float64 `json:"p99_ms"`
	P999Millis  float64 `json:"p999_ms"`
	Batches     int     `json:"batches"`
}

func newRowResult(r row, lat samples, elapsed, server, client time.Duration) RowResult {
	bytes := int64(len(lat)) * int64(r.batch)
	lat = lat.sorted()
	return RowResult{
		Row: r.Name, Batches: len(lat),
		MBPerSec: perSecond(float64(bytes)/1e6, elapsed), PerSec: perSecond(float64(len(lat)), elapsed),
		ServerPerGB: perGB(server, bytes), ClientPerGB: perGB(client, bytes),
		P50Millis: millis(lat.percentile(50)), P99Millis: millis(lat.percentile(99)),
		P999Millis: millis(lat.percentile(99.9)),
	}
}
