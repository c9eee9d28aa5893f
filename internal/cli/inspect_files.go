package cli

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/inspect"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// emit writes rows to standard output, as text or as one JSON object a line.
func (f *inspectFlags) emit(cmd *cobra.Command) inspect.Emit {
	if !f.json {
		return func(r inspect.Row) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), r.Text())
			return err
		}
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetEscapeHTML(false)
	return func(r inspect.Row) error { return e.Encode(r) }
}

// metadataFile is the argument, or the file of that name in the metadata folder of the data directory.
func (f *inspectFlags) metadataFile(cmd *cobra.Command, args []string, name string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	o, err := f.target(cmd)
	if err != nil {
		return "", err
	}
	if _, err := warnInUse(cmd, o.Layout.Path()); err != nil {
		return "", err
	}
	return path.Join(o.Layout.Metadata(), name), nil
}

// inspectFiles are the subcommands that show one kind of file.
func inspectFiles(f *inspectFlags) []*cobra.Command {
	return []*cobra.Command{
		newInspectSuperblock(f), newInspectJournal(f), newInspectSnapshot(f), newInspectSegment(f), newInspectIndex(f),
		newInspectOffsets(f), newInspectPartition(f),
	}
}

func newInspectSuperblock(f *inspectFlags) *cobra.Command {
	return &cobra.Command{
		Use: "superblock [PATH]", Short: "Show the consensus record of a group: one slot, or both of a directory (default: of the metadata)",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := f.metadataFile(cmd, args, "")
			if err != nil {
				return err
			}
			return inspect.DescribeSuperblock(vfs.OS, path.Clean(name), f.emit(cmd))
		},
	}
}

func newInspectJournal(f *inspectFlags) *cobra.Command {
	var q inspect.JournalQuery
	cmd := &cobra.Command{
		Use: "journal [PATH]", Short: "Show the metadata journal, operation by operation, each verified", Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := f.metadataFile(cmd, args, wal.JournalName)
			if err != nil {
				return err
			}
			return inspect.DescribeJournal(vfs.OS, journalOf(name), q, f.emit(cmd))
		},
	}
	cmd.Flags().Uint64Var(&q.Op, "op", 0, "only this operation")
	cmd.Flags().Uint64Var(&q.From, "from", 0, "from this operation on")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most so many operations (default: all)")
	cmd.Flags().BoolVar(&q.Body, "body", false, "print the bodies in hexadecimal; they hold hashes of passwords and tokens")
	return cmd
}

// journalOf is the journal beside a mirror, or in a directory.
func journalOf(name string) string {
	if info, err := vfs.OS.Stat(name); err == nil && info.IsDir {
		return path.Join(name, wal.JournalName)
	}
	if path.Base(name) == wal.MirrorName {
		return path.Join(path.Dir(name), wal.JournalName)
	}
	return name
}

func newInspectSnapshot(f *inspectFlags) *cobra.Command {
	return &cobra.Command{
		Use: "snapshot [PATH]", Short: "Show the snapshot of the metadata", Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := f.metadataFile(cmd, args, snapshot.FileName)
			if err != nil {
				return err
			}
			return inspect.DescribeSnapshot(vfs.OS, name, f.emit(cmd))
		},
	}
}

func newInspectSegment(f *inspectFlags) *cobra.Command {
	var q inspect.SegmentQuery
	cmd := &cobra.Command{
		Use: "segment PATH", Short: "Show a log, batch by batch, each verified", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect.DescribeSegment(vfs.OS, args[0], q, f.emit(cmd))
		},
	}
	cmd.Flags().BoolVar(&q.Messages, "messages", false, "list the messages of each batch")
	cmd.Flags().IntVar(&q.Payload, "payload", 0, "list them with so many bytes of each payload")
	cmd.Flags().Uint64Var(&q.From, "from", 0, "from this offset on")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most so many batches (default: all)")
	return cmd
}

func newInspectIndex(f *inspectFlags) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "index PATH", Short: "Show an index and how it fits the log beside it", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect.DescribeIndex(vfs.OS, args[0], limit, f.emit(cmd))
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "at most so many entries (default: all)")
	return cmd
}

func newInspectOffsets(f *inspectFlags) *cobra.Command {
	return &cobra.Command{
		Use: "offsets DIR", Short: "Show the stored consumer offsets of a partition: its directory, or stream/topic/partition", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := f.partitionDir(cmd, args[0])
			if err != nil {
				return err
			}
			return inspect.DescribeOffsets(vfs.OS, dir, f.emit(cmd))
		},
	}
}

func newInspectPartition(f *inspectFlags) *cobra.Command {
	return &cobra.Command{
		Use: "partition STREAM/TOPIC/PARTITION", Short: "Show everything of one partition: by its numbers, or its directory", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := f.partitionDir(cmd, args[0])
			if err != nil {
				return err
			}
			return inspect.DescribePartition(vfs.OS, dir, f.emit(cmd))
		},
	}
}

// partitionDir is the directory of a partition that is named by its three numbers, or by a path.
func (f *inspectFlags) partitionDir(cmd *cobra.Command, name string) (string, error) {
	parts := strings.Split(name, "/")
	var ids [3]uint32
	numbers := len(parts) == len(ids)
	for i := 0; numbers && i < len(ids); i++ {
		ids[i], numbers = datadir.ParseNumber(parts[i])
	}
	if !numbers {
		return filepath.Clean(name), nil
	}
	o, err := f.target(cmd)
	if err != nil {
		return "", err
	}
	_, err = warnInUse(cmd, o.Layout.Path())
	return o.Layout.Partition(ids[0], ids[1], ids[2]), err
}

// any shows the overview of a data directory, or what a path is by its name.
func (f *inspectFlags) any(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return f.overview(cmd)
	}
	name := filepath.Clean(args[0])
	kind, err := inspect.Detect(vfs.OS, name)
	if err != nil {
		return err
	}
	emit := f.emit(cmd)
	switch kind {
	case inspect.DataDirectory:
		f.data = name
		return f.overview(cmd)
	case inspect.PartitionDirectory:
		return inspect.DescribePartition(vfs.OS, name, emit)
	case inspect.SuperblockFile:
		return inspect.DescribeSuperblock(vfs.OS, name, emit)
	case inspect.JournalFile:
		return inspect.DescribeJournal(vfs.OS, journalOf(name), inspect.JournalQuery{}, emit)
	case inspect.SnapshotFile:
		return inspect.DescribeSnapshot(vfs.OS, name, emit)
	case inspect.SegmentFile:
		return inspect.DescribeSegment(vfs.OS, name, inspect.SegmentQuery{}, emit)
	case inspect.IndexFile:
		return inspect.DescribeIndex(vfs.OS, name, 0, emit)
	case inspect.AnchorFile, inspect.OwnerFile:
		return inspect.DescribeFile(vfs.OS, name, kind, emit)
	}
	return fmt.Errorf("%s is no file of a data directory by its name; see %s --help", name, cmd.CommandPath())
}

func (f *inspectFlags) overview(cmd *cobra.Command) error {
	o, err := f.target(cmd)
	if err != nil {
		return err
	}
	if _, err := warnInUse(cmd, o.Layout.Path()); err != nil {
		return err
	}
	ov, err := inspect.Survey(o)
	if err != nil {
		return err
	}
	return f.print(cmd, ov)
}
