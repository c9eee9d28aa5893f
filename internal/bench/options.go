package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/galgolog/galgo/internal/units"
)

// options are the options in front of the kind, as written on the command line.
type options struct {
	messageSize   string
	batchMessages string
	batches       int
	totalData     string
	rateLimit     string
	messageRate   float64
	openLoop      bool
	duration      time.Duration
	warmup        string
	sampling      string
	smoothing     int
	user          string
	password      string
	reuse         bool
	enforceFsync  bool
	decode        bool
	pollBackoff   time.Duration
	output        string
	interleave    int
	row           string
	calibration   Calibration
	transport     transportOptions
}

// transportOptions may stand in front of the kind and behind it.
type transportOptions struct {
	address   string
	noDelay   bool
	serverPID int
}

func (o *options) bind(f *pflag.FlagSet) {
	f.StringVarP(&o.messageSize, "message-size", "m", "1000", "payload of a message in bytes, or min..max")
	f.StringVarP(&o.batchMessages, "messages-per-batch", "P", "1000", "messages of a batch, or min..max")
	f.IntVarP(&o.batches, "message-batches", "b", 1000, "batches of each actor")
	f.StringVarP(&o.totalData, "total-data", "T", "", "payload over all actors, in place of -b (\"1 GB\")")
	f.StringVarP(&o.rateLimit, "rate-limit", "r", "", "payload a second over all actors (\"100 MB\")")
	f.Float64Var(&o.messageRate, "message-rate", 0, "messages a second over all actors, in place of -r")
	f.BoolVar(&o.openLoop, "open-loop", false,
		"with a rate: send when due whatever became of earlier batches, and count latency from then")
	f.DurationVar(&o.duration, "duration", 0, "run for this long, in place of -b and -T")
	f.StringVarP(&o.warmup, "warmup-time", "w", "0s", "time before measuring begins")
	f.StringVarP(&o.sampling, "sampling-time", "t", "10ms", "width of a bucket of the throughput series")
	f.IntVarP(&o.smoothing, "moving-average-window", "W", 20, "buckets of the moving average")
	f.StringVarP(&o.user, "username", "u", "iggy", "user")
	f.StringVarP(&o.password, "password", "p", "iggy", "password")
	f.BoolVar(&o.reuse, "reuse-streams", false, "keep streams that exist instead of creating them anew")
	f.BoolVar(&o.enforceFsync, "enforce-fsync", false, "create topics whose batches are fsynced before they are confirmed")
	f.BoolVar(&o.decode, "decode", false, "consumers verify and walk every message")
	f.DurationVar(&o.pollBackoff, "poll-backoff", 0, "rest of a consumer after an empty poll")
	f.StringVar(&o.output, "output", "text", "text or json")
	f.IntVar(&o.interleave, "interleave-calibrate", 0, "alternate this many runs with a calibration row and report ratios")
	f.StringVar(&o.row, "calibrate-row", "", "row to alternate with (default: the one that matches); rows are "+rowNames())
	f.StringVar(&o.calibration.Dir, "calibrate-dir", "", "folder for the data files of the calibration row")
	f.DurationVar(&o.calibration.Pause, "pause", 2*time.Second, "rest before each run when alternating")
	o.transport.bind(f)
}

func (t *transportOptions) bind(f *pflag.FlagSet) {
	f.StringVar(&t.address, "server-address", "127.0.0.1:8090", "address of the server")
	f.BoolVar(&t.noDelay, "nodelay", true, "send small packets at once; the reference benchmark does not by default")
	f.IntVar(&t.serverPID, "server-pid", 0, "process of the server (default: the owner of the port, if here; negative: none)")
}

// load turns the options into numbers.
func (o *options) load() (load, error) {
	l := load{batches: o.batches, duration: o.duration, openLoop: o.openLoop, smoothing: o.smoothing,
		pollBackoff: o.pollBackoff}
	var err error
	if l.messageBytes, err = parseSpan(o.messageSize); err != nil {
		return l, fmt.Errorf("message size: %w", err)
	}
	if l.batchMessages, err = parseSpan(o.batchMessages); err != nil {
		return l, fmt.Errorf("messages per batch: %w", err)
	}
	if l.warmup, err = units.ParseDuration(o.warmup); err != nil {
		return l, fmt.Errorf("warm-up time: %w", err)
	}
	if l.sampling, err = units.ParseDuration(o.sampling); err != nil {
		return l, fmt.Errorf("sampling time: %w", err)
	}
	if o.totalData != "" {
		size, err := units.ParseSize(o.totalData)
		if err != nil {
			return l, fmt.Errorf("total data: %w", err)
		}
		l.totalBytes = int64(size)
	}
	if o.rateLimit != "" {
		size, err := units.ParseSize(o.rateLimit)
		if err != nil {
			return l, fmt.Errorf("rate limit: %w", err)
		}
		l.rateBytes = float64(size)
	}
	if o.messageRate > 0 {
		l.rateBytes = o.messageRate * float64(l.messageBytes.average())
	}
	switch {
	case l.sampling <= 0:
		return l, errors.New("sampling time: must be positive")
	case l.batches < 1:
		return l, errors.New("message batches: must be positive")
	}
	return l, nil
}

// kindOptions are the options behind the kind.
type kindOptions struct {
	streams int
	actors  int
	maxSize string
	expiry  string
	window  int
}

// topic turns the options of a kind into those of the topics that it creates.
func (k *kindOptions) topic(enforceFsync bool) (topic, error) {
	tp := topic{partitions: 1, enforceFsync: enforceFsync}
	if k.maxSize != "" {
		size, err := units.ParseSizeOrUnlimited(k.maxSize)
		if err != nil {
			return tp, fmt.Errorf("max topic size: %w", err)
		}
		tp.maxSize = uint64(size)
	}
	if k.expiry != "" {
		expiry, err := units.ParseExpiry(k.expiry)
		if err != nil {
			return tp, fmt.Errorf("message expiry: %w", err)
		}
		tp.expiry = expiry
	}
	return tp, nil
}

// workload puts everything together.
func (o *options) workload(kind string, k *kindOptions) (workload, error) {
	l, err := o.load()
	if err != nil {
		return workload{}, err
	}
	tp, err := k.topic(o.enforceFsync)
	if err != nil {
		return workload{}, err
	}
	streams := k.streams
	if streams == 0 {
		streams = k.actors
	}
	return workload{
		kind: kind, load: l, topic: tp, streams: streams, actors: k.actors, reuse: o.reuse, window: k.window,
		decode: o.decode,
		target: target{address: o.transport.address, user: o.user, password: o.password,
			nagle: !o.transport.noDelay, pid: o.transport.serverPID},
	}, nil
}

// run does what the command line asks for.
func (o *options) run(cmd *cobra.Command, w workload) error {
	out, err := newPrinter(cmd.OutOrStdout(), o.output)
	if err != nil {
		return err
	}
	if o.interleave > 0 {
		if o.row != "" {
			o.calibration.Rows = []string{o.row}
		}
		res, err := w.interleave(cmd.Context(), o.calibration, o.interleave, out)
		if err != nil {
			return err
		}
		return out.document(res)
	}
	rep, err := w.run(cmd.Context())
	if err != nil {
		return err
	}
	out.report(rep)
	return out.document(rep)
}
