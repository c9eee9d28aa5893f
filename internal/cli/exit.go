package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of the program. The server can end with others, through errors that have an ExitStatus.
const (
	ExitOK      = 0
	ExitFailure = 1   // the start was refused, or the server failed or did not stop in time
	ExitUsage   = 64  // the command line makes no sense
	ExitPanic   = 101 // an invariant is broken
)

// usageError is a command line that makes no sense.
type usageError struct {
	err  error
	help string
}

func (e *usageError) Error() string { return e.err.Error() + "; see " + e.help }

func (e *usageError) Unwrap() error { return e.err }

// usage marks an error as one of the command line, for exit code 64.
func usage(cmd *cobra.Command, err error) error {
	return &usageError{err: err, help: cmd.CommandPath() + " --help"}
}

// panicError is a panic that was caught at the edge of the program.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panicked at: %v\n%s", e.value, e.stack) }

// guarded turns a panic into an error, so that it has an exit code of its own.
func guarded(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return run()
}

// exitStatus is the exit code that an error brings along.
func exitStatus(err error) (int, bool) {
	var status interface{ ExitStatus() int }
	if errors.As(err, &status) {
		return status.ExitStatus(), true
	}
	return 0, false
}

func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if code, ok := exitStatus(err); ok {
		return code
	}
	var wrongUsage *usageError
	var broken *panicError
	switch {
	case errors.As(err, &wrongUsage):
		return ExitUsage
	case errors.As(err, &broken):
		return ExitPanic
	}
	return ExitFailure
}

// report writes an error to standard error, one line for each problem.
func report(stderr io.Writer, err error) {
	if err == nil || err.Error() == "" { // what there was to say has been said
		return
	}
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(stderr, "galgo: %s\n", strings.TrimRight(line, "\n"))
	}
}
