package node

import (
	"sync/atomic"
	"time"
)

// counter is a number that only grows. Safe for concurrent use.
type counter struct{ atomic.Uint64 }

// Inc adds one.
func (c *counter) Inc() { c.Add(1) }

// metrics are the counters of a node. They are read through Metrics.
type metrics struct {
	fenced         counter
	fencedBy       [fenceKinds]counter
	pollFaults     counter
	appends        counter
	appendMicros   counter
	slowAppends    counter
	appendFailures counter
	scrubBytes     counter
	scrubDamages   counter
	scrubPending   atomic.Uint64
	syncFailures   counter
	refusedFull    counter
	refusedDisk    counter
	refusedLog     counter
	journalWrites  counter
	logFailures    counter
	logCheckpoints counter
	replayed       counter

	checkpoints       counter
	checkpointsFailed counter
	checkpointMicros  counter
	snapshotBytes     counter // of the newest snapshot
}

func newMetrics() *metrics { return &metrics{} }

// slowAppend is the time above which an append is counted as slow: a copy to the page cache takes less.
const slowAppend = 2 * time.Millisecond

func (m *metrics) observeAppend(d time.Duration) {
	m.appends.Inc()
	m.appendMicros.Add(uint64(d.Microseconds()))
	if d > slowAppend {
		m.slowAppends.Inc()
	}
}

// Metric is one number that a node reports.
type Metric struct {
	Name, Help string
	Value      float64
	Gauge      bool // false: a counter
}

// Metrics returns the current numbers. Names use base units.
func (n *Node) Metrics() []Metric {
	m := n.metrics
	written, synced := n.View().Promises()
	list := []Metric{
		{"galgo_partitions_fenced_total", "Partitions stopped with a typed reason.", float64(m.fenced.Load()), false},
		{"galgo_poll_faults_total", "Polls that met bytes which could not be served.", float64(m.pollFaults.Load()), false},
		{"galgo_appends_total", "Vectored writes to segments.", float64(m.appends.Load()), false},
		{"galgo_append_seconds_total", "Time spent in writes to segments.", float64(m.appendMicros.Load()) / 1e6, false},
		{"galgo_appends_slow_total", "Writes to segments that took more than two milliseconds.", float64(m.slowAppends.Load()), false},
		{"galgo_append_failures_total", "Writes to segments that failed and were taken back.", float64(m.appendFailures.Load()), false},
		{"galgo_sync_failures_total", "Syncs of segments that failed.", float64(m.syncFailures.Load()), false},
		{"galgo_scrub_bytes_total", "Bytes of sealed segments that were verified in the background.", float64(m.scrubBytes.Load()), false},
		{"galgo_scrub_pending_bytes", "Bytes that the running scrub has still to verify.", float64(m.scrubPending.Load()), true},
		{"galgo_scrub_damages_total", "Damaged ranges that scrubs found.", float64(m.scrubDamages.Load()), false},
		{"galgo_requests_refused_full_total", "Requests answered 58 after waiting for room.", float64(m.refusedFull.Load()), false},
		{"galgo_requests_refused_disk_total", "Sends answered 58 because free space was below the watermark.", float64(m.refusedDisk.Load()), false},
		{"galgo_requests_refused_log_total", "Sends answered 58 because the shard log is far above its limit.", float64(m.refusedLog.Load()), false},
		{"galgo_shard_log_failures_total", "Tasks of shard logs that failed and are tried again.", float64(m.logFailures.Load()), false},
		{"galgo_partition_checkpoints_total", "Checkpoints of partitions in the shard logs.", float64(m.logCheckpoints.Load()), false},
		{"galgo_shard_log_replayed_total", "Operations replayed from the shard logs at the start.", float64(m.replayed.Load()), false},
		{"galgo_metadata_journal_batches_total", "Synced batches of the metadata journal.", float64(m.journalWrites.Load()), false},
		{"galgo_topics_written", "Topics whose messages are acknowledged once written to the page cache.", float64(written), true},
		{"galgo_topics_synced", "Topics whose messages are acknowledged after fsync.", float64(synced), true},
		{"galgo_metadata_journal_slots_used", "Operations in the metadata journal that no snapshot covers.", float64(n.meta.journal.Used()), true},
		{"galgo_metadata_checkpoints_total", "Checkpoints of the metadata group.", float64(m.checkpoints.Load()), false},
		{"galgo_metadata_checkpoints_failed_total", "Checkpoints of the metadata group that failed and are tried again.", float64(m.checkpointsFailed.Load()), false},
		{"galgo_metadata_checkpoint_seconds_total", "Time from the begin of a checkpoint to its end.", float64(m.checkpointMicros.Load()) / 1e6, false},
		{"galgo_metadata_snapshot_bytes", "Size of the newest metadata snapshot.", float64(m.snapshotBytes.Load()), true},
		{"galgo_tail_bytes", "Recent batches kept in memory for polls.", float64(n.tailBytes.Load()), true},
		{"galgo_buffer_live_bytes", "Message memory in use.", float64(n.pool.LiveBytes()), true},
		{"galgo_buffer_idle_bytes", "Message memory kept for reuse.", float64(n.pool.IdleBytes()), true},
		{"galgo_open_read_handles", "Segments held open for polls.", float64(n.openHandles.Load()), true},
	}
	for k := range fenceKinds {
		list = append(list, Metric{"galgo_partitions_fenced_" + k.String() + "_total",
			"Partitions stopped for a reason of that kind.", float64(m.fencedBy[k].Load()), false})
	}
	return list
}
