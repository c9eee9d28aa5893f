package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// printer writes results, as text while they come or as one JSON document at the end.
type printer struct {
	w    io.Writer
	json bool
}

func newPrinter(w io.Writer, form string) (*printer, error) {
	switch form {
	case "text", "":
		return &printer{w: w}, nil
	case "json":
		return &printer{w: w, json: true}, nil
	}
	return nil, fmt.Errorf("output %q: text and json are known", form)
}

// linef writes a line of text; nothing in JSON form.
func (p *printer) linef(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// document writes v in JSON form; nothing in text form.
func (p *printer) document(v any) error {
	if !p.json {
		return nil
	}
	enc := json.NewEncoder(p.w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func calibrationFlags(f *pflag.FlagSet, cal *Calibration) {
	f.StringVar(&cal.Dir, "dir", "", "folder for data files (default: the system's for temporary files)")
	f.DurationVar(&cal.Duration, "duration", 1500*time.Millisecond, "length of a row that runs by time")
	f.Int64Var(&cal.VolumeBytes, "volume", 1<<30, "bytes of a row that runs by volume")
	f.Int64Var(&cal.PollBytes, "poll-file", 512<<20, "size in bytes of the file that polls read")
	f.DurationVar(&cal.Pause, "pause", 2*time.Second, "rest after writing back dirty pages before each run; negative: neither")
}

const rowFormat = "%-18s %9.0f MB/s %9.0f /s   cpu s/GB %8.3f server %8.3f client   ms p50 %8.3f p99 %8.3f p99.9 %8.3f"

func (p *printer) row(r RowResult) {
	p.linef(rowFormat, r.Row, r.MBPerSec, r.PerSec, r.ServerPerGB, r.ClientPerGB, r.P50Millis, r.P99Millis, r.P999Millis)
}

// rowMedians takes the median of every figure over the runs of each row, in the order rows first appear.
func rowMedians(results []RowResult) []RowResult {
	var order []string
	byRow := map[string][]RowResult{}
	for _, r := range results {
		if byRow[r.Row] == nil {
			order = append(order, r.Row)
		}
		byRow[r.Row] = append(byRow[r.Row], r)
	}
	out := make([]RowResult, 0, len(order))
	for _, name := range order {
		runs := byRow[name]
		pick := func(f func(RowResult) float64) float64 {
			values := make([]float64, len(runs))
			for i, r := range runs {
				values[i] = f(r)
			}
			return median(values)
		}
		out = append(out, RowResult{
			Row:         name,
			MBPerSec:    pick(func(r RowResult) float64 { return r.MBPerSec }),
			PerSec:      pick(func(r RowResult) float64 { return r.PerSec }),
			ServerPerGB: pick(func(r RowResult) float64 { return r.ServerPerGB }),
			ClientPerGB: pick(func(r RowResult) float64 { return r.ClientPerGB }),
			P50Millis:   pick(func(r RowResult) float64 { return r.P50Millis }),
			P99Millis:   pick(func(r RowResult) float64 { return r.P99Millis }),
			P999Millis:  pick(func(r RowResult) float64 { return r.P999Millis }),
			Batches:     int(pick(func(r RowResult) float64 { return float64(r.Batches) })),
		})
	}
	return out
}

func calibrateAndPrint(ctx context.Context, cal Calibration, out *printer) error {
	rows, err := selectRows(cal.Rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		out.linef("%-18s %s", r.Name, r.describe())
	}
	out.linef("")
	var all []RowResult
	if err := cal.Run(ctx, func(r RowResult) {
		all = append(all, r)
		out.row(r)
	}); err != nil {
		return err
	}
	medians := rowMedians(all)
	if len(medians) < len(all) {
		out.linef("%s\nmedians", strings.Repeat("-", 40))
		for _, r := range medians {
			out.row(r)
		}
	}
	return out.document(struct {
		Runs    []RowResult `json:"runs"`
		Medians []RowResult `json:"medians"`
	}{all, medians})
}
