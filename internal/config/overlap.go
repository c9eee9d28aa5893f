package config

import (
	"fmt"
	"net/netip"
)

// checkOverlaps refuses two nodes that tell some client the same host and port: that client could not reach
// one of them. Each node divides all clients into regions by longest prefix; the regions of a pair are
// compared on every network that either of them names, and on "everyone else".
func (l *loader) checkOverlaps() {
	nodes := l.cfg.Cluster.Nodes
	for i := range nodes {
		for j := i + 1; j < len(nodes); j++ {
			shared, ok := l.cfg.sharedPort(&nodes[i], &nodes[j])
			if !ok {
				continue
			}
			if network, host, clash := commonHost(&nodes[i], &nodes[j]); clash {
				l.refuseNode(fmt.Sprintf("%s[%d].advertised_address", nodesPath, j),
					fmt.Sprintf("clients in %s are told %s port %d for node %q as well", network, host, shared, nodes[i].Name),
					"advertise another host or port")
			}
		}
	}
}

// sharedPort finds a port number that clients use at both nodes.
func (c *Config) sharedPort(a, b *Node) (uint16, bool) {
	for _, p := range c.portsOf(a) {
		for _, q := range c.portsOf(b) {
			if p.client && q.client && p.number != 0 && p.number == q.number {
				return p.number, true
			}
		}
	}
	return 0, false
}

// commonHost finds a network whose clients are told one host for both nodes.
func commonHost(a, b *Node) (netip.Prefix, string, bool) {
	networks := []netip.Prefix{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0),
	}
	for _, n := range []*Node{a, b} {
		for _, address := range n.AdvertisedAddresses {
			networks = append(networks, address.ClientCIDR)
		}
	}
	for _, network := range networks {
		client, ok := ownClient(network, networks)
		if !ok {
			continue
		}
		if host := a.Host(client); host == b.Host(client) {
			return network, host, true
		}
	}
	return netip.Prefix{}, "", false
}

// ownClient finds an address of the network that lies in none of the longer ones: its region by longest
// prefix. There is none if longer networks cover it completely.
func ownClient(network netip.Prefix, all []netip.Prefix) (netip.Addr, bool) {
	inside := false
	for _, other := range all {
		if other.Bits() > network.Bits() && network.Contains(other.Addr()) {
			inside = true
			break
		}
	}
	if !inside {
		return network.Addr(), true
	}
	for _, half := range halves(network) {
		covered := false
		for _, other := range all {
			covered = covered || other == half
		}
		if covered {
			continue
		}
		if client, ok := ownClient(half, all); ok {
			return client, true
		}
	}
	return netip.Addr{}, false
}

// halves splits a network in two.
func halves(network netip.Prefix) [2]netip.Prefix {
	bits := network.Bits()
	low := netip.PrefixFrom(network.Addr(), bits+1)
	raw := network.Addr().AsSlice()
	raw[bits/8] |= 0x80 >> (bits % 8)
	high, _ := netip.AddrFromSlice(raw)
	return [2]netip.Prefix{low, netip.PrefixFrom(high, bits+1)}
}
