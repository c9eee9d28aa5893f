package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/telemetry"
)

// newServe is the server.
func newServe(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server (also without a subcommand)",
		Long: "Run the server until SIGINT, SIGTERM or SIGHUP; it then drains and stops. A second SIGINT or SIGTERM ends it at once.\n\n" +
			"Every setting has an environment variable, see 'galgo config keys'.",
		Args: noArguments,
	}
	asServer(cmd, p)
	return cmd
}

// serveFlags are the flags of the server.
type serveFlags struct {
	configFile  string
	fresh       bool
	defaultRoot bool
	replicaID   uint8
}

// asServer gives a command the flags of the server and makes it run the server.
func asServer(cmd *cobra.Command, p *program) {
	flags := &serveFlags{}
	cmd.Flags().BoolVarP(&flags.fresh, "fresh", "f", false, "delete the data directory before starting")
	cmd.Flags().BoolVar(&flags.defaultRoot, "with-default-root-credentials", false,
		"a new root user is iggy with password iggy unless the environment says otherwise")
	addSourceFlags(cmd, flags)
	addVersion(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runServer(p, flags.sources(cmd, p), flags.fresh, cmd.OutOrStdout())
	}
}

// addSourceFlags adds the flags that decide what the configuration is.
func addSourceFlags(cmd *cobra.Command, flags *serveFlags) {
	cmd.Flags().StringVar(&flags.configFile, "config", "", "configuration file (default: ./galgo.toml if it exists)")
	cmd.Flags().Uint8Var(&flags.replicaID, "replica-id", 0, "which cluster.nodes[].replica_id this process is")
}

func (f *serveFlags) sources(cmd *cobra.Command, p *program) config.Sources {
	src := config.Sources{File: f.configFile, Environ: os.Environ(), DefaultRoot: f.defaultRoot, Build: p.build}
	if cmd.Flags().Changed("replica-id") {
		id := int(f.replicaID)
		src.ReplicaID = &id
	}
	return src
}

// runServer starts the server and waits for its end.
func runServer(p *program, src config.Sources, fresh bool, stdout io.Writer) error {
	logging := telemetry.NewLogging(stdout, os.Getenv("NO_COLOR") == "")
	log := logging.Logger()
	log.Info("galgo is starting", "version", protocol.ProductVersion, "protocol", protocol.ServerVersion, "pid", os.Getpid())
	loaded, err := config.Load(src)
	if err != nil {
		return err
	}
	filter, err := logFilter(loaded, log)
	if err != nil {
		return err
	}
	dir, err := openDir(loaded.Config, fresh, log)
	if err != nil {
		return err
	}
	if err := logging.Start(filter, logFile(loaded.Config, dir)); err != nil {
		return errors.Join(err, dir.Close())
	}
	announce(loaded, dir, log)
	err = runUntilStopped(p.serve, loaded.Config, log, dir)
	if code, fatal := exitStatus(err); fatal {
		log.Error("the server stopped on a fatal condition", "exit_status", code, "error", err)
		return errors.Join(err, logging.Close())
	}
	if err == nil {
		err = dir.Close()
	} else {
		log.Error("the server failed", "error", err)
	}
	if err == nil {
		log.Info("server shutdown complete")
	}
	return errors.Join(err, logging.Close())
}

// openDir takes the data directory.
func openDir(cfg *config.Config, fresh bool, log *slog.Logger) (*datadir.Dir, error) {
	if fresh && cfg.Cluster.Enabled {
		log.Warn("--fresh in a cluster: only this replica is wiped, its peers have to fill it again")
	}
	dir, err := datadir.Open(datadir.Options{Path: cfg.System.Path, Fresh: fresh, Folders: foldersOf(cfg)})
	if err != nil {
		return nil, err
	}
	if cfg.Cluster.Enabled && dir.FirstStart() && !cfg.Root.Given {
		return nil, errors.Join(config.MissingRoot(), dir.Close())
	}
	return dir, nil
}

// foldersOf are the configured names inside the data directory.
func foldersOf(cfg *config.Config) datadir.Folders {
	return datadir.Folders{
		Runtime: cfg.System.RuntimePath, Logs: cfg.System.Logging.Path, Streams: cfg.System.StreamPath,
		Topics: cfg.System.TopicPath, Partitions: cfg.System.PartitionPath,
	}
}

// logFilter reads the filter. A bad RUST_LOG, which may be meant for another program, only warns.
func logFilter(loaded *config.Loaded, log *slog.Logger) (telemetry.Filter, error) {
	filter, err := telemetry.ParseFilter(loaded.LogFilter)
	if err != nil && loaded.LogFilter != loaded.System.Logging.Level {
		log.Warn("RUST_LOG is ignored", "error", err)
		filter, err = telemetry.ParseFilter(loaded.System.Logging.Level)
	}
	if err != nil {
		return filter, fmt.Errorf("system.logging.level: %w", err)
	}
	return filter, nil
}

func logFile(cfg *config.Config, dir *datadir.Dir) *telemetry.FileOptions {
	l := cfg.System.Logging
	if !l.FileEnabled {
		return nil
	}
	return &telemetry.FileOptions{Path: filepath.Join(dir.Logs(), datadir.LogFile), MaxFileBytes: uint64(l.MaxFileSize),
		MaxTotalBytes: uint64(l.MaxTotalSize), CheckInterval: l.RotationCheckInterval, Retention: l.Retention}
}

// announce logs where the configuration comes from and what it is.
func announce(loaded *config.Loaded, dir *datadir.Dir, log *slog.Logger) {
	file := loaded.File
	if file == "" {
		file = "none"
	}
	log.Info("configuration loaded", "file", file, "data", dir.Path())
	for _, o := range loaded.Overrides {
		log.Info("configuration override", "variable", o.Name, "key", o.Key, "value", o.Value)
	}
	for _, warning := range loaded.Warnings {
		log.Warn(warning)
	}
	if !loaded.Display {
		return
	}
	settings := loaded.Settings()
	fields := make([]any, 0, 2*len(settings))
	for _, s := range settings {
		fields = append(fields, s.Key, s.Value)
	}
	log.Info("effective configuration", fields...)
}
