package config

import "net/netip"

// nodeKeys are the fields of an element of cluster.nodes, without its list of advertised addresses.
var nodeKeys = []key[Node]{
	{path: "name", at: bind(stringCodec, func(n *Node) *string { return &n.Name }),
		def: "", required: true,
		doc: "name of the node, unique"},
	{path: "ip", at: bind(ipCodec, func(n *Node) *netip.Addr { return &n.IP }),
		def: "", required: true,
		doc: "address of the node for the other nodes"},
	{path: "replica_id", at: bind(intCodec, func(n *Node) *int { return &n.ReplicaID }),
		def: "", required: true,
		doc: "number of the node, from 0 without gaps"},
	{path: "advertised_address", at: bind(stringCodec, func(n *Node) *string { return &n.AdvertisedAddress }),
		def: "",
		doc: "host that clients are told: an IP or a host name without a port; default is ip"},
	{path: "ports.tcp", at: bind(portCodec, func(n *Node) *uint16 { return &n.Ports.TCP }),
		def: "",
		doc: "TCP port for clients"},
	{path: "ports.quic", at: bind(portCodec, func(n *Node) *uint16 { return &n.Ports.QUIC }),
		def: "",
		doc: "QUIC port, needed if QUIC is enabled"},
	{path: "ports.http", at: bind(portCodec, func(n *Node) *uint16 { return &n.Ports.HTTP }),
		def: "",
		doc: "HTTP port, needed if HTTP is enabled"},
	{path: "ports.websocket", at: bind(portCodec, func(n *Node) *uint16 { return &n.Ports.WebSocket }),
		def: "",
		doc: "WebSocket port, needed if WebSocket is enabled"},
	{path: "ports.tcp_replica", at: bind(portCodec, func(n *Node) *uint16 { return &n.Ports.TCPReplica }),
		def: "",
		doc: "port for the other nodes"},
}

// advertisedKeys are the fields of an element of cluster.nodes[].advertised_addresses.
var advertisedKeys = []key[AdvertisedAddress]{
	{path: "client_cidr", at: bind(prefixCodec, func(a *AdvertisedAddress) *netip.Prefix { return &a.ClientCIDR }),
		required: true,
		doc:      "network of the clients, in CIDR form"},
	{path: "address", at: bind(stringCodec, func(a *AdvertisedAddress) *string { return &a.Address }),
		def: "", required: true,
		doc: "host that these clients are told"},
}

// issuerKeys are the fields of an element of http.jwt.trusted_issuers.
var issuerKeys = []key[TrustedIssuer]{
	{path: "issuer", at: bind(stringCodec, func(i *TrustedIssuer) *string { return &i.Issuer }),
		def: "", required: true,
		doc: "issuer of the tokens"},
	{path: "audience", at: bind(stringCodec, func(i *TrustedIssuer) *string { return &i.Audience }),
		def: "", required: true,
		doc: "audience that the tokens must name"},
	{path: "jwks_url", at: bind(stringCodec, func(i *TrustedIssuer) *string { return &i.JWKSURL }),
		def: "", required: true,
		doc: "where the keys of the issuer are published"},
	{path: "user_id", at: bind(intCodec, func(i *TrustedIssuer) *int { return &i.UserID }),
		def: "", required: true, min: "1", max: "4294967295",
		doc: "user that the tokens act as"},
}
