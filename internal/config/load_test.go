package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/units"
)

// everything is a build without gaps, so that tests of other things see no warnings about them.
var everything = Build{TLS: true, QUIC: true, WebSocket: true, HTTP: true, Telemetry: true}

// sources makes sources with an empty directory, an optional galgo.toml and variables.
func sources(t *testing.T, file string, environ ...string) Sources {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		write(t, filepath.Join(dir, "galgo.toml"), file)
	}
	return Sources{Dir: dir, Environ: environ, Build: everything}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, src Sources) *Loaded {
	t.Helper()
	loaded, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestLoad_NothingGivesTheDefaults(t *testing.T) {
	loaded := mustLoad(t, sources(t, ""))
	want := Default()
	want.Root = RootUser{Username: "iggy"}
	if !reflect.DeepEqual(loaded.Config, want) {
		t.Errorf("got %+v", loaded.Config)
	}
	if len(loaded.Warnings) > 0 || !loaded.Display || loaded.LogFilter != "info" || loaded.File != "" {
		t.Errorf("story: %+v", loaded)
	}
}

func TestLoad_DefaultFileReadsBackToTheDefaults(t *testing.T) {
	loaded := mustLoad(t, sources(t, string(DefaultTOML())))
	loaded.Root = RootUser{}
	if !reflect.DeepEqual(loaded.Config, Default()) {
		t.Error("the printed defaults are not the defaults")
	}
	if len(loaded.Warnings) > 0 {
		t.Errorf("warnings: %v", loaded.Warnings)
	}
}

func TestTOML_ReadsBackToTheSameConfig(t *testing.T) {
	src := sources(t, "", "IGGY_SYSTEM_PATH=a \"b\" \\ \u00e9", "IGGY_WEBSOCKET_READ_BUFFER_SIZE=64 KiB",
		"IGGY_HTTP_CORS_ALLOWED_ORIGINS=[\"https://a,b\", c]", "IGGY_TCP_ADDRESS=[::1]:1",
		"IGGY_HTTP_JWT_ACCESS_TOKEN_EXPIRY=never_expire", "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=5..8",
		"IGGY_SYSTEM_FREE_SPACE_MIN=1 GB", "IGGY_CLUSTER_NODES_0_NAME=n", "IGGY_CLUSTER_NODES_0_IP=::1",
		"IGGY_CLUSTER_NODES_0_REPLICA_ID=0", "IGGY_CLUSTER_NODES_0_PORTS_TCP=1",
		"IGGY_CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_CLIENT_CIDR=10.1.2.3/8", "IGGY_CLUSTER_NODES_0_ADVERTISED_ADDRESSES_0_ADDRESS=h",
		"IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_ISSUER=i", "IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_AUDIENCE=a",
		"IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_JWKS_URL=u", "IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_USER_ID=7",
		"IGGY_HTTP_JWT_ENCODING_SECRET=do-not-show-me")
	first := mustLoad(t, src)
	text := first.TOML()
	if strings.Contains(string(text), "do-not-show-me") || strings.Contains(string(text), "encoding_secret") {
		t.Error("a secret is in the runtime file")
	}
	second := mustLoad(t, sources(t, string(text)))
	first.HTTP.JWT.EncodingSecret = ""
	if !reflect.DeepEqual(first.Config, second.Config) {
		t.Errorf("read back differently:\n%s", text)
	}
}

func TestLoad_Precedence(t *testing.T) {
	const file = "[tcp]\naddress = \"127.0.0.1:1\"\n"
	for _, c := range []struct {
		name    string
		file    string
		environ []string
		want    string
	}{
		{"default", "", nil, "127.0.0.1:8090"},
		{"file", file, nil, "127.0.0.1:1"},
		{"foreign variable over file", file, []string{"IGGY_TCP_ADDRESS=127.0.0.1:2"}, "127.0.0.1:2"},
		{"native variable over file", file, []string{"GALGO_TCP_ADDRESS=127.0.0.1:3"}, "127.0.0.1:3"},
		{"native over foreign", file, []string{"GALGO_TCP_ADDRESS=127.0.0.1:3", "IGGY_TCP_ADDRESS=127.0.0.1:2"}, "127.0.0.1:3"},
		{"empty counts as unset", file, []string{"GALGO_TCP_ADDRESS=", "IGGY_TCP_ADDRESS=127.0.0.1:2"}, "127.0.0.1:2"},
		{"all empty", file, []string{"IGGY_TCP_ADDRESS="}, "127.0.0.1:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mustLoad(t, sources(t, c.file, c.environ...)).TCP.Address.String(); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
		})
	}
}

func TestLoad_WhichFile(t *testing.T) {
	src := sources(t, "[tcp]\naddress = \"127.0.0.1:1\"\n")
	write(t, filepath.Join(src.Dir, "native.toml"), "[tcp]\naddress = \"127.0.0.1:2\"\n")
	write(t, filepath.Join(src.Dir, "foreign.toml"), "[tcp]\naddress = \"127.0.0.1:3\"\n")
	write(t, filepath.Join(src.Dir, "flag.toml"), "[tcp]\naddress = \"127.0.0.1:4\"\n")
	for _, c := range []struct {
		flag    string
		environ []string
		port    uint16
		warns   bool
	}{
		{"", nil, 1, false},
		{"", []string{"IGGY_CONFIG_PATH=foreign.toml"}, 3, false},
		{"", []string{"IGGY_CONFIG_PATH=foreign.toml", "GALGO_CONFIG_PATH=" + filepath.Join(src.Dir, "native.toml")}, 2, false},
		{"flag.toml", []string{"GALGO_CONFIG_PATH=native.toml"}, 4, false},
		{"", []string{"IGGY_CONFIG_PATH=missing.toml"}, 8090, true},
	} {
		src.File, src.Environ = c.flag, c.environ
		loaded := mustLoad(t, src)
		if loaded.TCP.Address.Port() != c.port || len(loaded.Warnings) > 0 != c.warns {
			t.Errorf("%+v: port %d, warnings %v", c, loaded.TCP.Address.Port(), loaded.Warnings)
		}
	}
	below := filepath.Join(src.Dir, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if port := mustLoad(t, Sources{Dir: below, Build: everything}).TCP.Address.Port(); port != 8090 {
		t.Errorf("the file of a parent folder was used: port %d", port)
	}
}

func TestLoad_DotEnv(t *testing.T) {
	src := sources(t, "", "IGGY_TCP_ADDRESS=127.0.0.1:1")
	write(t, filepath.Join(src.Dir, ".env"), "# comment\nIGGY_TCP_ADDRESS=127.0.0.1:9\nexport IGGY_SYSTEM_PATH='my data' # x\n"+
		"GALGO_CLUSTER_NAME=\"a # b\"\nRUST_LOG=debug # c\nnonsense\nPATH=/evil\n\n")
	loaded := mustLoad(t, src)
	if loaded.TCP.Address.Port() != 1 {
		t.Error("the file won over the process")
	}
	if loaded.System.Path != "my data" || loaded.Cluster.Name != "a # b" || loaded.LogFilter != "debug" {
		t.Errorf("path %q, name %q, filter %q", loaded.System.Path, loaded.Cluster.Name, loaded.LogFilter)
	}
	write(t, filepath.Join(src.Dir, "other.env"), "IGGY_SYSTEM_PATH=other\n")
	src.Environ = []string{"IGGY_ENV_PATH=other.env"}
	if got := mustLoad(t, src).System.Path; got != "other" {
		t.Errorf("path %q", got)
	}
	src.Environ = []string{"IGGY_ENV_PATH=gone.env"}
	if loaded := mustLoad(t, src); len(loaded.Warnings) != 1 {
		t.Errorf("warnings %v", loaded.Warnings)
	}
}

// TestLoad_EveryVariable sets every key through both spellings to a value that differs from its default.
func TestLoad_EveryVariable(t *testing.T) {
	special := map[string]string{
		"http.jwt.algorithm": "HS512", "system.scrub.at_start": "always", "telemetry.logs.transport": "http", "telemetry.traces.transport": "http",
		"http.jwt.access_token_expiry": "never_expire", "system.sharding.cpu_allocation": "1",
		"system.free_space_min": "5 MB", "http.metrics.endpoint": "/m", "system.stream.path": "s2",
		"system.runtime.path": "r2", "system.logging.path": "l2", "system.encryption.enabled": "",
		"system.segment.archive_expired": "", "system.recovery.recreate_missing_state": "", "cluster.enabled": "",
		"quic.certificate.self_signed": "", "system.memory_pool.size": "1 GiB", "system.memory_pool.bucket_capacity": "128",
		"cluster.superblock_wedged_fatal_timeout": "1 m", "system.sharding.shutdown_join_timeout": "31 s",
		"websocket.max_write_buffer_size": "1 MiB", "partition.transfer_artifact_bytes_max": "2 GiB",
		"wal.file_size": "65 MiB", "wal.retained_bytes": "1 GiB", "metadata.journal_slots": "2048",
		"quic.stream_receive_window": "1 MiB", "message_bus.max_message_size": "32 MiB", "message_bus.peer_queue_capacity": "300",
		"quic.initial_mtu": "1300 B", "quic.receive_window": "65 MiB",
		"partition.transfer_served_cache_bytes_max": "3 GiB", "http.tls.enabled": "", "system.logging.max_total_size": "5 GB",
	}
	for i := range keyTable {
		k := &keyTable[i]
		value, known := special[k.path]
		if !known {
			value = otherValue(t, k)
		}
		if value == "" {
			continue
		}
		for _, prefix := range []string{"IGGY_", "GALGO_"} {
			name := prefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
			loaded, err := Load(sources(t, "", name+"="+value))
			if err != nil {
				t.Errorf("%s=%s: %v", name, value, err)
				continue
			}
			before := k.at.text(Default())
			if after := k.at.text(loaded.Config); after == before {
				t.Errorf("%s=%s left %s at %q", name, value, k.path, before)
			}
			if len(loaded.Overrides) != 1 || loaded.Overrides[0].Key != k.path || k.secret != (loaded.Overrides[0].Value == Masked) {
				t.Errorf("%s: overrides %+v", name, loaded.Overrides)
			}
			warns := k.ignored != "" || k.path == "partition.transfer_artifact_bytes_max" // fewer than two fit
			if warns != (len(loaded.Warnings) == 1) {
				t.Errorf("%s: warnings %v", name, loaded.Warnings)
			}
		}
	}
}

// otherValue is a legal value of the key's type that is not its default.
func otherValue(t *testing.T, k *key[Config]) string {
	switch k.at.kind {
	case "boolean":
		return map[bool]string{true: "false", false: "TRUE"}[k.def == "true"]
	case "string":
		return "other-value"
	case "integer":
		return "99"
	case "duration":
		return map[bool]string{true: "3 s", false: "4 s"}[strings.HasPrefix(k.def, "5")]
	case "size":
		return "17 MiB"
	case "list of strings":
		return `[x, "y,z"]`
	case "IP:port":
		return "0.0.0.0:4711"
	}
	t.Fatalf("%s: no value for type %s", k.path, k.at.kind)
	return ""
}

func TestVariables_AreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for i := range keyTable {
		name := Variable(keyTable[i].path)
		if other, taken := seen[name]; taken {
			t.Errorf("%s belongs to %s and %s", name, other, keyTable[i].path)
		}
		seen[name] = keyTable[i].path
		if isOutside(variableSuffix(keyTable[i].path)) {
			t.Errorf("%s is also a variable without a key", name)
		}
	}
}

func TestLoad_NumbersAreFineForTextAndZeroForDurations(t *testing.T) {
	loaded := mustLoad(t, sources(t, "", "IGGY_CLUSTER_NAME=42", "IGGY_HTTP_JWT_ENCODING_SECRET=123456",
		"IGGY_QUIC_KEEP_ALIVE_INTERVAL=0", "IGGY_WEBSOCKET_MAX_FRAME_SIZE=0", "IGGY_SYSTEM_LOGGING_MAX_FILE_SIZE=1000"))
	if loaded.Cluster.Name != "42" || loaded.HTTP.JWT.EncodingSecret != "123456" || loaded.QUIC.KeepAliveInterval != 0 ||
		*loaded.WebSocket.MaxFrameSize != 0 || loaded.System.Logging.MaxFileSize != 1000 {
		t.Errorf("%+v", loaded.Config)
	}
}

func TestLoad_RosterFromVariables(t *testing.T) {
	environ := []string{"IGGY_CLUSTER_ENABLED=true", "IGGY_CLUSTER_NAME=test-cluster-1", "IGGY_MESSAGE_BUS_RECONNECT_PERIOD=100ms"}
	for i := range 3 {
		for field, value := range map[string]any{"NAME": fmt.Sprintf("node-%d", i), "IP": "127.0.0.1", "REPLICA_ID": i,
			"PORTS_TCP": 20000 + 8*i, "PORTS_QUIC": 20002 + 8*i, "PORTS_HTTP": 20003 + 8*i,
			"PORTS_WEBSOCKET": 20004 + 8*i, "PORTS_TCP_REPLICA": 20001 + 8*i} {
			environ = append(environ, fmt.Sprintf("IGGY_CLUSTER_NODES_%d_%s=%v", i, field, value))
		}
	}
	environ = append(environ, "IGGY_CLUSTER_NODES_1_ADVERTISED_ADDRESS=Example.COM",
		"IGGY_CLUSTER_NODES_1_ADVERTISED_ADDRESSES_1_CLIENT_CIDR=::ffff:10.1.0.0/112",
		"IGGY_CLUSTER_NODES_1_ADVERTISED_ADDRESSES_1_ADDRESS=[FE80::1]",
		"IGGY_CLUSTER_NODES_1_ADVERTISED_ADDRESSES_0_CLIENT_CIDR=10.0.0.0/8",
		"IGGY_CLUSTER_NODES_1_ADVERTISED_ADDRESSES_0_ADDRESS=10.9.9.9")
	src := sources(t, "", environ...)
	id := 1
	src.ReplicaID = &id
	loaded := mustLoad(t, src)
	if len(loaded.Warnings) > 0 {
		t.Errorf("warnings: %v", loaded.Warnings)
	}
	if len(loaded.Cluster.Nodes) != 3 || loaded.MessageBus.ReconnectPeriod != 100*time.Millisecond {
		t.Fatalf("%+v", loaded.Cluster)
	}
	self := loaded.Self()
	want := Ports{TCP: 20008, QUIC: 20010, HTTP: 20011, WebSocket: 20012, TCPReplica: 20009}
	if self == nil || self.Name != "node-1" || self.Ports != want {
		t.Fatalf("self: %+v", self)
	}
	for client, host := range map[string]string{"10.1.0.7": "fe80::1", "10.2.0.1": "10.9.9.9", "192.168.0.1": "example.com",
		"::ffff:10.1.0.7": "fe80::1", "2001:db8::1": "example.com"} {
		if got := self.Host(netip.MustParseAddr(client)); got != host {
			t.Errorf("%s is told %s; want %s", client, got, host)
		}
	}
	if got := loaded.Cluster.Nodes[0].Host(netip.MustParseAddr("10.1.0.7")); got != "127.0.0.1" {
		t.Errorf("without advertised addresses: %s", got)
	}
}

func TestLoad_OneRosterVariableReplacesTheWholeRoster(t *testing.T) {
	src := sources(t, string(DefaultTOML()), "GALGO_CLUSTER_NODES_0_NAME=only", "GALGO_CLUSTER_NODES_0_IP=127.0.0.1",
		"IGGY_CLUSTER_NODES_0_REPLICA_ID=0")
	loaded := mustLoad(t, src)
	if len(loaded.Cluster.Nodes) != 1 || loaded.Cluster.Nodes[0].Ports != (Ports{}) {
		t.Errorf("%+v", loaded.Cluster.Nodes)
	}
}

func TestLoad_UnknownNamesWarnWithASuggestion(t *testing.T) {
	loaded := mustLoad(t, sources(t, "[tcp]\naddres = \"x\"\n[nonsense]\na = 1\n[[http.jwt.trusted_issuers]]\n"+
		"issuer=\"a\"\naudience=\"b\"\njwks_url=\"c\"\nuser_id=1\ncolour=\"red\"\n",
		"IGGY_TCP_ADRESS=1", "GALGO_CLUSTER_NODES_0_NAM=x", "IGGY_CLUSTER_NODES_300_NAME=x"))
	all := strings.Join(loaded.Warnings, "\n")
	for _, want := range []string{"did you mean tcp.address?", "nonsense (galgo.toml)", "trusted_issuers[0].colour",
		"IGGY_TCP_ADRESS: no key has this variable, it is ignored; similar: IGGY_TCP_ADDRESS",
		"similar: GALGO_CLUSTER_NODES_0_NAME", "IGGY_CLUSTER_NODES_300_NAME"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning has %q:\n%s", want, all)
		}
	}
}

func TestLoad_VariablesOfOthersAreSilent(t *testing.T) {
	loaded := mustLoad(t, sources(t, "", "IGGY_CI_BUILD=1", "IGGY_TEST_CLUSTER_NODES=3", "IGGY_TEST_VERBOSE=1",
		"IGGY_TEST_CLEANUP_DISABLED=1", "IGGY_CONNECTORS_CONFIG_PATH=x", "IGGY_MCP_CONFIG_PATH=x",
		"IGGY_CONNECTORS_SINK_A=1", "IGGY_CONNECTORS_SOURCE_B=2", "IGGY_SHARD_RUNTIME_CAPACITY=256",
		"IGGY_SHARD_EVENT_INTERVAL=1", "IGGY_USERNAME=a", "GALGO_PASSWORD=b", "PATH=/bin", "IGGY_=1", "UNRELATED=x"))
	if len(loaded.Warnings) > 0 || len(loaded.Overrides) > 0 {
		t.Errorf("warnings %v, overrides %v", loaded.Warnings, loaded.Overrides)
	}
}

func TestLoad_BitsDrawAWarning(t *testing.T) {
	loaded := mustLoad(t, sources(t, "[http]\nmax_request_size = \"10 Mb\"\n"))
	if loaded.HTTP.MaxRequestSize != 1_250_000 || len(loaded.Warnings) != 1 || !strings.Contains(loaded.Warnings[0], "bits") {
		t.Errorf("%v, %v", loaded.HTTP.MaxRequestSize, loaded.Warnings)
	}
}

func TestLoad_Display(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": true, "true": true, "0": false, "no": false} {
		if got := mustLoad(t, sources(t, "", "IGGY_DISPLAY_CONFIG="+value)).Display; got != want {
			t.Errorf("%q gives %v", value, got)
		}
	}
}

func TestLoad_TransportsThatAreNotBuiltWarnOnce(t *testing.T) {
	src := sources(t, "", "IGGY_TELEMETRY_ENABLED=true")
	src.Build = Build{TLS: true}
	loaded := mustLoad(t, src)
	if len(loaded.Warnings) != 4 || loaded.QUIC.Address.String() != "127.0.0.1:8080" {
		t.Errorf("%v", loaded.Warnings)
	}
	src.Environ = []string{"IGGY_QUIC_ENABLED=false", "IGGY_WEBSOCKET_ENABLED=false", "IGGY_HTTP_ENABLED=false"}
	if warnings := mustLoad(t, src).Warnings; len(warnings) > 0 {
		t.Errorf("switched off and still %v", warnings)
	}
}

func TestSettings_MaskSecrets(t *testing.T) {
	loaded := mustLoad(t, sources(t, "", "IGGY_HTTP_JWT_ENCODING_SECRET=do-not-show-me"))
	if text := fmt.Sprint(loaded.Settings(), loaded.Overrides); strings.Contains(text, "do-not-show-me") {
		t.Error(text)
	}
	at := slices.Index(loaded.Settings(), Setting{"http.jwt.encoding_secret", Masked})
	if at < 0 {
		t.Error("the masked secret is not listed")
	}
}

func TestWithBound(t *testing.T) {
	cfg := Default()
	bound := Sockets{TCP: netip.MustParseAddrPort("127.0.0.1:1111"), HTTP: netip.MustParseAddrPort("[::1]:2222")}
	got := cfg.WithBound(bound)
	if got.TCP.Address != bound.TCP || got.HTTP.Address != bound.HTTP || got.QUIC.Address != cfg.QUIC.Address {
		t.Errorf("%v %v %v", got.TCP.Address, got.HTTP.Address, got.QUIC.Address)
	}
	if !strings.Contains(string(got.TOML()), "[tcp]\nenabled = true\naddress = \"127.0.0.1:1111\"\n") {
		t.Errorf("%s", got.TOML())
	}
	cfg.Cluster.Enabled, cfg.ReplicaID = true, 1
	bound.Replica = netip.MustParseAddrPort("127.0.0.1:3333")
	got = cfg.WithBound(bound)
	want := Ports{TCP: 1111, QUIC: 8081, HTTP: 2222, WebSocket: 8093, TCPReplica: 3333}
	if got.Cluster.Nodes[1].Ports != want || cfg.Cluster.Nodes[1].Ports.TCP != 8091 {
		t.Errorf("copy %+v, original %+v", got.Cluster.Nodes[1].Ports, cfg.Cluster.Nodes[1].Ports)
	}
}

func TestListen(t *testing.T) {
	cfg := Default()
	cfg.QUIC.Enabled = false
	s := cfg.Listen()
	if s.TCP.String() != "127.0.0.1:8090" || s.QUIC.IsValid() || s.Replica.IsValid() {
		t.Errorf("%+v", s)
	}
	cfg.Cluster.Enabled, cfg.ReplicaID = true, 1
	cfg.TCP.Address = netip.MustParseAddrPort("0.0.0.0:1")
	if s := cfg.Listen(); s.TCP.String() != "0.0.0.0:8091" || s.Replica.String() != "127.0.0.1:9091" || s.HTTP.Port() != 3001 {
		t.Errorf("%+v", s)
	}
}

func TestCPUAllocation(t *testing.T) {
	for text, want := range map[string]int{"all": 8, "numa:auto": 8, "4": 4, "0..2": 2, "5..8": 3, "numa:nodes=0,1;cores=3": 6,
		"numa:cores=4;no_ht=false": 4, "numa:nodes=0,1;cores=8": 8, "numa:nodes=0": 8, "8": 8} {
		a, err := ParseCPUAllocation(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := a.Shards(8); err != nil || got != want {
			t.Errorf("%q gives %d, %v", text, got, err)
		}
		if again, err := ParseCPUAllocation(a.String()); err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%q is written as %q: %+v, %v", text, a, again, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "4..4", "5..2", "..3", "numa:", "numa:x=1", "numa:nodes=a", "99999", "some"} {
		if _, err := ParseCPUAllocation(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	for _, text := range []string{"9", "0..9"} {
		a, err := ParseCPUAllocation(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Shards(8); err == nil {
			t.Errorf("%q fits on 8 processors", text)
		}
	}
}

func TestFreeSpace(t *testing.T) {
	for _, c := range []struct {
		text         string
		volume, want units.Size
	}{{"auto", units.TiB, 64 * units.MiB}, {"auto", units.GiB, units.GiB / 50}, {"1 MB", units.TiB, units.MB}, {"0", units.TiB, 0}} {
		f, err := parseFreeSpace(c.text)
		if err != nil || f.On(c.volume) != c.want {
			t.Errorf("%q on %v: %v, %v", c.text, c.volume, f.On(c.volume), err)
		}
	}
}

func TestList_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		got, err := parseList(formatList(list))
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%q was written as %s and reads as %q, %v", list, formatList(list), got, err)
		}
	})
	for text, want := range map[string][]string{"[]": {}, "[ ]": {}, "[a]": {"a"}, `[a, "b,c", d]`: {"a", "b,c", "d"}, "[a,,b,]": {"a", "b"}} {
		if got, err := parseList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s reads as %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "[a", "a]", `["a]`, `["a" b]`, `["\u00"]`, `["a\`} {
		if got, err := parseList(text); err == nil {
			t.Errorf("%s reads as %q", text, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(string(DefaultTOML()), "x")
	f.Add("[cluster]\nenabled = true\nnodes = [{name = 1}]", "[a, \"b")
	f.Add("tcp = 3\n[[http.jwt.trusted_issuers]]\n", "5..8")
	f.Fuzz(func(t *testing.T, file, value string) {
		path := filepath.Join(t.TempDir(), "f.toml")
		if os.WriteFile(path, []byte(file), 0o600) != nil {
			t.Skip()
		}
		id := 0
		loaded, err := Load(Sources{File: path, Dir: filepath.Dir(path), ReplicaID: &id, Build: everything,
			Environ: []string{"IGGY_HTTP_CORS_ALLOWED_ORIGINS=" + value, "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=" + value,
				"IGGY_CLUSTER_NODES_0_ADVERTISED_ADDRESS=" + value}})
		var refusals Refusals
		if err != nil && (!errors.As(err, &refusals) || len(refusals) == 0) {
			t.Fatalf("untyped refusal: %v", err)
		}
		if err == nil {
			loaded.TOML()
		}
	})
}
