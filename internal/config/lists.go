package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The keys whose value is a list of tables.
const (
	nodesPath      = "cluster.nodes"
	advertisedName = "advertised_addresses"
	issuersPath    = "http.jwt.trusted_issuers"
)

const (
	listMax       = 256 // elements of a list
	advertisedMax = 16  // advertised addresses of a node
)

// fromVariable is a value of a list element that came from the environment.
type fromVariable struct{ name, text string }

// exampleNodes is the roster of the defaults. It only counts in a cluster, where it is replaced as a whole.
func exampleNodes() []Node {
	first := Node{Name: "iggy-node-1", ReplicaID: 0,
		Ports: Ports{TCP: 8090, QUIC: 8080, HTTP: 3000, WebSocket: 8092, TCPReplica: 9090}}
	second := Node{Name: "iggy-node-2", ReplicaID: 1,
		Ports: Ports{TCP: 8091, QUIC: 8081, HTTP: 3001, WebSocket: 8093, TCPReplica: 9091}}
	first.IP = loopbackIP
	second.IP = loopbackIP
	return []Node{first, second}
}

// loadList applies a list of tables; false if the path is not one.
func (l *loader) loadList(path string, value any, source string) bool {
	switch path {
	case nodesPath:
		nodes := elements[Node]{l: l, path: path, keys: nodeKeys, strict: true, max: listMax}
		nodes.nested = func(n *Node, at, name string, value any, source string) bool {
			if name != advertisedName {
				return false
			}
			addresses := elements[AdvertisedAddress]{l: l, path: at + "." + name, keys: advertisedKeys,
				strict: true, max: advertisedMax}
			n.AdvertisedAddresses = addresses.decode(value, source)
			return true
		}
		l.cfg.Cluster.Nodes = nodes.decode(value, source)
	case issuersPath:
		issuers := elements[TrustedIssuer]{l: l, path: path, keys: issuerKeys, max: listMax}
		l.cfg.HTTP.JWT.TrustedIssuers = issuers.decode(value, source)
	default:
		return false
	}
	l.origins[path] = source
	return true
}

// elements decodes a list of tables. A list always replaces what was there before.
type elements[C any] struct {
	l      *loader
	path   string
	keys   []key[C]
	max    int
	strict bool // unknown fields refuse, except ports
	nested func(element *C, at, name string, value any, source string) bool
}

func (e *elements[C]) decode(value any, source string) []C {
	raw, ok := value.([]any)
	if !ok {
		e.refuse(ErrValue, e.path, source, "is "+typeName(value), "it is a list: write [["+e.path+"]] for each element")
		return nil
	}
	if len(raw) > e.max {
		e.refuse(ErrValue, e.path, source, fmt.Sprintf("has %d elements", len(raw)), fmt.Sprintf("at most %d", e.max))
		return nil
	}
	list := make([]C, len(raw))
	for i, element := range raw {
		at := fmt.Sprintf("%s[%d]", e.path, i)
		table, ok := element.(map[string]any)
		if !ok {
			e.refuse(ErrValue, at, source, "is "+typeName(element), "write [["+e.path+"]] for each element")
			continue
		}
		given := map[string]bool{}
		e.table(&list[i], at, "", table, source, given)
		e.complete(&list[i], at, source, given)
	}
	return list
}

// table reads the fields of one element, nested tables included.
func (e *elements[C]) table(element *C, at, prefix string, table map[string]any, source string, given map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		field, value := prefix+name, table[name]
		if k := e.key(field); k != nil {
			given[field] = true
			e.set(k, element, at, value, source)
			continue
		}
		if prefix == "" && e.nested != nil && e.nested(element, at, name, value, source) {
			continue
		}
		if nested, ok := value.(map[string]any); ok && e.hasTable(field) {
			e.table(element, at, field+".", nested, source, given)
			continue
		}
		e.unknown(at+"."+field, prefix, source)
	}
}

func (e *elements[C]) set(k *key[C], element *C, at string, value any, source string) {
	text, ok := "", false
	if v, fromEnv := value.(fromVariable); fromEnv {
		text, source, ok = v.text, v.name, true
	} else {
		text, ok = k.at.accept(value)
	}
	if !ok {
		e.refuse(ErrValue, at+"."+k.path, source, "is "+typeName(value), "give "+article(k.at.kind))
		return
	}
	if err := k.at.set(element, text); err != nil {
		e.refuse(ErrValue, at+"."+k.path, source, err.Error(), "give "+article(k.at.kind))
	}
}

// complete refuses missing and empty required fields.
func (e *elements[C]) complete(element *C, at, source string, given map[string]bool) {
	for i := range e.keys {
		k := &e.keys[i]
		switch {
		case k.required && !given[k.path]:
			e.refuse(ErrValue, at+"."+k.path, source, "is missing", "every element needs it: "+k.doc)
		case given[k.path]:
			if problem := k.problem(element); problem != "" {
				e.refuse(ErrRange, at+"."+k.path, source, problem, "accepted: "+k.accepts())
			}
		}
	}
}

func (e *elements[C]) unknown(path, prefix, source string) {
	if e.strict && prefix == "" {
		e.refuse(ErrUnknownKey, path, source, "there is no such key, and [cluster] tolerates none", "remove it")
		return
	}
	e.l.warn("%s (%s): there is no such key, it is ignored", path, source)
}

func (e *elements[C]) refuse(reason error, path, source, problem, remedy string) {
	e.l.refuse(Refusal{Reason: reason, Key: path, Source: source, Problem: problem, Remedy: remedy})
}

func (e *elements[C]) key(field string) *key[C] {
	for i := range e.keys {
		if e.keys[i].path == field {
			return &e.keys[i]
		}
	}
	return nil
}

func (e *elements[C]) hasTable(field string) bool {
	return slices.ContainsFunc(e.keys, func(k key[C]) bool { return strings.HasPrefix(k.path, field+".") })
}
