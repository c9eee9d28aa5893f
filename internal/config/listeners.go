package config

import (
	"net/netip"
	"slices"
)

// Sockets are the addresses of the listeners. An invalid address (the zero value) is a listener that there is
// not.
type Sockets struct {
	TCP       netip.AddrPort
	QUIC      netip.AddrPort
	WebSocket netip.AddrPort
	HTTP      netip.AddrPort
	Replica   netip.AddrPort
}

// Listen gives the addresses to bind. In a cluster the interface comes from the transport's address and the
// port from the roster; Replica is the node's own ip and tcp_replica port.
func (c *Config) Listen() Sockets {
	self := c.Self()
	pick := func(enabled bool, address netip.AddrPort, port func(*Ports) uint16) netip.AddrPort {
		if !enabled {
			return netip.AddrPort{}
		}
		if self != nil {
			return netip.AddrPortFrom(address.Addr(), port(&self.Ports))
		}
		return address
	}
	s := Sockets{
		TCP:       pick(c.TCP.Enabled, c.TCP.Address, func(p *Ports) uint16 { return p.TCP }),
		QUIC:      pick(c.QUIC.Enabled, c.QUIC.Address, func(p *Ports) uint16 { return p.QUIC }),
		WebSocket: pick(c.WebSocket.Enabled, c.WebSocket.Address, func(p *Ports) uint16 { return p.WebSocket }),
		HTTP:      pick(c.HTTP.Enabled, c.HTTP.Address, func(p *Ports) uint16 { return p.HTTP }),
	}
	if self != nil {
		s.Replica = netip.AddrPortFrom(self.IP, self.Ports.TCPReplica)
	}
	return s
}

// WithBound gives a copy that says where the listeners really are, for the runtime file. Listeners that were
// not bound keep their configured address. In a cluster the ports of the own node follow.
func (c *Config) WithBound(bound Sockets) *Config {
	copied := *c
	copied.Cluster.Nodes = slices.Clone(c.Cluster.Nodes)
	ports := &Ports{}
	if self := copied.Self(); self != nil {
		ports = &self.Ports
	}
	for _, s := range []struct {
		bound   netip.AddrPort
		address *netip.AddrPort
		port    *uint16
	}{
		{bound.TCP, &copied.TCP.Address, &ports.TCP},
		{bound.QUIC, &copied.QUIC.Address, &ports.QUIC},
		{bound.WebSocket, &copied.WebSocket.Address, &ports.WebSocket},
		{bound.HTTP, &copied.HTTP.Address, &ports.HTTP},
	} {
		if s.bound.IsValid() {
			*s.address, *s.port = s.bound, s.bound.Port()
		}
	}
	if bound.Replica.IsValid() {
		ports.TCPReplica = bound.Replica.Port()
	}
	return &copied
}
