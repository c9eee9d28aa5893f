package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/inspect"
)

// ExitWarnings is the exit code of a verification that found nothing worse than what the next start copes with.
const ExitWarnings = 2

// newInspectVerify checks a whole directory.
func newInspectVerify(f *inspectFlags) *cobra.Command {
	var live bool
	var workers int
	cmd := &cobra.Command{
		Use:   "verify [DIR]",
		Short: "Verify a whole data directory to the last byte, offline",
		Long: "Verify a whole data directory offline: names, metadata, and every batch of every partition. Nothing is written.\n\n" +
			"Every finding says what the next start would make of it and what to do. Errors: the server will refuse to start, a " +
			"partition will be fenced, or messages are lost. Warnings: the next start repairs, discards or works around it.\n" +
			"Exit codes: 0 in order, 2 warnings only, 1 errors or not verified, 64 usage.",
		Args: arguments(0, 1),
	}
	cmd.Flags().BoolVar(&live, "live", false, "verify although a server is using the directory")
	cmd.Flags().IntVar(&workers, "workers", 0, "partitions read at once (default: one for each processor, 2 to 4)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			f.data = args[0]
		}
		o, err := f.target(cmd)
		if err != nil {
			return err
		}
		inUse, err := warnInUse(cmd, o.Layout.Path())
		if err != nil {
			return err
		}
		if inUse && !live {
			return errLive
		}
		bar := newProgress(cmd.ErrOrStderr())
		o.Workers, o.Progress = workers, bar.at
		report, err := inspect.Verify(o)
		bar.end()
		if err != nil {
			return err
		}
		if err := f.print(cmd, report); err != nil {
			return err
		}
		switch {
		case report.Errors > 0:
			return &errQuiet{ExitFailure}
		case report.Warnings > 0:
			return &errQuiet{ExitWarnings}
		}
		return nil
	}
	return cmd
}

// progress draws one line over and over on a terminal, and nothing elsewhere.
type progress struct {
	out   io.Writer
	on    bool
	start time.Time
	mu    sync.Mutex
	shown time.Time
	drawn bool
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, start: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.on = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) at(done inspect.Progress) {
	if !p.on {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.shown) < 200*time.Millisecond || time.Since(p.start) < time.Second {
		return
	}
	p.shown, p.drawn = time.Now(), true
	_, _ = fmt.Fprintf(p.out, "\rverified %d of %d partitions, %d of %d MiB, %.0f MiB/s ", done.PartitionsDone, done.Partitions,
		done.BytesDone>>20, done.Bytes>>20, float64(done.BytesDone>>20)/time.Since(p.start).Seconds())
}

func (p *progress) end() {
	if p.drawn {
		_, _ = fmt.Fprint(p.out, "\r\033[K")
	}
}
