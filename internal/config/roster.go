package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// nodesMax is the largest cluster that the consensus core is made for.
const nodesMax = 32

var loopbackIP = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// checkRoster compares the nodes of an enabled cluster with each other.
func (l *loader) checkRoster() {
	nodes := l.cfg.Cluster.Nodes
	if len(nodes) == 0 || len(nodes) > nodesMax {
		l.refuseNode(nodesPath, fmt.Sprintf("has %d elements", len(nodes)), fmt.Sprintf("give 1 to %d", nodesMax))
		return
	}
	names, ids, sockets := map[string]int{}, map[int]int{}, map[netip.AddrPort]string{}
	for i := range nodes {
		n := &nodes[i]
		at := fmt.Sprintf("%s[%d]", nodesPath, i)
		if other, taken := names[n.Name]; taken {
			l.refuseNode(at+".name", fmt.Sprintf("%q is also the name of element %d", n.Name, other), "names are unique")
		}
		names[n.Name] = i
		if other, taken := ids[n.ReplicaID]; taken {
			l.refuseNode(at+".replica_id", fmt.Sprintf("%d is also that of element %d", n.ReplicaID, other), "ids are unique")
		}
		ids[n.ReplicaID] = i
		if n.ReplicaID >= len(nodes) {
			l.refuseNode(at+".replica_id", fmt.Sprintf("is %d in a cluster of %d", n.ReplicaID, len(nodes)),
				"ids go from 0 without gaps")
		}
		l.checkPorts(n, at, sockets)
		l.checkAdvertised(n, at)
	}
	l.checkOverlaps()
	l.checkClusterAuth()
}

func (l *loader) refuseNode(path, problem, remedy string) {
	l.refuse(Refusal{Reason: ErrRoster, Key: path, Source: l.origin(nodesPath), Problem: problem, Remedy: remedy})
}

// port is one port of a node with the name of its field.
type port struct {
	field  string
	number uint16
	needed bool
	client bool // clients connect to it
}

func (c *Config) portsOf(n *Node) []port {
	return []port{
		{"tcp", n.Ports.TCP, true, true},
		{"tcp_replica", n.Ports.TCPReplica, true, false},
		{"quic", n.Ports.QUIC, c.QUIC.Enabled, true},
		{"http", n.Ports.HTTP, c.HTTP.Enabled, true},
		{"websocket", n.Ports.WebSocket, c.WebSocket.Enabled, true},
	}
}

func (l *loader) checkPorts(n *Node, at string, sockets map[netip.AddrPort]string) {
	for _, p := range l.cfg.portsOf(n) {
		path := at + ".ports." + p.field
		if p.number == 0 {
			if p.needed {
				l.refuseNode(path, "is missing", "give the port, or disable that transport")
			}
			continue
		}
		socket := netip.AddrPortFrom(n.IP, p.number)
		if other, taken := sockets[socket]; taken {
			l.refuseNode(path, fmt.Sprintf("%s is also %s", socket, other), "give every listener a port of its own")
		}
		sockets[socket] = path
	}
}

// checkAdvertised checks and lower-cases the hosts that clients are told.
func (l *loader) checkAdvertised(n *Node, at string) {
	if n.AdvertisedAddress != "" {
		n.AdvertisedAddress = l.checkHost(n.AdvertisedAddress, at+".advertised_address")
	}
	seen := map[netip.Prefix]bool{}
	for i := range n.AdvertisedAddresses {
		a := &n.AdvertisedAddresses[i]
		path := fmt.Sprintf("%s.%s[%d]", at, advertisedName, i)
		a.Address = l.checkHost(a.Address, path+".address")
		if seen[a.ClientCIDR] {
			l.refuseNode(path+".client_cidr", fmt.Sprintf("%s is there twice", a.ClientCIDR), "name every network once")
		}
		seen[a.ClientCIDR] = true
	}
}

func (l *loader) checkHost(text, path string) string {
	host, ok := canonicalHost(text)
	if !ok {
		l.refuseNode(path, fmt.Sprintf("is %q", text), "give an IP or a host name, without a port")
	}
	return host
}

// canonicalHost lower-cases a host: an IP, an IPv6 address in brackets, or a host name as RFC 1123 has them.
// An all-numeric name is refused because it would be read as an address.
func canonicalHost(text string) (string, bool) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" {
			return text, false
		}
		return ip.String(), true
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.String(), ip.Zone() == ""
	}
	host := strings.ToLower(text)
	if host == "" || len(host) > 253 {
		return text, false
	}
	numeric := true
	for _, label := range strings.Split(host, ".") {
		if !labelValid(label) {
			return text, false
		}
		numeric = numeric && strings.Trim(label, "0123456789") == ""
	}
	return host, !numeric
}

func labelValid(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// checkClusterAuth refuses replica links that cross a network without authentication.
func (l *loader) checkClusterAuth() {
	if l.cfg.Cluster.Auth.Enabled || l.cfg.Cluster.Insecure {
		return
	}
	for i := range l.cfg.Cluster.Nodes {
		n := &l.cfg.Cluster.Nodes[i]
		if n.IP.Unmap().IsLoopback() {
			continue
		}
		l.refuse(Refusal{Reason: ErrClusterAuth, Key: "cluster.auth.enabled", Source: l.origin("cluster.auth.enabled"),
			Problem: fmt.Sprintf("is false, and node %q is at %s, which is not a loopback address", n.Name, n.IP),
			Remedy:  "enable cluster.auth with a shared secret, or set cluster.insecure = true on a trusted network"})
		return
	}
}
