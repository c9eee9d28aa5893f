package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
)

// serverAlias is the other name of the program, under which it is only the server.
const serverAlias = "iggy-server"

// ServeFunc runs the server: it recovers, listens, writes the runtime file and serves until ctx is done, then
// drains and returns nil. An error that has a method ExitStatus() int decides the exit code of the process and
// skips the clean-up. The directory is open and stays so until ServeFunc has returned.
type ServeFunc func(ctx context.Context, cfg *config.Config, log *slog.Logger, dir *datadir.Dir) error

// Option configures Root.
type Option func(*program)

// WithServe gives the server that serve runs, and says what it can do.
func WithServe(serve ServeFunc, build config.Build) Option {
	return func(p *program) { p.serve, p.build = serve, build }
}

// program is what the subcommands share.
type program struct {
	serve ServeFunc
	build config.Build
}

var errNotLinked = errors.New("this program was built without the server")

// subcommands in the order of the help text.
var subcommands = []func(*program) *cobra.Command{
	newServe,
	newQuickstart,
	newBench,
	newConfig,
	newInspect,
}

// Root makes the command tree. The command is executed by Main, which also knows the exit codes.
func Root(options ...Option) *cobra.Command {
	p := &program{serve: func(context.Context, *config.Config, *slog.Logger, *datadir.Dir) error { return errNotLinked }}
	for _, option := range options {
		option(p)
	}
	root := &cobra.Command{
		Use:           "galgo",
		Short:         "A replicated message-streaming server that speaks the Iggy protocol",
		Long:          "galgo keeps streams of messages in partitioned, replicated, append-only logs and speaks the Iggy protocol.\n\nWithout a subcommand it is the server.",
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	asServer(root, p)
	for _, subcommand := range subcommands {
		root.AddCommand(subcommand(p))
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	return root
}

// noArguments refuses arguments where only flags and subcommands make sense.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return usage(cmd, err)
}

// addVersion gives a command -V and --version.
func addVersion(cmd *cobra.Command) {
	cmd.Version = protocol.ProductVersion
	cmd.SetVersionTemplate("galgo {{.Version}}\n")
	cmd.Flags().BoolP("version", "V", false, "print the version")
}

// Main runs the program with its arguments, the name included, and gives its exit code.
func Main(args []string, stdout, stderr io.Writer, options ...Option) int {
	root := Root(options...)
	root.SetOut(stdout)
	root.SetErr(stderr)
	rest := []string{}
	if len(args) > 0 {
		rest = append(rest, args[1:]...)
		if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == serverAlias {
			rest = append([]string{"serve"}, rest...)
		}
	}
	root.SetArgs(rest)
	err := guarded(root.Execute)
	report(stderr, err)
	return exitCode(err)
}
