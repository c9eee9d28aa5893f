package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/inspect"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// inspectFlags are what the subcommands of inspect share.
type inspectFlags struct {
	program    *program
	data       string
	configFile string
	replicaID  uint8
	json       bool
}

// newInspect looks at a data directory without a server.
func newInspect(p *program) *cobra.Command {
	f := &inspectFlags{program: p}
	cmd := &cobra.Command{
		Use:   "inspect [PATH]",
		Short: "Look at a data directory, and verify it, without a server",
		Long: "Look at the files of a data directory. Nothing is written: a torn end stays, a damaged file stays.\n\n" +
			"Without a subcommand: an overview of the directory, or of PATH what it is, by its name.\n\n" +
			"The directory is that of --data, else that of the configuration that serve would use. While a server runs on it, its " +
			"files are in motion: what is shown may be torn at the end without being damaged.\n\n" +
			"With --json the overview and verify print one object, everything else one object a line; \"row\" says what it is.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if _, err := os.Stat(args[0]); err != nil && !strings.ContainsRune(args[0], filepath.Separator) {
					return noArguments(cmd, args)
				}
			}
			return arguments(0, 1)(cmd, args)
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.data, "data", "", "data directory (default: that of the configuration)")
	flags.StringVar(&f.configFile, "config", "", "configuration file (default: ./galgo.toml if it exists)")
	flags.Uint8Var(&f.replicaID, "replica-id", 0, "which cluster.nodes[].replica_id this process is")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	cmd.RunE = f.any
	cmd.AddCommand(newInspectVerify(f))
	cmd.AddCommand(inspectFiles(f)...)
	return cmd
}

// arguments refuses fewer than least and more than most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, fmt.Errorf("%s needs an argument", cmd.Name()))
		case len(args) > most:
			return usage(cmd, fmt.Errorf("unexpected argument %q", args[most]))
		}
		return nil
	}
}

// target finds the data directory and what the configuration says about its owner. A directory that is named on the
// command line speaks for itself: it may be a copy from elsewhere.
func (f *inspectFlags) target(cmd *cobra.Command) (inspect.Options, error) {
	o := inspect.Options{FS: vfs.OS, BootID: vfs.BootID()}
	if f.data != "" {
		path, err := filepath.Abs(f.data)
		o.Layout = datadir.NewLayout(path, datadir.Folders{})
		return o, err
	}
	src := config.Sources{File: f.configFile, Environ: os.Environ(), Build: f.program.build}
	if cmd.Flags().Changed("replica-id") {
		id := int(f.replicaID)
		src.ReplicaID = &id
	}
	loaded, err := config.Load(src)
	if err != nil {
		return o, fmt.Errorf("%w\nname the data directory with --data to look at it without a configuration", err)
	}
	path, err := filepath.Abs(loaded.System.Path)
	if err != nil {
		return o, err
	}
	o.Layout = datadir.NewLayout(path, foldersOf(loaded.Config))
	o.Want = &inspect.Identity{
		Cluster: protocol.ClusterID(loaded.Cluster.Name), Replica: uint8(loaded.ReplicaID), Replicas: 1,
		JournalSlots: loaded.Metadata.JournalSlots, ClientsTableMax: loaded.Metadata.ClientsTableMax,
	}
	return o, nil
}

// warnInUse tells that a server runs on the directory; the answer is whether one does.
func warnInUse(cmd *cobra.Command, data string) (bool, error) {
	pid, inUse, err := datadir.Holder(data)
	if err != nil || !inUse {
		return false, err
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "warning: a server (process %d) is using %s: its files are in motion, and what is torn at the end "+
		"now need not be damaged\n", pid, data)
	return true, nil
}

// printable is a result of inspect.
type printable interface{ Print(io.Writer) error }

func (f *inspectFlags) print(cmd *cobra.Command, result printable) error {
	if !f.json {
		return result.Print(cmd.OutOrStdout())
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(result)
}

// errQuiet ends the program with an exit code when everything was said.
type errQuiet struct{ status int }

func (e *errQuiet) Error() string   { return "" }
func (e *errQuiet) ExitStatus() int { return e.status }

var errLive = errors.New("verify needs a directory at rest: stop the server, or verify a copy; with --live files in motion are " +
	"verified all the same, and findings about them may be false")
