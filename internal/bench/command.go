package bench

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command returns the bench command with everything below it. Its arguments follow the grammar of the
// reference benchmark: global options, the kind, the options of the kind, the transport and its options.
// Global and kind options use the same short letters for different things, so that they count where they
// stand; that is why the command parses its arguments itself.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:                "bench",
		Short:              "Measure a running server, or what this machine allows",
		DisableFlagParsing: true,
		SilenceUsage:       true,
		RunE: func(cmd *cobra.Command, args []string) error {
			inner := newRoot()
			inner.SetArgs(args)
			inner.SetIn(cmd.InOrStdin())
			inner.SetOut(cmd.OutOrStdout())
			inner.SetErr(cmd.ErrOrStderr())
			return inner.ExecuteContext(cmd.Context())
		},
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:              "bench [options] <kind> [kind options] [tcp [transport options]]",
		Short:            "Measure a running server, or what this machine allows",
		SilenceUsage:     true,
		SilenceErrors:    true,
		TraverseChildren: true,
		Args:             cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return wrongUsage(cmd, fmt.Errorf("unknown kind of workload %q", args[0]))
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	var o options
	o.bind(root.Flags())
	for _, s := range kindSpecs {
		root.AddCommand(kindCommand(s, &o, root.Flags()))
	}
	root.AddCommand(calibrateCommand(), standInCommandLine())
	root.SetFlagErrorFunc(wrongUsage)
	return root
}

// usageError is a command line that makes no sense.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() + "; " + e.hint }

func (e *usageError) Unwrap() error { return e.err }

// ExitStatus is the exit code of the program: that of a wrong command line everywhere.
func (e *usageError) ExitStatus() int { return 64 }

func wrongUsage(cmd *cobra.Command, err error) error {
	return &usageError{err: err, hint: "see galgo " + cmd.CommandPath() + " --help"}
}

// misplaced says where a flag belongs that the command of a kind does not know and the command above it does.
func misplaced(kind *cobra.Command, before *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return wrongUsage(kind, err)
	}
	known := before.Lookup(unknown.GetSpecifiedName())
	if known == nil && len(unknown.GetSpecifiedShortnames()) == 1 {
		known = before.ShorthandLookup(unknown.GetSpecifiedShortnames())
	}
	if known == nil {
		return wrongUsage(kind, err)
	}
	return &usageError{err: err, hint: fmt.Sprintf("it stands before the kind: galgo bench --%s VALUE %s", known.Name, kind.Name())}
}

func calibrateCommand() *cobra.Command {
	var cal Calibration
	var output string
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure the ceiling of this machine with a stand-in that does the least a broker can do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := newPrinter(cmd.OutOrStdout(), output)
			if err != nil {
				return err
			}
			return calibrateAndPrint(cmd.Context(), cal, out)
		},
	}
	f := cmd.Flags()
	calibrationFlags(f, &cal)
	f.StringSliceVar(&cal.Rows, "rows", nil, "rows to run: "+rowNames()+"; or all (default: the first five)")
	f.IntVar(&cal.Rounds, "rounds", 1, "how often every row runs")
	f.StringVar(&output, "output", "text", "text or json")
	return cmd
}

func standInCommandLine() *cobra.Command {
	var dir string
	var pollBytes int64
	cmd := &cobra.Command{
		Use:    standInCommand,
		Short:  "Run the stand-in of a calibration until stdin ends",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStandIn(dir, pollBytes, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for data files")
	cmd.Flags().Int64Var(&pollBytes, "poll-bytes", 0, "size of the file that polls read")
	return cmd
}
