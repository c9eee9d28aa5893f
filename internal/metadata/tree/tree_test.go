package tree

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func checkBalance[K, V any](t *rapid.T, n *node[K, V]) int {
	if n == nil {
		return 0
	}
	l, r := checkBalance(t, n.left), checkBalance(t, n.right)
	if n.size != l+r+1 {
		t.Fatalf("size %d of a node with %d and %d below", n.size, l, r)
	}
	if l+1 > delta*(r+1) || r+1 > delta*(l+1) {
		t.Fatalf("unbalanced: %d against %d", l, r)
	}
	return n.size
}

func TestMap_AgreesWithABuiltinMapAndOldVersionsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model, m := map[uint32]int{}, Numbers[int]{}
		type version struct {
			m     Numbers[int]
			model map[uint32]int
		}
		var old []version
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			k := rapid.Uint32Range(0, 60).Draw(t, "key")
			if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
				m, model = m.Delete(k), maps.Clone(model)
				delete(model, k)
			} else {
				m, model = m.Set(k, i), maps.Clone(model)
				model[k] = i
			}
			checkBalance(t, m.root)
			old = append(old, version{m, model})
			free := uint32(0)
			for _, used := model[free]; used; _, used = model[free] {
				free++
			}
			if got := LowestFree(m); got != free {
				t.Fatalf("lowest free %d, want %d", got, free)
			}
		}
		for _, v := range old {
			if got := maps.Collect(v.m.All()); !maps.Equal(got, v.model) || v.m.Len() != len(v.model) {
				t.Fatalf("version holds %v, want %v", got, v.model)
			}
			var keys []uint32
			for k := range v.m.All() {
				keys = append(keys, k)
				if got, ok := v.m.Get(k); !ok || got != v.model[k] {
					t.Fatalf("get %d: %d %v", k, got, ok)
				}
			}
			if !slices.IsSorted(keys) {
				t.Fatalf("keys out of order: %v", keys)
			}
		}
	})
}

func TestMap_GetDoesNotAllocate(t *testing.T) {
	var m Names[int]
	for _, s := range []string{"a", "b", "c", "d"} {
		m = m.Set(s, len(s))
	}
	if n := testing.AllocsPerRun(100, func() { m.Get("c") }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestMap_WalkStopsWhenToldTo(t *testing.T) {
	var m Numbers[int]
	for i := range uint32(10) {
		m = m.Set(i, int(i))
	}
	seen := 0
	for v := range m.Values() {
		if seen++; v == 3 {
			break
		}
	}
	if seen != 4 {
		t.Fatalf("saw %d values, want 4", seen)
	}
}
