package inspect

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/vfs"
)

// Options say what to look at.
type Options struct {
	FS     vfs.FS
	Layout datadir.Layout
	// Want is what the configuration says; nil when none speaks for the directory, and then what the directory
	// says about itself counts.
	Want *Identity
	// BootID is that of the machine on which the start would be; zero when it is not known. After another boot a
	// start trusts nothing that no sync has covered.
	BootID [16]byte
	// Workers is the number of partitions that Verify reads at once; 0 means one for each processor, 2 to 4.
	Workers int
	// Progress, when set, is called from several goroutines, often.
	Progress func(done Progress)
}

// Progress is how far a verification has come.
type Progress struct {
	Partitions, PartitionsDone int
	Bytes, BytesDone           int64
}

// Report is what Verify found.
type Report struct {
	Data     string    `json:"data"`
	Findings []Finding `json:"findings"` // errors first
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes"`

	MetadataOp uint64 `json:"metadata_op"`
	Streams    int    `json:"streams"`
	Topics     int    `json:"topics"`
	Partitions int    `json:"partitions"` // that the metadata knows
	InUse      int    `json:"partitions_in_use"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
	Batches    int64  `json:"batches"`
	Messages   uint64 `json:"messages"`
	// Seconds is how long it took, BytesPerSecond how fast files were read.
	Seconds        float64 `json:"seconds"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// Verify checks a whole data directory: names, metadata, and every partition against it, to the last byte. It
// changes nothing. Memory is bounded by the number of findings, which is bounded for each file, by the metadata, by a
// megabyte or two for each worker, and by what a start would write: after a loss of power that is what the shard logs
// hold, after a kill next to nothing. The error is that the directory cannot be listed at all.
func Verify(o Options) (*Report, error) {
	v, err := verify(o)
	if err != nil {
		return nil, err
	}
	return v.report, nil
}

func verify(o Options) (*verification, error) {
	began := time.Now()
	v := &verification{Options: o, report: &Report{Data: o.Layout.Path()}}
	info, err := o.FS.Stat(o.Layout.Path())
	if err == nil && !info.IsDir {
		err = fmt.Errorf("%s is no directory", o.Layout.Path())
	}
	if err != nil {
		return nil, fmt.Errorf("inspect data directory: %w", err)
	}
	v.group = loadGroup(&v.Options, &v.found)
	v.walkNames()
	v.places = v.findPlaces()
	v.runCheckups()
	v.finish(time.Since(began))
	return v, nil
}

// verification is one run of Verify.
type verification struct {
	Options
	report *Report
	group  *group
	found  findings
	places []place
	total  int64
	done   atomic.Int64
	ready  atomic.Int64
}

// runCheckups examines the partitions, several at a time.
func (v *verification) runCheckups() {
	for i := range v.places {
		v.total += v.logBytes(v.places[i].dir)
	}
	workers := v.Workers
	if workers <= 0 {
		workers = min(max(runtime.GOMAXPROCS(0), 2), 4)
	}
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(workers, len(v.places)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(v.places) {
					return
				}
				c := &checkup{
					fsys: v.FS, data: v.Layout.Path(), options: &v.Options, group: v.group, place: v.places[i], advance: v.advance,
				}
				c.run()
				v.ready.Add(1)
				v.advance(0)
				mu.Lock()
				v.gather(c)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

func (v *verification) advance(bytes int64) {
	done := v.done.Add(bytes)
	if v.Progress != nil {
		v.Progress(Progress{Partitions: len(v.places), PartitionsDone: int(v.ready.Load()), Bytes: v.total, BytesDone: min(done, v.total)})
	}
}

func (v *verification) gather(c *checkup) {
	v.found = append(v.found, c.found...)
	r := v.report
	r.Files, r.Bytes = r.Files+c.files, r.Bytes+c.bytes
	for i := range c.scrubs {
		r.Batches += c.scrubs[i].batches
		r.Messages += c.scrubs[i].messages
	}
}

func (v *verification) finish(took time.Duration) {
	r, view := v.report, v.group.view()
	r.Findings = v.found.sorted()
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	for _, f := range r.Findings {
		switch f.Severity {
		case Error:
			r.Errors++
		case Warning:
			r.Warnings++
		default:
			r.Notes++
		}
	}
	r.MetadataOp, r.Streams, r.Topics, r.Partitions = view.Revision, view.StreamsCount(), view.TopicsCount(), view.PartitionsCount()
	r.InUse = len(v.places)
	r.Files, r.Bytes = r.Files+v.group.files, r.Bytes+v.group.bytes
	r.Seconds = took.Seconds()
	r.BytesPerSecond = float64(r.Bytes) / max(r.Seconds, 1e-9)
}
