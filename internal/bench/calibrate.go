package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Calibration says how to measure what the machine allows. The zero value of a field means its default.
type Calibration struct {
	// Dir is where data files go; default the system's folder for temporary files. It should be on the
	// device that the measured server writes to.
	Dir string
	// Rows are names of rows; none means the default five, "all" every row.
	Rows []string
	// Rounds is how often every row runs; default 1.
	Rounds int
	// VolumeBytes is what a produce row of large batches writes in total; default 1 GiB.
	VolumeBytes int64
	// Duration is how long every other row runs; default 1.5 s.
	Duration time.Duration
	// PollBytes is the size of the file that polls read; default 512 MiB.
	PollBytes int64
	// Pause is the rest after writing back all dirty pages before each run; default 2 s, negative skips
	// both.
	Pause time.Duration
	// Command is how to start the stand-in process: the argument vector of this program up to where the
	// hidden subcommand is put. Default: this executable with "bench".
	Command []string
}

// volumeLimit is where a row with a volume ends even when some is left.
const volumeLimit = 4 * time.Second

func (cal *Calibration) setDefaults() error {
	if cal.Dir == "" {
		cal.Dir = os.TempDir()
	}
	if cal.Rounds == 0 {
		cal.Rounds = 1
	}
	if cal.VolumeBytes == 0 {
		cal.VolumeBytes = 1 << 30
	}
	if cal.Duration == 0 {
		cal.Duration = 1500 * time.Millisecond
	}
	if cal.PollBytes == 0 {
		cal.PollBytes = 512 << 20
	}
	if cal.Pause == 0 {
		cal.Pause = 2 * time.Second
	}
	if len(cal.Command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
		cal.Command = []string{self, "bench"}
	}
	return nil
}

// Run measures every selected row, Rounds times in turn, and calls each with every result.
func (cal Calibration) Run(ctx context.Context, each func(RowResult)) error {
	if err := cal.setDefaults(); err != nil {
		return err
	}
	rows, err := selectRows(cal.Rows)
	if err != nil {
		return err
	}
	for range cal.Rounds {
		for _, r := range rows {
			res, err := cal.measure(ctx, r)
			if err != nil {
				return fmt.Errorf("calibrate %s: %w", r.Name, err)
			}
			each(res)
		}
	}
	return nil
}

// rest writes back all dirty pages and pauses, so that every run starts from the same state. A negative
// pause skips both.
func rest(ctx context.Context, pause time.Duration) error {
	if pause < 0 {
		return ctx.Err()
	}
	unix.Sync()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// measure runs one row once against a stand-in of its own.
func (cal Calibration) measure(ctx context.Context, r row) (res RowResult, err error) {
	var pollBytes int64
	if r.role == rolePollFile {
		pollBytes = max(cal.PollBytes, int64(r.batch))
	}
	ch, err := startChild(cal.Command, cal.Dir, pollBytes)
	if err != nil {
		return RowResult{}, err
	}
	defer func() { err = errors.Join(err, ch.stop()) }()
	if err := rest(ctx, cal.Pause); err != nil {
		return RowResult{}, err
	}
	return cal.runRow(r, ch)
}

func (cal Calibration) runRow(r row, ch *child) (RowResult, error) {
	conns := make([]net.Conn, r.conns)
	for i := range conns {
		nc, _, err := ch.dial(hello{role: r.role, sync: r.sync, chunk: r.chunk})
		if err != nil {
			return RowResult{}, err
		}
		defer nc.Close()
		conns[i] = nc
	}
	quota := 0 // batches of one connection; 0 counts time only
	limit := cal.Duration
	if r.volume {
		quota = max(1, int(cal.VolumeBytes/int64(r.conns)/int64(r.batch)))
		limit = volumeLimit
	}
	lats := make([]samples, r.conns)
	errs := make([]error, r.conns)
	serverBefore, err := ch.processorTime()
	if err != nil {
		return RowResult{}, err
	}
	clientBefore := processorTime()
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i, nc := range conns {
		wg.Go(func() {
			drive := produceLoop
			if r.role != roleProduce {
				drive = pollLoop
			}
			lats[i], errs[i] = drive(nc, r.batch, quota, limit, gate)
		})
	}
	start := time.Now()
	close(gate)
	wg.Wait()
	elapsed := time.Since(start)
	client := processorTime() - clientBefore
	serverAfter, err := ch.processorTime()
	if err := errors.Join(append(errs, err)...); err != nil {
		return RowResult{}, err
	}
	var all samples
	for _, l := range lats {
		all = append(all, l...)
	}
	return newRowResult(r, all, elapsed, serverAfter-serverBefore, client), nil
}

// produceLoop sends one batch after the other, each when the one before is acknowledged.
func produceLoop(nc net.Conn, batch, quota int, limit time.Duration, gate <-chan struct{}) (samples, error) {
	frame, ack := make([]byte, 4+batch), make([]byte, ackSize)
	binary.LittleEndian.PutUint32(frame, uint32(batch))
	return closedLoop(quota, limit, gate, func() error {
		if _, err := nc.Write(frame); err != nil {
			return err
		}
		_, err := io.ReadFull(nc, ack)
		return err
	})
}

// pollLoop asks for one reply after the other.
func pollLoop(nc net.Conn, batch, quota int, limit time.Duration, gate <-chan struct{}) (samples, error) {
	ask, reply := make([]byte, 4), make([]byte, batch)
	binary.LittleEndian.PutUint32(ask, uint32(batch))
	return closedLoop(quota, limit, gate, func() error {
		if _, err := nc.Write(ask); err != nil {
			return err
		}
		_, err := io.ReadFull(nc, reply)
		return err
	})
}

// closedLoop repeats step until quota steps are done (0: no quota) or limit has passed since the gate
// opened, and returns how long each step took.
func closedLoop(quota int, limit time.Duration, gate <-chan struct{}, step func() error) (samples, error) {
	lat := make(samples, 0, max(quota, 4096))
	<-gate
	for start := time.Now(); (quota == 0 || len(lat) < quota) && time.Since(start) < limit; {
		before := time.Now()
		if err := step(); err != nil {
			return lat, fmt.Errorf("stand-in: %w", err)
		}
		lat = append(lat, time.Since(before))
	}
	return lat, nil
}
