package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// roster is an enabled cluster of two; lines may override or add variables.
func roster(lines ...string) []string {
	environ := []string{"IGGY_CLUSTER_ENABLED=true"}
	for i := range 2 {
		for field, value := range map[string]any{"NAME": fmt.Sprintf("n%d", i), "IP": "127.0.0.1", "REPLICA_ID": i,
			"PORTS_TCP": 100 + 10*i, "PORTS_QUIC": 101 + 10*i, "PORTS_HTTP": 102 + 10*i,
			"PORTS_WEBSOCKET": 103 + 10*i, "PORTS_TCP_REPLICA": 104 + 10*i} {
			environ = append(environ, fmt.Sprintf("IGGY_CLUSTER_NODES_%d_%s=%v", i, field, value))
		}
	}
	for _, line := range lines {
		environ = append(environ, "GALGO_"+line)
	}
	return environ
}

const goodSecret = "CLUSTER_AUTH_SHARED_SECRET=0123456789abcdef0123456789abcdef"

// refusalCase is one way to be refused; the refusal must blame key and give reason.
type refusalCase struct {
	name    string
	file    string
	environ []string
	key     string
	reason  error
}

func one(key, variable string, reason error) refusalCase {
	return refusalCase{name: variable, environ: []string{"IGGY_" + variable}, key: key, reason: reason}
}

func inCluster(key string, reason error, lines ...string) refusalCase {
	return refusalCase{name: "cluster " + strings.Join(lines, " "), environ: roster(lines...), key: key, reason: reason}
}

func inFile(key string, reason error, text string) refusalCase {
	return refusalCase{name: "file " + text, file: text, key: key, reason: reason}
}

var refusalCases = []refusalCase{
	one("tcp.enabled", "TCP_ENABLED=yes", ErrValue),
	one("tcp.address", "TCP_ADDRESS=localhost:8090", ErrValue),
	one("tcp.address", "TCP_ADDRESS=127.0.0.1", ErrValue),
	one("heartbeat.interval", "HEARTBEAT_INTERVAL=5", ErrValue),
	one("heartbeat.interval", "HEARTBEAT_INTERVAL=0", ErrRange),
	one("consumer_group.rebalancing_timeout", "CONSUMER_GROUP_REBALANCING_TIMEOUT=0", ErrRange),
	one("data_maintenance.messages.interval", "DATA_MAINTENANCE_MESSAGES_INTERVAL=none", ErrRange),
	one("personal_access_token.cleaner.interval", "PERSONAL_ACCESS_TOKEN_CLEANER_INTERVAL=0s", ErrRange),
	one("personal_access_token.max_tokens_per_user", "PERSONAL_ACCESS_TOKEN_MAX_TOKENS_PER_USER=0", ErrRange),
	one("personal_access_token.max_tokens_per_user", "PERSONAL_ACCESS_TOKEN_MAX_TOKENS_PER_USER=-1", ErrValue),
	one("http.max_request_size", "HTTP_MAX_REQUEST_SIZE=-2 MB", ErrValue),
	one("http.max_request_size", "HTTP_MAX_REQUEST_SIZE=2 XB", ErrValue),
	one("http.jwt.algorithm", "HTTP_JWT_ALGORITHM=RS256", ErrRange),
	one("http.jwt.access_token_expiry", "HTTP_JWT_ACCESS_TOKEN_EXPIRY=default", ErrValue),
	one("http.jwt.access_token_expiry", "HTTP_JWT_ACCESS_TOKEN_EXPIRY=4294967296s", ErrValue),
	one("http.cors.allowed_origins", "HTTP_CORS_ALLOWED_ORIGINS=*", ErrValue),
	one("http.metrics.endpoint", "HTTP_METRICS_ENDPOINT=metrics", ErrRange),
	one("http.jwt.trusted_issuers[0].user_id", "HTTP_JWT_TRUSTED_ISSUERS_0_USER_ID=0", ErrRange),
	one("http.jwt.trusted_issuers[0].issuer", "HTTP_JWT_TRUSTED_ISSUERS_1_ISSUER=x", ErrValue),
	one("quic.max_concurrent_bidi_streams", "QUIC_MAX_CONCURRENT_BIDI_STREAMS=4294967296", ErrRange),
	one("quic.initial_mtu", "QUIC_INITIAL_MTU=1199 B", ErrRange),
	one("quic.initial_mtu", "QUIC_INITIAL_MTU=64 KiB", ErrRange),
	one("quic.receive_window", "QUIC_RECEIVE_WINDOW=4 GiB", ErrRange),
	one("quic.send_window", "QUIC_SEND_WINDOW=4 EiB", ErrRange),
	one("quic.stream_receive_window", "QUIC_STREAM_RECEIVE_WINDOW=65 MiB", ErrRange),
	one("quic.stream_receive_window", "QUIC_STREAM_RECEIVE_WINDOW=0", ErrRange),
	one("quic.certificate.self_signed", "QUIC_CERTIFICATE_SELF_SIGNED=false", ErrRange),
	one("websocket.read_buffer_size", "WEBSOCKET_READ_BUFFER_SIZE=0", ErrRange),
	one("websocket.write_buffer_size", "WEBSOCKET_WRITE_BUFFER_SIZE=unlimited", ErrRange),
	one("websocket.max_write_buffer_size", "WEBSOCKET_MAX_WRITE_BUFFER_SIZE=128 KiB", ErrRange),
	one("websocket.max_message_size", "WEBSOCKET_MAX_MESSAGE_SIZE=65 MiB", ErrRange),
	one("websocket.max_frame_size", "WEBSOCKET_MAX_FRAME_SIZE=65 MiB", ErrRange),
	one("system.path", "SYSTEM_PATH= ", ErrRange),
	one("system.runtime.path", "SYSTEM_RUNTIME_PATH=..", ErrRange),
	one("system.runtime.path", "SYSTEM_RUNTIME_PATH=.", ErrRange),
	one("system.runtime.path", "SYSTEM_RUNTIME_PATH=/tmp/x", ErrRange),
	one("system.runtime.path", "SYSTEM_RUNTIME_PATH=streams", ErrRange),
	one("system.runtime.path", "SYSTEM_RUNTIME_PATH=metadata/x", ErrRange),
	one("system.logging.path", "SYSTEM_LOGGING_PATH=wal", ErrRange),
	one("system.topic.path", "SYSTEM_TOPIC_PATH=../x", ErrRange),
	one("system.logging.level", "SYSTEM_LOGGING_LEVEL= ", ErrRange),
	one("system.logging.max_total_size", "SYSTEM_LOGGING_MAX_TOTAL_SIZE=499 MB", ErrRange),
	one("system.logging.rotation_check_interval", "SYSTEM_LOGGING_ROTATION_CHECK_INTERVAL=999ms", ErrRange),
	one("system.logging.retention", "SYSTEM_LOGGING_RETENTION=0", ErrRange),
	one("system.encryption.enabled", "SYSTEM_ENCRYPTION_ENABLED=true", ErrEncryption),
	one("system.segment.archive_expired", "SYSTEM_SEGMENT_ARCHIVE_EXPIRED=true", ErrUnsupported),
	one("system.recovery.recreate_missing_state", "SYSTEM_RECOVERY_RECREATE_MISSING_STATE=true", ErrUnsupported),
	one("system.memory_pool.size", "SYSTEM_MEMORY_POOL_SIZE=511 MiB", ErrRange),
	one("system.memory_pool.size", "SYSTEM_MEMORY_POOL_SIZE=600000001", ErrRange),
	one("system.memory_pool.bucket_capacity", "SYSTEM_MEMORY_POOL_BUCKET_CAPACITY=64", ErrRange),
	one("system.memory_pool.bucket_capacity", "SYSTEM_MEMORY_POOL_BUCKET_CAPACITY=129", ErrRange),
	one("system.sharding.cpu_allocation", "SYSTEM_SHARDING_CPU_ALLOCATION=0", ErrValue),
	one("system.sharding.cpu_allocation", "SYSTEM_SHARDING_CPU_ALLOCATION=4..4", ErrValue),
	one("system.sharding.inbox_capacity", "SYSTEM_SHARDING_INBOX_CAPACITY=1048577", ErrRange),
	one("system.sharding.shutdown_drain_timeout", "SYSTEM_SHARDING_SHUTDOWN_DRAIN_TIMEOUT=601s", ErrRange),
	one("system.sharding.shutdown_poll_interval", "SYSTEM_SHARDING_SHUTDOWN_POLL_INTERVAL=6s", ErrRange),
	one("system.sharding.shutdown_poll_interval", "SYSTEM_SHARDING_SHUTDOWN_DRAIN_TIMEOUT=10ms", ErrRange),
	one("system.sharding.shutdown_join_timeout", "SYSTEM_SHARDING_SHUTDOWN_JOIN_TIMEOUT=9s", ErrRange),
	one("system.sharding.shutdown_join_timeout", "SYSTEM_SHARDING_SHUTDOWN_JOIN_TIMEOUT=901s", ErrRange),
	one("system.sharding.reconcile_periodic_interval", "SYSTEM_SHARDING_RECONCILE_PERIODIC_INTERVAL=31s", ErrRange),
	one("system.free_space_min", "SYSTEM_FREE_SPACE_MIN=plenty", ErrValue),
	one("telemetry.logs.transport", "TELEMETRY_LOGS_TRANSPORT=udp", ErrRange),
	{name: "telemetry without a name", environ: []string{"IGGY_TELEMETRY_ENABLED=true", "IGGY_TELEMETRY_SERVICE_NAME= "},
		key: "telemetry.service_name", reason: ErrRange},
	one("metadata.prepare_queue_depth", "METADATA_PREPARE_QUEUE_DEPTH=128", ErrRange),
	one("metadata.journal_slots", "METADATA_JOURNAL_SLOTS=255", ErrRange),
	{name: "slots against depth", environ: []string{"IGGY_METADATA_JOURNAL_SLOTS=300", "IGGY_METADATA_PREPARE_QUEUE_DEPTH=100"},
		key: "metadata.journal_slots", reason: ErrRange},
	one("metadata.clients_table_max", "METADATA_CLIENTS_TABLE_MAX=1", ErrRange),
	one("partition.prepare_queue_depth", "PARTITION_PREPARE_QUEUE_DEPTH=0", ErrRange),
	one("partition.evicted_ring_bytes_max", "PARTITION_EVICTED_RING_BYTES_MAX=257 MiB", ErrRange),
	one("partition.transfer_artifact_bytes_max", "PARTITION_TRANSFER_ARTIFACT_BYTES_MAX=1087 MiB", ErrRange),
	one("partition.offset_reservation_lease", "PARTITION_OFFSET_RESERVATION_LEASE=16777217", ErrRange),
	one("wal.file_size", "WAL_FILE_SIZE=64 MiB", ErrRange),
	one("wal.retained_bytes", "WAL_RETAINED_BYTES=255 MiB", ErrRange),
	one("message_bus.max_batch", "MESSAGE_BUS_MAX_BATCH=513", ErrRange),
	one("message_bus.max_message_size", "MESSAGE_BUS_MAX_MESSAGE_SIZE=256", ErrRange),
	one("message_bus.peer_queue_capacity", "MESSAGE_BUS_PEER_QUEUE_CAPACITY=128", ErrRange),
	one("message_bus.handshake_grace", "MESSAGE_BUS_HANDSHAKE_GRACE=0", ErrRange),
	one("cluster.repair_chunk_max", "CLUSTER_REPAIR_CHUNK_MAX=1025", ErrRange),
	one("cluster.superblock_wedged_fatal_timeout", "CLUSTER_SUPERBLOCK_WEDGED_FATAL_TIMEOUT=29s", ErrRange),

	one("extra", "EXTRA_THING=1", ErrRemovedKey),
	one("system.message_deduplication", "SYSTEM_MESSAGE_DEDUPLICATION_ENABLED=true", ErrRemovedKey),
	one("system.topic.max_size", "SYSTEM_TOPIC_MAX_SIZE=1", ErrRemovedKey),
	inFile("system.topic.message_expiry", ErrRemovedKey, "[system.topic]\nmessage_expiry = \"1s\""),
	inFile("system.partition.enforce_fsync", ErrRemovedKey, "[system.partition]\nenforce_fsync = true"),
	inFile("system.partition.messages_required_to_save", ErrRemovedKey, "system.partition.messages_required_to_save = 1"),
	inFile("system.partition.size_of_messages_required_to_save", ErrRemovedKey, "system.partition.size_of_messages_required_to_save = 1"),
	inFile("system.segment.size", ErrRemovedKey, "[system.segment]\nsize = \"1 GiB\""),
	inFile("system.segment.preallocate", ErrRemovedKey, "[system.segment]\npreallocate = true"),
	inFile("system.message_deduplication", ErrRemovedKey, "[system.message_deduplication]\nenabled = true"),
	inFile("extra", ErrRemovedKey, "[extra]\na = 1"),

	inFile("", ErrFile, "[tcp\n"),
	inFile("tcp.enabled", ErrValue, "[tcp]\nenabled = \"true\""),
	inFile("cluster.name", ErrValue, "[cluster]\nname = 42"),
	inFile("tcp", ErrValue, "tcp = 1"),
	inFile("heartbeat.interval", ErrValue, "[heartbeat]\ninterval = 30"),
	inFile("http.max_request_size", ErrValue, "[http]\nmax_request_size = 1.5"),
	inFile("http.cors.allowed_origins", ErrValue, "[http.cors]\nallowed_origins = [1]"),
	inFile("cluster.heartbeat_timeot", ErrUnknownKey, "[cluster]\nheartbeat_timeot = \"5s\""),
	inFile("cluster.auth.secret", ErrUnknownKey, "[cluster.auth]\nsecret = \"5s\""),
	inFile("cluster.nodes", ErrValue, "[cluster]\nnodes = 3"),
	inFile("cluster.nodes[0]", ErrValue, "[cluster]\nnodes = [3]"),
	inFile("cluster.nodes[0].ip", ErrValue, "[[cluster.nodes]]\nname = \"a\"\nreplica_id = 0"),
	inFile("cluster.nodes[0].ip", ErrValue, "[[cluster.nodes]]\nname = \"a\"\nreplica_id = 0\nip = \"host\""),
	inFile("cluster.nodes[0].addr", ErrUnknownKey, "[[cluster.nodes]]\nname = \"a\"\nreplica_id = 0\nip = \"::1\"\naddr = 1"),
	inFile("cluster.nodes[0].ports.tcp", ErrValue, "[[cluster.nodes]]\nname=\"a\"\nreplica_id=0\nip=\"::1\"\nports={tcp=0}"),
	inFile("cluster.nodes[0].advertised_addresses[0].x", ErrUnknownKey,
		"[[cluster.nodes]]\nname=\"a\"\nreplica_id=0\nip=\"::1\"\nadvertised_addresses=[{client_cidr=\"::/0\",address=\"a\",x=1}]"),

	inCluster("cluster.name", ErrRange, "CLUSTER_NAME= "),
	inCluster("cluster.heartbeat_timeout", ErrRange, "CLUSTER_HEARTBEAT_TIMEOUT=1999ms"),
	inCluster("cluster.heartbeat_timeout", ErrRange, "CLUSTER_COMMIT_BROADCAST_INTERVAL=1251ms"),
	inCluster("cluster.commit_broadcast_interval", ErrRange, "CLUSTER_COMMIT_BROADCAST_INTERVAL=0"),
	inCluster("cluster.view_change_status_timeout", ErrRange, "CLUSTER_VIEW_CHANGE_STATUS_TIMEOUT=1999ms"),
	inCluster("cluster.view_probe_attempts_max", ErrRange, "CLUSTER_VIEW_PROBE_ATTEMPTS_MAX=101"),
	inCluster("cluster.auth.enabled", ErrClusterAuth, "CLUSTER_AUTH_ENABLED=true"),
	inCluster("cluster.auth.shared_secret", ErrClusterAuth, "CLUSTER_AUTH_SHARED_SECRET=short"),
	inCluster("cluster.auth.previous_shared_secret", ErrClusterAuth, goodSecret,
		"CLUSTER_AUTH_PREVIOUS_SHARED_SECRET=0123456789abcdef0123456789abcdef"),
	inCluster("cluster.auth.enabled", ErrClusterAuth, "CLUSTER_NODES_1_IP=10.0.0.1"),
	inCluster("cluster.tls.enabled", ErrRange, "CLUSTER_TLS_ENABLED=true", "CLUSTER_TLS_SELF_SIGNED=true"),
	inCluster("cluster.tls.self_signed", ErrRange, "CLUSTER_TLS_ENABLED=true", "CLUSTER_AUTH_ENABLED=true", goodSecret),
	inCluster("cluster.nodes[1].name", ErrRoster, "CLUSTER_NODES_1_NAME=n0"),
	inCluster("cluster.nodes[1].name", ErrRange, "CLUSTER_NODES_1_NAME= "),
	inCluster("cluster.nodes[1].replica_id", ErrRoster, "CLUSTER_NODES_1_REPLICA_ID=0"),
	inCluster("cluster.nodes[1].replica_id", ErrRoster, "CLUSTER_NODES_1_REPLICA_ID=2"),
	inCluster("cluster.nodes[1].ports.tcp", ErrRoster, "CLUSTER_NODES_1_PORTS_TCP=100"),
	inCluster("cluster.nodes[2].name", ErrValue, "CLUSTER_NODES_3_NAME=gap"),
	inCluster("cluster.nodes[0].advertised_address", ErrRoster, "CLUSTER_NODES_0_ADVERTISED_ADDRESS=host:80"),
	inCluster("cluster.nodes[0].advertised_address", ErrRoster, "CLUSTER_NODES_0_ADVERTISED_ADDRESS=-x"),
	inCluster("cluster.nodes[0].advertised_address", ErrRoster, "CLUSTER_NODES_0_ADVERTISED_ADDRESS=123.456"),
	inCluster("cluster.nodes[0].advertised_address", ErrRoster, "CLUSTER_NODES_0_ADVERTISED_ADDRESS=[127.0.0.1]"),
	inCluster("cluster.nodes[0].advertised_addresses[1].client_cidr", ErrRoster,
		"CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_CLIENT_CIDR=10.0.0.0/8", "CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_ADDRESS=a",
		"CLUSTER_NODES_0_ADVERTISED_ADDRESSES_1_CLIENT_CIDR=10.9.9.9/8", "CLUSTER_NODES_0_ADVERTISED_ADDRESSES_1_ADDRESS=b"),
	inCluster("cluster.nodes[0].advertised_addresses[0].client_cidr", ErrValue,
		"CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_CLIENT_CIDR=10.0.0.0", "CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_ADDRESS=a"),
	inCluster("cluster.nodes[1].advertised_address", ErrRoster, "CLUSTER_NODES_1_IP=127.0.0.2", "CLUSTER_NODES_1_PORTS_TCP=100",
		"CLUSTER_NODES_1_ADVERTISED_ADDRESS=127.0.0.1"),

	one("IGGY_ROOT_PASSWORD", "ROOT_USERNAME=root", ErrRootCredentials),
	one("IGGY_ROOT_USERNAME", "ROOT_PASSWORD=secret", ErrRootCredentials),
	{name: "short user", environ: []string{"IGGY_ROOT_USERNAME=ab", "IGGY_ROOT_PASSWORD=secret"}, key: "IGGY_ROOT_USERNAME", reason: ErrRootCredentials},
	{name: "long password", environ: []string{"IGGY_ROOT_USERNAME=abc", "GALGO_ROOT_PASSWORD=" + strings.Repeat("x", 101)},
		key: "GALGO_ROOT_PASSWORD", reason: ErrRootCredentials},
}

func TestLoad_EveryRefusal(t *testing.T) {
	for _, c := range refusalCases {
		t.Run(c.name, func(t *testing.T) {
			src := sources(t, c.file, c.environ...)
			if slices.Contains(c.environ, "IGGY_CLUSTER_ENABLED=true") {
				src.ReplicaID = new(int)
			}
			_, err := Load(src)
			var all Refusals
			if !errors.As(err, &all) {
				t.Fatalf("not refused: %v", err)
			}
			at := slices.IndexFunc(all, func(r *Refusal) bool { return r.Key == c.key && errors.Is(r, c.reason) })
			if at < 0 {
				t.Fatalf("nothing blames %q for %v:\n%v", c.key, c.reason, err)
			}
			line := all[at].Error()
			if all[at].Problem == "" || all[at].Remedy == "" || strings.Contains(line, "\n") {
				t.Errorf("not one helpful line: %q", line)
			}
		})
	}
}

func TestLoad_RefusalsOfTheCommandLine(t *testing.T) {
	zero, five := 0, 5
	for _, c := range []struct {
		name    string
		environ []string
		id      *int
		refused bool
	}{
		{"alone without id", nil, nil, false},
		{"alone with 0", nil, &zero, false},
		{"alone with 5", nil, &five, true},
		{"cluster without id", roster(), nil, true},
		{"cluster with 0", roster(), &zero, false},
		{"cluster with an unknown id", roster(), &five, true},
	} {
		src := sources(t, "", c.environ...)
		src.ReplicaID = c.id
		if _, err := Load(src); errors.Is(err, ErrReplicaID) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	src := sources(t, "")
	src.File = "missing.toml"
	if _, err := Load(src); !errors.Is(err, ErrFile) {
		t.Errorf("missing file of the flag: %v", err)
	}
	src.File = "."
	if _, err := Load(src); !errors.Is(err, ErrFile) {
		t.Errorf("folder as file: %v", err)
	}
	write(t, filepath.Join(src.Dir, "big.toml"), strings.Repeat("#", fileBytesMax+1))
	src.File = "big.toml"
	if _, err := Load(src); !errors.Is(err, ErrFile) {
		t.Errorf("huge file: %v", err)
	}
}

func TestLoad_TLSIsRefusedUntilItExists(t *testing.T) {
	for _, variable := range []string{"TCP_TLS_ENABLED", "WEBSOCKET_TLS_ENABLED", "HTTP_TLS_ENABLED"} {
		src := sources(t, "", "IGGY_"+variable+"=true")
		if _, err := Load(src); err != nil {
			t.Errorf("%s with TLS: %v", variable, err)
		}
		src.Build.TLS = false
		if _, err := Load(src); !errors.Is(err, ErrTLS) {
			t.Errorf("%s without TLS: %v", variable, err)
		}
	}
}

func TestLoad_ReportsEverythingAtOnceAndNamesTheSource(t *testing.T) {
	_, err := Load(sources(t, "[tcp]\nenabled = 3\n[quic]\ninitial_mtu = \"1 B\"\n", "GALGO_HEARTBEAT_INTERVAL=x", "IGGY_EXTRA=1"))
	var all Refusals
	if !errors.As(err, &all) || len(all) != 4 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"tcp.enabled (galgo.toml): is an integer; give a boolean such as true",
		"quic.initial_mtu (galgo.toml): is 1 B; accepted: 1200 B to 65535 B", "heartbeat.interval (GALGO_HEARTBEAT_INTERVAL):",
		"extra (IGGY_EXTRA): this key was removed; remove it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no line has %q:\n%v", want, err)
		}
	}
}

func TestLoad_SecretsStayOutOfRefusals(t *testing.T) {
	_, err := Load(func() Sources {
		src := sources(t, "", roster("CLUSTER_AUTH_SHARED_SECRET=hush-hush", "CLUSTER_AUTH_PREVIOUS_SHARED_SECRET=hush-hush")...)
		src.ReplicaID = new(int)
		return src
	}())
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("%v", err)
	}
}

func TestLoad_RulesThatDoNotApplyAreSilent(t *testing.T) {
	mustLoad(t, sources(t, "", "IGGY_HEARTBEAT_ENABLED=false", "IGGY_HEARTBEAT_INTERVAL=0",
		"IGGY_DATA_MAINTENANCE_MESSAGES_CLEANER_ENABLED=false", "IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL=0",
		"IGGY_SYSTEM_MEMORY_POOL_ENABLED=false", "IGGY_SYSTEM_MEMORY_POOL_SIZE=1",
		"IGGY_CLUSTER_NAME= ", "IGGY_CLUSTER_HEARTBEAT_TIMEOUT=0", "IGGY_CLUSTER_AUTH_ENABLED=true",
		"IGGY_QUIC_ENABLED=false", "IGGY_QUIC_CERTIFICATE_SELF_SIGNED=false", "IGGY_SYSTEM_LOGGING_MAX_TOTAL_SIZE=0",
		"IGGY_CLUSTER_SUPERBLOCK_WEDGED_FATAL_TIMEOUT=0"))
	for _, lines := range [][]string{
		{"CLUSTER_NODES_1_IP=10.0.0.1", "CLUSTER_INSECURE=true"},
		{"CLUSTER_NODES_1_IP=10.0.0.1", "CLUSTER_AUTH_ENABLED=true", goodSecret},
		{"CLUSTER_NODES_1_IP=127.0.0.2", "CLUSTER_NODES_1_PORTS_TCP=100"},
	} {
		src := sources(t, "", roster(lines...)...)
		src.ReplicaID = new(int)
		mustLoad(t, src)
	}
}

func TestLoad_PortsAreOnlyNeededForTransportsInUse(t *testing.T) {
	var environ []string
	for _, line := range roster() {
		if !strings.Contains(line, "_QUIC=") {
			environ = append(environ, line)
		}
	}
	src := sources(t, "", environ...)
	src.ReplicaID = new(int)
	if _, err := Load(src); !errors.Is(err, ErrRoster) {
		t.Errorf("missing QUIC ports: %v", err)
	}
	src.Environ = append(src.Environ, "IGGY_QUIC_ENABLED=false")
	mustLoad(t, src)
}

func TestLoad_DefaultRootCredentials(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    RootUser
	}{
		{nil, RootUser{true, "iggy", "iggy"}},
		{[]string{"IGGY_ROOT_USERNAME=me2"}, RootUser{true, "me2", "iggy"}},
		{[]string{"IGGY_ROOT_PASSWORD=secret"}, RootUser{true, "iggy", "secret"}},
		{[]string{"IGGY_ROOT_USERNAME=me2", "IGGY_ROOT_PASSWORD=secret"}, RootUser{true, "me2", "secret"}},
	} {
		src := sources(t, "", c.environ...)
		src.DefaultRoot = true
		loaded := mustLoad(t, src)
		if loaded.Root != c.want || len(loaded.Warnings) != 1 {
			t.Errorf("%v: %+v, %v", c.environ, loaded.Root, loaded.Warnings)
		}
	}
}
