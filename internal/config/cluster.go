package config

import (
	"net/netip"
	"time"
)

// Cluster is [cluster]. Nothing of it counts while Enabled is false.
type Cluster struct {
	Enabled                            bool
	Name                               string
	Insecure                           bool
	HeartbeatTimeout                   time.Duration
	CommitBroadcastInterval            time.Duration
	PrepareRetransmitInterval          time.Duration
	ViewChangeRetransmitInterval       time.Duration
	ViewChangeStatusTimeout            time.Duration
	RequestStartViewRetransmitInterval time.Duration
	ViewProbeAttemptsMax               int
	RepairRetryInterval                time.Duration
	RepairChunkMax                     int
	SuperblockWedgedFatalTimeout       time.Duration // 0: never
	Auth                               ClusterAuth
	TLS                                ClusterTLS
	Coordinator                        Coordinator
	Nodes                              []Node
}

// ClusterAuth is [cluster.auth], the shared secret of the replica links.
type ClusterAuth struct {
	Enabled              bool
	SharedSecret         string // secret
	PreviousSharedSecret string // secret
}

// ClusterTLS is [cluster.tls].
type ClusterTLS struct {
	Enabled    bool
	SelfSigned bool
	CertFile   string
	KeyFile    string
	CAFile     string
}

// Coordinator is [cluster.coordinator].
type Coordinator struct {
	SkipShardZeroForReplicas bool
	SkipShardZeroForClients  bool
}

// Node is one element of cluster.nodes, a member of the cluster.
type Node struct {
	Name                string
	IP                  netip.Addr // replica traffic and forwarding
	ReplicaID           int
	AdvertisedAddress   string // host that clients are told, lower case; empty: the IP
	Ports               Ports
	AdvertisedAddresses []AdvertisedAddress
}

// Ports of a node. 0 means that the node does not name one.
type Ports struct {
	TCP        uint16
	QUIC       uint16
	HTTP       uint16
	WebSocket  uint16
	TCPReplica uint16
}

// AdvertisedAddress is the host that clients of one network are told.
type AdvertisedAddress struct {
	ClientCIDR netip.Prefix // masked
	Address    string       // lower case
}

// Host is what a client that connects from the given address is told: the advertised address with the
// longest prefix that contains it, else AdvertisedAddress, else the IP. IPv6 hosts come without brackets.
func (n *Node) Host(client netip.Addr) string {
	best := -1
	host := n.AdvertisedAddress
	if host == "" {
		host = n.IP.String()
	}
	client = client.Unmap()
	for _, a := range n.AdvertisedAddresses {
		if a.ClientCIDR.Contains(client) && a.ClientCIDR.Bits() > best {
			best, host = a.ClientCIDR.Bits(), a.Address
		}
	}
	return host
}

// Self is the roster entry of this process, or nil outside a cluster.
func (c *Config) Self() *Node {
	if !c.Cluster.Enabled {
		return nil
	}
	for i := range c.Cluster.Nodes {
		if c.Cluster.Nodes[i].ReplicaID == c.ReplicaID {
			return &c.Cluster.Nodes[i]
		}
	}
	return nil
}
