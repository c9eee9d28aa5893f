package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
)

var (
	errForced = errors.New("stopped by a second signal before the drain was over; nothing acknowledged is lost")
	errLate   = errors.New("the server did not stop within system.sharding.shutdown_join_timeout")
)

// runUntilStopped runs the server and turns signals into its end. The first one starts the drain; a second
// SIGINT or SIGTERM, or the join timeout, abandons it, which is safe because every start is a recovery.
func runUntilStopped(serve ServeFunc, cfg *config.Config, log *slog.Logger, dir *datadir.Dir) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- guarded(func() error { return serve(ctx, cfg, log, dir) })
	}()
	select {
	case err := <-ended:
		return err
	case received := <-signals:
		log.Info("Ctrl-C received; signalling server shutdown", "signal", received)
		stop()
	}
	late := time.NewTimer(cfg.System.Sharding.ShutdownJoinTimeout)
	defer late.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-late.C:
			return errLate
		case received := <-signals:
			if received == syscall.SIGHUP {
				log.Warn("the server is already stopping, the signal is ignored", "signal", received)
				continue
			}
			return errForced
		}
	}
}
