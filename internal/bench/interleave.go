package bench

import (
	"context"
	"fmt"
)

// Round is one calibration row and one run of a workload right after it, from the same state of the disk.
type Round struct {
	Calibration RowResult `json:"calibration"`
	Workload    Report    `json:"workload"`
	// Ratio is the throughput of the workload over that of the row: in bytes, or in batches where a batch
	// is one message.
	Ratio float64 `json:"ratio"`
	// ServerRatio is the server's processor time per GB over that of the stand-in; 0 when the server is
	// not watched.
	ServerRatio float64 `json:"server_cpu_ratio,omitempty"`
}

// Interleaved is the outcome of alternating rounds.
type Interleaved struct {
	Row               string  `json:"row"`
	Rounds            []Round `json:"rounds"`
	MedianRatio       float64 `json:"median_ratio"`
	MedianServerRatio float64 `json:"median_server_cpu_ratio,omitempty"`
}

// matchingRow is the calibration row that a workload is compared with.
func (w workload) matchingRow() string {
	many, single := w.actors > 1, w.load.batchMessages.max == 1
	switch {
	case w.kind == kindConsumer && many:
		return "poll-file-8"
	case w.kind == kindConsumer:
		return "poll-file-1"
	case single && w.topic.enforceFsync && w.actors > 8:
		return "durable-single-64"
	case single && w.topic.enforceFsync:
		return "durable-single-8"
	case single, w.kind == kindEndToEnd, w.kind == kindPipelined:
		return "single-1"
	case w.topic.enforceFsync && many:
		return "durable-8"
	case w.topic.enforceFsync:
		return "durable-1"
	case many:
		return "produce-8"
	}
	return "produce-1"
}

// newRound computes the ratios of a round.
func newRound(r row, cal RowResult, rep Report) Round {
	out := Round{Calibration: cal, Workload: rep}
	var mb, batches float64
	for _, g := range rep.Groups {
		mb += g.WallClock.MBPerSec
		batches += perSecond(float64(g.Batches), seconds(g.WallClock.Seconds))
	}
	if r.batch == smallBatch && cal.PerSec > 0 {
		out.Ratio = batches / cal.PerSec
	} else if cal.MBPerSec > 0 {
		out.Ratio = mb / cal.MBPerSec
	}
	if rep.Server != nil && cal.ServerPerGB > 0 {
		out.ServerRatio = rep.Server.PerGB / cal.ServerPerGB
	}
	return out
}

// interleave alternates the calibration row and the workload. The order within a round changes from round
// to round, so that neither always finds what the other left behind.
func (w workload) interleave(ctx context.Context, cal Calibration, rounds int, out *printer) (Interleaved, error) {
	if err := cal.setDefaults(); err != nil {
		return Interleaved{}, err
	}
	if len(cal.Rows) == 0 {
		cal.Rows = []string{w.matchingRow()}
	}
	rows, err := selectRows(cal.Rows)
	if err != nil {
		return Interleaved{}, err
	}
	if len(rows) != 1 {
		return Interleaved{}, fmt.Errorf("interleave: %d calibration rows, one is needed", len(rows))
	}
	res := Interleaved{Row: rows[0].Name}
	for i := range rounds {
		round, err := w.round(ctx, cal, rows[0], i%2 == 1)
		if err != nil {
			return res, fmt.Errorf("round %d: %w", i+1, err)
		}
		res.Rounds = append(res.Rounds, round)
		out.row(round.Calibration)
		out.report(round.Workload)
		out.linef("round %d: %.3f of %s%s\n", i+1, round.Ratio, res.Row, serverRatio(round.ServerRatio))
	}
	var ratios, server []float64
	for _, r := range res.Rounds {
		ratios, server = append(ratios, r.Ratio), append(server, r.ServerRatio)
	}
	res.MedianRatio, res.MedianServerRatio = median(ratios), median(server)
	out.linef("median of %d rounds: %.3f of %s%s", rounds, res.MedianRatio, res.Row, serverRatio(res.MedianServerRatio))
	return res, nil
}

func (w workload) round(ctx context.Context, cal Calibration, r row, workloadFirst bool) (Round, error) {
	var calibrated RowResult
	var rep Report
	calibrate := func() (err error) {
		calibrated, err = cal.measure(ctx, r)
		return err
	}
	work := func() (err error) {
		rep, err = w.runRested(ctx, cal.Pause)
		return err
	}
	steps := []func() error{calibrate, work}
	if workloadFirst {
		steps = []func() error{work, calibrate}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Round{}, err
		}
	}
	return newRound(r, calibrated, rep), nil
}

func serverRatio(r float64) string {
	if r == 0 {
		return ""
	}
	return fmt.Sprintf(", server processor time per GB %.2f times as much", r)
}
