package config

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/galgolog/galgo/internal/units"
)

// rule is a condition that more than one key, or more than a range, is needed to state.
type rule struct {
	key    string // the key that is blamed
	when   string // the boolean that switches the rule on; empty: always
	says   string // the condition, as the remedy of the refusal and in the documentation
	reason error  // nil: ErrRange
	holds  func(*Config) bool
}

const (
	secretBytesMin      = 32
	heartbeatsInTimeout = 4 // heartbeats that may be lost before a primary is suspected
	framesPerWALFile    = units.MiB
	poolPageBytes       = 4096
)

var ruleTable = []rule{
	{key: "system.encryption.enabled", reason: ErrEncryption,
		says:  "encryption at rest is not offered yet: set it to false, or encrypt the volume",
		holds: func(c *Config) bool { return !c.System.Encryption.Enabled }},
	{key: "system.segment.archive_expired", reason: ErrUnsupported, says: "archiving is not offered: set it to false",
		holds: func(c *Config) bool { return !c.System.ArchiveExpired }},
	{key: "system.recovery.recreate_missing_state", reason: ErrUnsupported,
		says:  "missing state is never invented: set it to false",
		holds: func(c *Config) bool { return !c.System.RecreateMissingState }},
	{key: "system.logging.max_total_size", says: "must be 0 or at least system.logging.max_file_size",
		holds: func(c *Config) bool {
			return c.System.Logging.MaxTotalSize == 0 || c.System.Logging.MaxTotalSize >= c.System.Logging.MaxFileSize
		}},
	{key: "system.memory_pool.size", when: "system.memory_pool.enabled", says: "must be a multiple of 4096 bytes",
		holds: func(c *Config) bool { return c.System.MemoryPool.Size%poolPageBytes == 0 }},
	{key: "system.memory_pool.bucket_capacity", when: "system.memory_pool.enabled", says: "must be a power of two",
		holds: func(c *Config) bool {
			n := c.System.MemoryPool.BucketCapacity
			return n&(n-1) == 0
		}},
	{key: "system.sharding.shutdown_poll_interval", says: "must not be longer than system.sharding.shutdown_drain_timeout",
		holds: func(c *Config) bool {
			return c.System.Sharding.ShutdownPollInterval <= c.System.Sharding.ShutdownDrainTimeout
		}},
	{key: "system.sharding.shutdown_join_timeout", says: "must not be shorter than system.sharding.shutdown_drain_timeout",
		holds: func(c *Config) bool {
			return c.System.Sharding.ShutdownJoinTimeout >= c.System.Sharding.ShutdownDrainTimeout
		}},
	{key: "http.metrics.endpoint", when: "http.metrics.enabled", says: "must start with /",
		holds: func(c *Config) bool { return strings.HasPrefix(c.HTTP.MetricsEndpoint, "/") }},
	{key: "quic.stream_receive_window", says: "must not be larger than quic.receive_window",
		holds: func(c *Config) bool { return c.QUIC.StreamReceiveWindow <= c.QUIC.ReceiveWindow }},
	{key: "quic.certificate.self_signed", when: "quic.enabled",
		says: "false needs quic.certificate.cert_file and quic.certificate.key_file",
		holds: func(c *Config) bool {
			cert := c.QUIC.Certificate
			return cert.SelfSigned || cert.CertFile != "" && cert.KeyFile != ""
		}},
	{key: "websocket.max_write_buffer_size", says: "must be larger than websocket.write_buffer_size",
		holds: func(c *Config) bool {
			limit := c.WebSocket.MaxWriteBufferSize
			return limit == nil || *limit == 0 || *limit > orDefault(c.WebSocket.WriteBufferSize, 128*units.KiB)
		}},
	{key: "websocket.max_message_size", says: "must not be larger than message_bus.max_message_size",
		holds: func(c *Config) bool {
			return orDefault(c.WebSocket.MaxMessageSize, 0) <= c.MessageBus.MaxMessageSize
		}},
	{key: "websocket.max_frame_size",
		says: "must not be larger than websocket.max_message_size and message_bus.max_message_size",
		holds: func(c *Config) bool {
			frame := orDefault(c.WebSocket.MaxFrameSize, 0)
			message := orDefault(c.WebSocket.MaxMessageSize, 64*units.MiB)
			return frame <= message && frame <= c.MessageBus.MaxMessageSize
		}},
	{key: "metadata.journal_slots", says: "must be at least 4 times the larger of 64 and metadata.prepare_queue_depth",
		holds: func(c *Config) bool {
			return c.Metadata.JournalSlots >= 4*max(64, c.Metadata.PrepareQueueDepth)
		}},
	{key: "partition.transfer_artifact_bytes_max", says: "must be at least 1 GiB and message_bus.max_message_size",
		holds: func(c *Config) bool {
			return c.Partition.TransferArtifactBytesMax >= units.GiB+c.MessageBus.MaxMessageSize
		}},
	{key: "wal.file_size", says: "must be at least message_bus.max_message_size and 1 MiB",
		holds: func(c *Config) bool { return c.WAL.FileSize >= c.MessageBus.MaxMessageSize+framesPerWALFile }},
	{key: "wal.retained_bytes", says: "must be at least twice wal.file_size",
		holds: func(c *Config) bool { return c.WAL.RetainedBytes/2 >= c.WAL.FileSize }},
	{key: "message_bus.peer_queue_capacity", says: "must be larger than cluster.repair_chunk_max",
		holds: func(c *Config) bool { return c.MessageBus.PeerQueueCapacity > c.Cluster.RepairChunkMax }},
	{key: "cluster.superblock_wedged_fatal_timeout", says: "must be 0 or at least 30 s",
		holds: func(c *Config) bool {
			limit := c.Cluster.SuperblockWedgedFatalTimeout
			return limit == 0 || limit >= 30*time.Second
		}},
	{key: "cluster.heartbeat_timeout", when: clusterOn, says: "must be at least 4 times cluster.commit_broadcast_interval",
		holds: func(c *Config) bool {
			return c.Cluster.HeartbeatTimeout/heartbeatsInTimeout >= c.Cluster.CommitBroadcastInterval
		}},
	{key: "cluster.view_change_status_timeout", when: clusterOn,
		says: "must be at least 4 times cluster.view_change_retransmit_interval",
		holds: func(c *Config) bool {
			return c.Cluster.ViewChangeStatusTimeout/heartbeatsInTimeout >= c.Cluster.ViewChangeRetransmitInterval
		}},
	{key: "cluster.auth.enabled", when: clusterOn, reason: ErrClusterAuth, says: "true needs cluster.auth.shared_secret",
		holds: func(c *Config) bool { return !c.Cluster.Auth.Enabled || c.Cluster.Auth.SharedSecret != "" }},
	{key: "cluster.auth.shared_secret", when: clusterOn, reason: ErrClusterAuth, says: "needs at least 32 bytes",
		holds: func(c *Config) bool { return secretUsable(c.Cluster.Auth.SharedSecret) }},
	{key: "cluster.auth.previous_shared_secret", when: clusterOn, reason: ErrClusterAuth,
		says: "needs at least 32 bytes and must differ from cluster.auth.shared_secret",
		holds: func(c *Config) bool {
			previous := c.Cluster.Auth.PreviousSharedSecret
			return previous == "" || secretUsable(previous) && previous != c.Cluster.Auth.SharedSecret
		}},
	{key: "cluster.tls.enabled", when: clusterOn, says: "true needs cluster.auth.enabled",
		holds: func(c *Config) bool { return !c.Cluster.TLS.Enabled || c.Cluster.Auth.Enabled }},
	{key: "cluster.tls.self_signed", when: clusterOn,
		says: "false needs cluster.tls.cert_file, cluster.tls.key_file and cluster.tls.ca_file",
		holds: func(c *Config) bool {
			t := c.Cluster.TLS
			return !t.Enabled || t.SelfSigned || t.CertFile != "" && t.KeyFile != "" && t.CAFile != ""
		}},
}

const clusterOn = "cluster.enabled"

func orDefault(size *units.Size, otherwise units.Size) units.Size {
	if size == nil {
		return otherwise
	}
	return *size
}

func secretUsable(secret string) bool { return secret == "" || len(secret) >= secretBytesMin }

// checkFolders keeps folders inside the data directory and apart from each other: the runtime folder is
// deleted at every start, so a careless path would take data with it.
func (l *loader) checkFolders() {
	s := &l.cfg.System
	taken := map[string]string{"metadata": "the metadata", "state": "the state", "wal": "the write-ahead logs"}
	for _, f := range []struct{ key, path string }{
		{"system.stream.path", s.StreamPath}, {"system.logging.path", s.Logging.Path}, {"system.runtime.path", s.RuntimePath},
		{"system.topic.path", s.TopicPath}, {"system.partition.path", s.PartitionPath},
	} {
		clean := filepath.Clean(f.path)
		if strings.TrimSpace(f.path) == "" {
			continue
		}
		if !filepath.IsLocal(f.path) || clean == "." {
			l.refuse(Refusal{Reason: ErrRange, Key: f.key, Source: l.origin(f.key), Problem: "is " + quote(f.path),
				Remedy: "give a folder below the data directory, such as " + keyByPath(f.key).def})
			continue
		}
		if f.key == "system.topic.path" || f.key == "system.partition.path" {
			continue
		}
		first, _, _ := strings.Cut(filepath.ToSlash(clean), "/")
		if owner, used := taken[first]; used {
			l.refuse(Refusal{Reason: ErrRange, Key: f.key, Source: l.origin(f.key), Problem: "is " + quote(f.path),
				Remedy: "that folder belongs to " + owner + ", choose another"})
			continue
		}
		taken[first] = f.key
	}
}
