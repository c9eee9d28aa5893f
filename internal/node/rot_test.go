package node

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

var (
	rotSeed = flag.Uint64("rotseed", 1, "seed of the sampled damage")
	rotAll  = flag.Bool("rotall", false, "flip every bit of files up to 200 bytes, and cut them everywhere")
)

// image is the disk of a partition that lived, and what its clients know.
type image struct {
	name   string
	disk   *vfs.Mem
	life   *life
	want   map[uint64]uint64 // what an undamaged start serves
	stored map[uint32]uint64
	floor  uint64 // lowest offset that may be given out again
	clean  bool   // stopped in order
}

// rotImages is one life at three ends: a partition that was purged, died, went on behind a gap and holds more than
// one stride of index.
func rotImages(t *testing.T) []*image {
	t.Helper()
	live := func() *life {
		l := newLife(t, 100)
		l.put(0, 2)
		l.purgeTopic()
		l.clock.ticks += 2 * claimLastsTicks // a claim soon after another is larger
		l.put(0, 4)
		l.crash(vfs.KillOnly)
		for range 3 {
			if _, code := l.try(1, 40_000); code != protocol.Success {
				t.Fatal(code)
			}
		}
		l.put(107, 1)
		for consumer, offset := range map[uint32]uint64{7: 2, 8: 105} {
			if code := l.store(consumer, offset); code != protocol.Success {
				t.Fatal(code)
			}
		}
		l.chain([]uint64{0, 104}, []uint64{104})
		return l
	}
	var out []*image
	for _, mode := range []vfs.CrashMode{vfs.KillOnly, vfs.LoseUnsynced} {
		l := live()
		out = append(out, &image{name: mode.String(), life: l, disk: l.disk.CrashClone(newRand(1), mode)})
	}
	l := live()
	l.close()
	out = append(out, &image{name: "stopped", life: l, disk: l.disk, clean: true})
	for _, im := range out {
		im.floor = 108
		l := im.open(im.disk)
		var code protocol.Code
		if im.want, code = l.dump(); code != protocol.Success {
			t.Fatal(code)
		}
		im.stored = map[uint32]uint64{}
		for _, consumer := range []uint32{7, 8} {
			if v, ok := l.stored(consumer); ok {
				im.stored[consumer] = v
			}
		}
		t.Logf("%s: serves %s, stored %v", im.name, spans(im.want), im.stored)
	}
	if len(out[0].want) != 8 || len(out[2].want) != 8 || len(out[1].want) == 8 {
		t.Fatal("the images are not what they should be")
	}
	return out
}

// open boots a copy of disk.
func (im *image) open(disk *vfs.Mem) *life {
	l := *im.life
	l.stepRig, l.log = nil, &bytes.Buffer{}
	l.acked = maps.Clone(im.want)
	l.boot(im.life.t, disk.CrashClone(newRand(1), vfs.KillOnly))
	return &l
}

// variant is one way to damage a file.
type variant struct {
	what    string
	content []byte // nil: removed
}

// variants are the removal of a file, flipped bits and cuts: with -rotall every one of a small file and many of a
// large one, otherwise one bit of every byte of a small file and a sample of a large one.
func variants(rng *rand.Rand, b []byte) []variant {
	out := []variant{{"removed", nil}}
	bits, cuts := rng.Perm(8*len(b)), rng.Perm(len(b))
	bitsMax, cutsMax := 60, 20
	if *rotAll {
		bitsMax, cutsMax = 1600, 200
	} else if len(b) <= 48 {
		bits, cutsMax = bits[:0], len(b)
		for i := range b {
			bits = append(bits, 8*i+rng.IntN(8))
		}
	}
	for _, bit := range bits[:min(len(bits), bitsMax)] {
		bad := bytes.Clone(b)
		bad[bit/8] ^= 1 << (bit % 8)
		out = append(out, variant{fmt.Sprintf("bit %d flipped", bit), bad})
	}
	for _, n := range cuts[:min(len(cuts), cutsMax)] {
		out = append(out, variant{fmt.Sprintf("cut to %d bytes", n), b[:n:n]})
	}
	return out
}

// Whatever happens to one file of a partition, a start serves everything as it was or stops the partition and says
// why; a stored offset may be forgotten where its own file is damaged. Nothing else: no message at another offset,
// no offset given out twice, nothing deleted.
func TestRot_OneDamagedFileIsNoticedOrHarmless(t *testing.T) {
	rng := rand.New(rand.NewPCG(*rotSeed, 7))
	for _, im := range rotImages(t) {
		t.Run(im.name, func(t *testing.T) {
			im.life.t = t
			dir := path.Join("/data", strings.TrimPrefix(im.life.dir(), "/data"))
			files := filesBelow(t, im.disk, dir)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				tally := map[string]int{}
				for _, v := range variants(rng, files[name]) {
					tally[im.judge(t, name, v)]++
					if t.Failed() {
						t.Fatalf("%s: %s (-rotseed %d)", name, v.what, *rotSeed)
					}
				}
				t.Logf("%-28s %6d bytes: %v", name, len(files[name]), tally)
			}
		})
	}
}

// judge boots with one damaged file and says what became of the partition.
func (im *image) judge(t *testing.T, name string, v variant) string {
	t.Helper()
	disk := im.disk.CrashClone(newRand(1), vfs.KillOnly)
	setFile(t, disk, path.Join(im.life.dir(), name), v.content)
	l := im.open(disk)
	defer func() { l.exec.Close() }()
	if siblings, err := l.disk.ReadDir(path.Dir(l.dir())); err != nil || !slices.Equal(siblings, []string{"0"}) {
		t.Errorf("beside the partition: %v, %v", siblings, err)
	}
	if f := l.n.Fenced(l.id); f != nil {
		im.judgeFence(t, l, disk, f)
		return "fenced"
	}
	return im.judgeServing(t, l, name)
}

// judgeFence checks that a fence names its reason and that the data stayed as it was.
func (im *image) judgeFence(t *testing.T, l *life, damaged *vfs.Mem, f *FenceError) {
	t.Helper()
	var (
		refusal    *segment.Refusal
		unreadable *superblock.UnreadableError
		owner      *OwnerError
		missing    *MissingSuperblockError
		stale      *StaleSuperblockError
	)
	if !errors.As(f, &refusal) && !errors.As(f, &unreadable) && !errors.As(f, &owner) && !errors.As(f, &missing) && !errors.As(f, &stale) {
		t.Errorf("the fence has no type: %v", f)
	}
	if !strings.Contains(f.Error(), l.dir()) {
		t.Errorf("the fence names no file: %v", f)
	}
	before, after := filesBelow(t, damaged, l.dir()), filesBelow(t, l.disk, l.dir())
	for name, b := range before {
		if strings.HasSuffix(name, ".log") && !bytes.Equal(b, after[name]) {
			t.Errorf("%s was changed although the partition is fenced", name)
		}
	}
	if _, code := l.try(1, 10); code != protocol.CodeCannotReadPartitions {
		t.Errorf("a send to the fenced partition is answered %v", code)
	}
}

// judgeServing checks what a start that went on serves, now and after one more.
func (im *image) judgeServing(t *testing.T, l *life, name string) string {
	t.Helper()
	outcome := "as before"
	found, code := l.dump()
	switch lost := len(im.want) - len(found); {
	case code != protocol.Success:
		// Damage in front of what a start looks at is met by the reader.
		if !strings.HasSuffix(name, ".log") || code != protocol.CodeInvalidBatchChecksum && code != protocol.CodeInvalidMessageChecksum &&
			code != protocol.CodeCannotReadMessage {
			t.Errorf("poll: %v", code)
		}
		outcome = "poll refused"
	case lost > 0 && strings.HasSuffix(name, ".log") && !im.clean:
		// A process that died may have left the end of the log torn.
		outcome = "end cut off"
		offsets := slices.Sorted(maps.Keys(im.want))
		for _, offset := range offsets[len(found):] {
			if _, there := found[offset]; there {
				t.Errorf("not the end is missing: %s", spans(found))
			}
		}
	case lost != 0:
		t.Errorf("served %s, want %s", spans(found), spans(im.want))
	}
	for offset, id := range found {
		if im.want[offset] != id {
			t.Errorf("offset %d is message %d, was %d", offset, id, im.want[offset])
		}
	}
	outcome += im.judgeStored(t, l, name)
	base, sent := l.try(1, 10)
	if sent != protocol.Success || base < im.floor {
		t.Errorf("the next offset is %d (code %v), offsets below %d were given out", base, sent, im.floor)
	}
	l.crash(vfs.KillOnly)
	again, _ := l.dump()
	if code == protocol.Success && len(again) != len(found)+1 {
		t.Errorf("after one more start: %s", spans(again))
	}
	return outcome
}

func (im *image) judgeStored(t *testing.T, l *life, name string) (outcome string) {
	t.Helper()
	for consumer, want := range im.stored {
		got, ok := l.stored(consumer)
		own := name == fmt.Sprintf("offsets/consumers/%d", consumer)
		switch {
		case ok && (got == want || strings.HasSuffix(name, ".log") && got < want):
		case own && !ok:
			outcome = ", offset forgotten"
		default:
			t.Errorf("consumer %d: offset %d %v, want %d", consumer, got, ok, want)
		}
	}
	return outcome
}
