package config

import (
	"fmt"
	"strings"
)

// check runs the rows and rules over the merged configuration.
func (l *loader) check() {
	for i := range keyTable {
		k := &keyTable[i]
		if k.when != "" && !l.isOn(k.when) {
			continue
		}
		if problem := k.problem(l.cfg); problem != "" {
			l.refuse(Refusal{Reason: ErrRange, Key: k.path, Source: l.origin(k.path), Problem: problem,
				Remedy: "accepted: " + k.accepts()})
		}
	}
	for i := range ruleTable {
		r := &ruleTable[i]
		if r.when != "" && !l.isOn(r.when) || r.holds(l.cfg) {
			continue
		}
		k := keyByPath(r.key)
		reason := r.reason
		if reason == nil {
			reason = ErrRange
		}
		problem := "is " + k.shown(l.cfg)
		if k.secret {
			problem = "its value cannot be used"
		}
		l.refuse(Refusal{Reason: reason, Key: r.key, Source: l.origin(r.key), Problem: problem, Remedy: r.says})
	}
	l.checkBuild()
	l.checkFolders()
	if l.cfg.Cluster.Enabled && !l.rosterBroken() {
		l.checkRoster()
	}
	l.checkReplicaID()
	l.noteSmallCache()
}

// isOn reads a boolean key of the table.
func (l *loader) isOn(path string) bool { return keyByPath(path).at.text(l.cfg) == "true" }

// rosterBroken says that the nodes could not even be read, so that comparing them would only add noise.
func (l *loader) rosterBroken() bool {
	for _, r := range l.refused {
		if strings.HasPrefix(r.Key, nodesPath) {
			return true
		}
	}
	return false
}

// checkBuild refuses or warns about what this binary does not have.
func (l *loader) checkBuild() {
	if !l.src.Build.TLS {
		for _, path := range []string{"tcp.tls.enabled", "websocket.tls.enabled", "http.tls.enabled", "cluster.tls.enabled"} {
			if l.isOn(path) && (path != "cluster.tls.enabled" || l.cfg.Cluster.Enabled) {
				l.refuse(Refusal{Reason: ErrTLS, Key: path, Source: l.origin(path), Problem: "TLS is not available in this version",
					Remedy: "set it to false, or put a TLS proxy in front"})
			}
		}
	}
	for _, t := range []struct {
		key   string
		built bool
	}{{"quic.enabled", l.src.Build.QUIC}, {"websocket.enabled", l.src.Build.WebSocket},
		{"http.enabled", l.src.Build.HTTP}, {"telemetry.enabled", l.src.Build.Telemetry}} {
		if !t.built && l.isOn(t.key) {
			l.warn("%s: not available in this version, nothing is started for it", t.key)
		}
	}
}

// checkReplicaID compares --replica-id with the cluster section.
func (l *loader) checkReplicaID() {
	const flag = "--replica-id"
	given := l.src.ReplicaID
	switch {
	case !l.cfg.Cluster.Enabled:
		if given != nil && *given != 0 {
			l.refuse(Refusal{Reason: ErrReplicaID, Key: flag, Source: "command line",
				Problem: fmt.Sprintf("is %d and cluster.enabled is false", *given), Remedy: "leave it out or enable the cluster"})
		}
	case given == nil:
		l.refuse(Refusal{Reason: ErrReplicaID, Key: flag, Source: "command line",
			Problem: "is missing and cluster.enabled is true", Remedy: "name the cluster.nodes[].replica_id of this process"})
	default:
		l.cfg.ReplicaID = *given
		if l.cfg.Self() == nil && !l.rosterBroken() {
			l.refuse(Refusal{Reason: ErrReplicaID, Key: flag, Source: "command line",
				Problem: fmt.Sprintf("is %d, and no element of cluster.nodes has that replica_id", *given),
				Remedy:  "use one of the roster"})
		}
	}
}

// noteSmallCache warns where the bound on transfers does not even hold two of them.
func (l *loader) noteSmallCache() {
	if l.cfg.Partition.TransferServedCacheBytesMax < 2*l.cfg.Partition.TransferArtifactBytesMax {
		l.warn("partition.transfer_served_cache_bytes_max: holds fewer than two artifacts of " +
			"partition.transfer_artifact_bytes_max, state transfers are served one at a time")
	}
}
