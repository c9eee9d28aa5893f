package server

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/session"
	"github.com/galgolog/galgo/internal/telemetry"
)

// rootUser gives the first user of a new data directory, with the hash of the password. Without credentials
// in the environment a password is made up and shown once.
func rootUser(cfg *config.Config, log *slog.Logger) (name, hash string, err error) {
	user := cfg.Root
	if !user.Given {
		password, err := config.RandomPassword(rand.Reader)
		if err != nil {
			return "", "", err
		}
		user.Username, user.Password = config.DefaultRootName, password
		log.Warn("no root credentials were given; a root user is made up, change its password after signing in", "username", user.Username)
		log.Warn("Generated root user password:", slog.Any("", telemetry.ConsoleOnly(password)))
	}
	hash, err = session.HashPassword([]byte(user.Password))
	return user.Username, hash, err
}

func sessionOptions(cfg *config.Config, n *node.Node, log *slog.Logger, dir *datadir.Dir) session.Options {
	o := session.Options{
		Node: n, Log: log, TokensMax: cfg.PersonalAccessToken.MaxTokensPerUser,
		MaxFrameBytes: int(cfg.MessageBus.MaxMessageSize), Roster: roster(cfg), DataPath: dir.Path(),
		Archive: func(section byte) (string, []byte, error) { return archiveSection(section, cfg, dir) },
	}
	if cfg.PersonalAccessToken.CleanerEnabled {
		o.TokenCleaner = cfg.PersonalAccessToken.CleanerInterval
	}
	if cfg.Heartbeat.Enabled {
		o.Heartbeat = cfg.Heartbeat.Interval
	}
	return o
}

// roster is the answer of a node without peers.
func roster(cfg *config.Config) func(uint16) command.ClusterMetadata {
	host := cfg.TCP.Address.Addr().String()
	return func(tcp uint16) command.ClusterMetadata {
		return command.ClusterMetadata{Name: "single-node", Nodes: []command.ClusterNode{{Name: "iggy-node", Host: host, TCP: tcp}}}
	}
}

var errNoSection = errors.New("no such section")

// archiveSection collects one file of a diagnostic archive. Nothing secret is in it: the configuration is
// the one with its secrets left out.
func archiveSection(section byte, cfg *config.Config, dir *datadir.Dir) (string, []byte, error) {
	switch section {
	case 1:
		content, err := listFiles(dir.Path())
		return "filesystem_overview.txt", content, err
	case 2:
		var b bytes.Buffer
		err := pprof.Lookup("goroutine").WriteTo(&b, 1)
		return "process_list.txt", b.Bytes(), err
	case 3:
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return "resource_usage.txt", fmt.Appendf(nil, "goroutines %d\nheap_bytes %d\nsystem_bytes %d\ncollections %d\n",
			runtime.NumGoroutine(), m.HeapAlloc, m.Sys, m.NumGC), nil
	case 4:
		return "test.txt", []byte("test\n"), nil
	case 5:
		content, err := readLogs(dir.Logs())
		return "server_logs.txt", content, err
	case 6:
		return "server_config.txt", cfg.TOML(), nil
	}
	return "", nil, errNoSection
}

// archiveMaxBytes bounds the logs that go into an archive.
const archiveMaxBytes = 16 << 20

// listFiles describes the data directory.
func listFiles(root string) ([]byte, error) {
	var b bytes.Buffer
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || b.Len() > archiveMaxBytes {
			return nil // what cannot be read is not listed
		}
		rel, relErr := filepath.Rel(root, path)
		info, infoErr := d.Info()
		if relErr == nil && infoErr == nil {
			fmt.Fprintf(&b, "%s %12d %s\n", info.Mode(), info.Size(), rel)
		}
		return nil
	})
	return b.Bytes(), err
}

// readLogs joins the newest log files, oldest first.
func readLogs(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var parts [][]byte
	total := 0
	for _, e := range entries { // the live file sorts before its archives, and .1 before .2
		if !strings.HasPrefix(e.Name(), datadir.LogFile) || total > archiveMaxBytes {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		parts = append(parts, b)
		total += len(b)
	}
	var out []byte
	for i := len(parts) - 1; i >= 0; i-- {
		out = append(out, parts[i]...)
	}
	return out, nil
}
