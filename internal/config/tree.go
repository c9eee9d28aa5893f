package config

import (
	"net/netip"
	"time"

	"github.com/galgolog/galgo/internal/units"
)

// Config is the whole effective configuration. Fields carry the meaning that docs/configuration.md gives the
// key of the same name; the zero value is not usable, Default and Load make one.
type Config struct {
	ConsumerGroup       ConsumerGroup
	DataMaintenance     DataMaintenance
	PersonalAccessToken PersonalAccessToken
	Heartbeat           Heartbeat
	HTTP                HTTP
	TCP                 TCP
	QUIC                QUIC
	WebSocket           WebSocket
	Telemetry           Telemetry
	System              System
	Cluster             Cluster
	Metadata            Metadata
	Partition           Partition
	WAL                 WAL
	MessageBus          MessageBus

	// ReplicaID is the cluster.nodes[].replica_id of this process, 0 outside a cluster. It comes from the
	// command line.
	ReplicaID int
	// Root is the first user, used only when no user exists yet. It comes from the environment.
	Root RootUser
}

// ConsumerGroup is [consumer_group].
type ConsumerGroup struct {
	RebalancingTimeout time.Duration // a partition that is pending revocation moves after it, whatever its owner does
}

// DataMaintenance is [data_maintenance].
type DataMaintenance struct {
	CleanerEnabled  bool
	CleanerInterval time.Duration
}

// PersonalAccessToken is [personal_access_token].
type PersonalAccessToken struct {
	MaxTokensPerUser int
	CleanerEnabled   bool
	CleanerInterval  time.Duration
}

// Heartbeat is [heartbeat]. A connection that holds a group membership and is silent for 1.2 intervals is
// evicted; the session of a closed connection is kept as long.
type Heartbeat struct {
	Enabled  bool
	Interval time.Duration
}

// Telemetry is [telemetry], the export over OTLP.
type Telemetry struct {
	Enabled         bool
	ServiceName     string
	LogsTransport   string
	LogsEndpoint    string
	TracesTransport string
	TracesEndpoint  string
}

// System is [system].
type System struct {
	Path         string    // the data directory, relative to the working directory
	FreeSpaceMin FreeSpace // below it sends are refused
	RuntimePath  string    // folder under Path
	Logging      Logging
	Encryption   Encryption

	StreamPath, TopicPath, PartitionPath string // folder names

	ValidateChecksum     bool
	Scrub                Scrub
	ArchiveExpired       bool
	RecreateMissingState bool
	MemoryPool           MemoryPool
	Sharding             Sharding
}

// Scrub is [system.scrub], the verification of sealed segments in the background.
type Scrub struct {
	AtStart string     // "unclean", "always" or "never"
	MaxRate units.Size // bytes a second; 0: no limit
}

// Logging is [system.logging].
type Logging struct {
	Path                  string // folder under System.Path
	Level                 string // a level or directives, see package telemetry
	FileEnabled           bool
	MaxFileSize           units.Size // 0: one file without a limit
	MaxTotalSize          units.Size // 0: no limit
	RotationCheckInterval time.Duration
	Retention             time.Duration
}

// Encryption is [system.encryption].
type Encryption struct {
	Enabled bool
	Key     string // secret
}

// MemoryPool is [system.memory_pool]. Size is an upper bound of pooled buffers, not a reservation.
type MemoryPool struct {
	Enabled        bool
	Size           units.Size
	BucketCapacity int
}

// Sharding is [system.sharding].
type Sharding struct {
	CPUAllocation             CPUAllocation
	PinCores                  bool
	InboxCapacity             int
	ReplyInboxCapacity        int
	ShutdownDrainTimeout      time.Duration
	ShutdownPollInterval      time.Duration
	ShutdownJoinTimeout       time.Duration
	ReconcilePeriodicInterval time.Duration
}

// Metadata is [metadata].
type Metadata struct {
	PrepareQueueDepth int
	JournalSlots      int
	ClientsTableMax   int
}

// Partition is [partition].
type Partition struct {
	PrepareQueueDepth           int
	EvictedRingCapacity         int
	EvictedRingBytesMax         units.Size
	TransferServedCacheBytesMax units.Size
	TransferArtifactBytesMax    units.Size
	OffsetReservationLease      int
}

// WAL is [wal].
type WAL struct {
	FileSize      units.Size
	RetainedBytes units.Size // per shard
}

// MessageBus is [message_bus].
type MessageBus struct {
	MaxBatch          int
	MaxMessageSize    units.Size
	PeerQueueCapacity int
	ReconnectPeriod   time.Duration
	ClosePeerTimeout  time.Duration
	CloseGrace        time.Duration
	HandshakeGrace    time.Duration
}

// TCP is [tcp].
type TCP struct {
	Enabled bool
	Address netip.AddrPort
	TLS     ListenerTLS
}

// ListenerTLS is the TLS part of the TCP and WebSocket listeners. SelfSigned makes an ephemeral certificate
// only while CertFile does not exist.
type ListenerTLS struct {
	Enabled    bool
	SelfSigned bool
	CertFile   string
	KeyFile    string
}

// QUIC is [quic]. Intervals of 0 switch the thing off.
type QUIC struct {
	Enabled                  bool
	Address                  netip.AddrPort
	MaxConcurrentBidiStreams int
	InitialMTU               units.Size
	SendWindow               units.Size
	ReceiveWindow            units.Size
	StreamReceiveWindow      units.Size
	KeepAliveInterval        time.Duration
	MaxIdleTimeout           time.Duration
	Certificate              QUICCertificate
}

// QUICCertificate is [quic.certificate]. SelfSigned ignores the files.
type QUICCertificate struct {
	SelfSigned bool
	CertFile   string
	KeyFile    string
}

// WebSocket is [websocket]. A nil size means the default that the key's documentation names.
type WebSocket struct {
	Enabled              bool
	Address              netip.AddrPort
	ReadBufferSize       *units.Size
	WriteBufferSize      *units.Size
	MaxWriteBufferSize   *units.Size
	MaxMessageSize       *units.Size
	MaxFrameSize         *units.Size
	AcceptUnmaskedFrames bool
	TLS                  ListenerTLS
}

// HTTP is [http].
type HTTP struct {
	Enabled         bool
	Address         netip.AddrPort
	MaxRequestSize  units.Size
	WebUI           bool
	CORS            CORS
	JWT             JWT
	MetricsEnabled  bool
	MetricsEndpoint string
	TLS             HTTPTLS
}

// HTTPTLS is [http.tls].
type HTTPTLS struct {
	Enabled  bool
	CertFile string
	KeyFile  string
}

// CORS is [http.cors].
type CORS struct {
	Enabled             bool
	AllowedMethods      []string
	AllowedOrigins      []string
	AllowedHeaders      []string
	ExposedHeaders      []string
	AllowCredentials    bool
	AllowPrivateNetwork bool
}

// JWT is [http.jwt].
type JWT struct {
	Algorithm         string
	Issuer            string
	Audience          string
	ValidIssuers      []string
	ValidAudiences    []string
	AccessTokenExpiry units.Expiry
	ClockSkew         time.Duration
	NotBefore         time.Duration
	EncodingSecret    string // secret
	DecodingSecret    string // secret
	UseBase64Secret   bool
	TrustedIssuers    []TrustedIssuer
}

// TrustedIssuer is one element of http.jwt.trusted_issuers.
type TrustedIssuer struct {
	Issuer   string
	Audience string
	JWKSURL  string
	UserID   int
}
