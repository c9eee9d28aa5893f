// Package tree is a persistent ordered map: every change returns a new map that shares all but a path of
// nodes with the old one, so a published map never changes and a change costs O(log n) small copies.
//
// It is a weight-balanced tree (Adams, with the parameters 3 and 2). Every node knows the size of its
// subtree, which gives the map a rank order: the n-th entry and the lowest free number among integer keys
// are found in O(log n), and both are functions of the key set alone.
//
// A Map is a value; the zero Map is empty. Maps may be read from any number of goroutines.
package tree

import (
	"cmp"
	"iter"

	"github.com/galgolog/galgo/internal/protocol"
)

// Order compares keys. Its zero value must be ready to use.
type Order[K any] interface {
	// Compare returns a negative number, zero or a positive number as a is below, equal to or above b.
	Compare(a, b K) int
}

// Natural is the order of integers and strings (bytewise).
type Natural[K cmp.Ordered] struct{}

// Compare implements Order.
func (Natural[K]) Compare(a, b K) int { return cmp.Compare(a, b) }

// Wide is the numeric order of 128-bit numbers.
type Wide struct{}

// Compare implements Order.
func (Wide) Compare(a, b protocol.Uint128) int {
	if c := cmp.Compare(a.Hi, b.Hi); c != 0 {
		return c
	}
	return cmp.Compare(a.Lo, b.Lo)
}

type node[K, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
	size        int
}

// Map is a persistent map from K to V in the order O.
type Map[K, V any, O Order[K]] struct{ root *node[K, V] }

// Numbers is a map keyed by numeric ids.
type Numbers[V any] = Map[uint32, V, Natural[uint32]]

// Names is a map keyed by names, bytewise order.
type Names[V any] = Map[string, V, Natural[string]]

// Clients is a map keyed by client ids.
type Clients[V any] = Map[protocol.Uint128, V, Wide]

// Len returns the number of entries.
func (m Map[K, V, O]) Len() int { return size(m.root) }

// Get returns the value stored under key, and whether there is one. It does not allocate.
func (m Map[K, V, O]) Get(key K) (V, bool) {
	var o O
	for n := m.root; n != nil; {
		switch c := o.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	var none V
	return none, false
}

// Set returns the map with key bound to value.
func (m Map[K, V, O]) Set(key K, value V) Map[K, V, O] {
	var o O
	return Map[K, V, O]{insert(m.root, key, value, o)}
}

// Delete returns the map without key; m itself when key is not in it.
func (m Map[K, V, O]) Delete(key K) Map[K, V, O] {
	var o O
	root, found := remove(m.root, key, o)
	if !found {
		return m
	}
	return Map[K, V, O]{root}
}

// All iterates over the entries in ascending key order.
func (m Map[K, V, O]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { walk(m.root, yield) }
}

// Values iterates over the values in ascending key order.
func (m Map[K, V, O]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		walk(m.root, func(_ K, v V) bool { return yield(v) })
	}
}

// LowestFree returns the lowest number that is not a key of m.
func LowestFree[V any](m Numbers[V]) uint32 {
	free := uint32(0)
	for n := m.root; n != nil; {
		if uint64(n.key) == uint64(free)+uint64(size(n.left)) {
			free, n = n.key+1, n.right
		} else {
			n = n.left
		}
	}
	return free
}

func walk[K, V any](n *node[K, V], yield func(K, V) bool) bool {
	return n == nil || walk(n.left, yield) && yield(n.key, n.value) && walk(n.right, yield)
}

func size[K, V any](n *node[K, V]) int {
	if n == nil {
		return 0
	}
	return n.size
}

func insert[K, V any, O Order[K]](n *node[K, V], key K, value V, o O) *node[K, V] {
	if n == nil {
		return &node[K, V]{key: key, value: value, size: 1}
	}
	switch c := o.Compare(key, n.key); {
	case c < 0:
		return balanced(n.key, n.value, insert(n.left, key, value, o), n.right)
	case c > 0:
		return balanced(n.key, n.value, n.left, insert(n.right, key, value, o))
	default:
		return &node[K, V]{key: key, value: value, left: n.left, right: n.right, size: n.size}
	}
}

func remove[K, V any, O Order[K]](n *node[K, V], key K, o O) (*node[K, V], bool) {
	if n == nil {
		return nil, false
	}
	c := o.Compare(key, n.key)
	if c == 0 {
		return joined(n.left, n.right), true
	}
	var found bool
	left, right := n.left, n.right
	if c < 0 {
		left, found = remove(left, key, o)
	} else {
		right, found = remove(right, key, o)
	}
	if !found {
		return n, false
	}
	return balanced(n.key, n.value, left, right), true
}

// joined merges two neighbouring subtrees whose common parent went away.
func joined[K, V any](left, right *node[K, V]) *node[K, V] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.size > right.size:
		rest, last := withoutLast(left)
		return balanced(last.key, last.value, rest, right)
	default:
		rest, first := withoutFirst(right)
		return balanced(first.key, first.value, left, rest)
	}
}

func withoutFirst[K, V any](n *node[K, V]) (rest, first *node[K, V]) {
	if n.left == nil {
		return n.right, n
	}
	rest, first = withoutFirst(n.left)
	return balanced(n.key, n.value, rest, n.right), first
}

func withoutLast[K, V any](n *node[K, V]) (rest, last *node[K, V]) {
	if n.right == nil {
		return n.left, n
	}
	rest, last = withoutLast(n.right)
	return balanced(n.key, n.value, n.left, rest), last
}

// The weight of a subtree is its size plus one. One side may weigh at most delta times the other; gamma
// chooses between a single and a double rotation.
const (
	delta = 3
	gamma = 2
)

func made[K, V any](key K, value V, left, right *node[K, V]) *node[K, V] {
	return &node[K, V]{key: key, value: value, left: left, right: right, size: size(left) + size(right) + 1}
}

// balanced makes a node of two subtrees of which at most one has gained or lost one entry.
func balanced[K, V any](key K, value V, left, right *node[K, V]) *node[K, V] {
	wl, wr := size(left)+1, size(right)+1
	switch {
	case wr > delta*wl:
		inner := right.left
		if size(inner)+1 < gamma*(size(right.right)+1) {
			return made(right.key, right.value, made(key, value, left, inner), right.right)
		}
		return made(inner.key, inner.value,
			made(key, value, left, inner.left), made(right.key, right.value, inner.right, right.right))
	case wl > delta*wr:
		inner := left.right
		if size(inner)+1 < gamma*(size(left.left)+1) {
			return made(left.key, left.value, left.left, made(key, value, inner, right))
		}
		return made(inner.key, inner.value,
			made(left.key, left.value, left.left, inner.left), made(key, value, inner.right, right))
	}
	return made(key, value, left, right)
}
