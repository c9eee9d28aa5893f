package protocol

// Limits of a block of options. User headers of a message share the limit of bytes, on the side of clients.
const (
	BlockMaxBytes   = 100_000
	BlockMaxEntries = 1024
)

// Pair is one entry of an option block or of the user headers of a message: two values with their kinds.
// Decoded slices alias the block.
type Pair struct {
	KeyKind   uint8
	Key       []byte
	ValueKind uint8
	Value     []byte
}

// Kinds of keys and values. Numbers are little-endian and have the length that their name says; KindBool has
// one byte. Values above KindF64 are passed through.
const (
	KindRaw    uint8 = 1
	KindString uint8 = 2
	KindBool   uint8 = 3
	KindI8     uint8 = 4
	KindI16    uint8 = 5
	KindI32    uint8 = 6
	KindI64    uint8 = 7
	KindI128   uint8 = 8
	KindU8     uint8 = 9
	KindU16    uint8 = 10
	KindU32    uint8 = 11
	KindU64    uint8 = 12
	KindU128   uint8 = 13
	KindF32    uint8 = 14
	KindF64    uint8 = 15
)

// Append encodes p, whose parts have 1 to 255 bytes each.
func (p Pair) Append(dst []byte) []byte {
	dst = le.AppendUint32(append(dst, p.KeyKind), uint32(len(p.Key)))
	dst = append(dst, p.Key...)
	dst = le.AppendUint32(append(dst, p.ValueKind), uint32(len(p.Value)))
	return append(dst, p.Value...)
}

// Pair reads a Pair: both kinds not 0, both lengths 1 to 255.
func (r *Reader) Pair() Pair {
	var p Pair
	p.KeyKind, p.Key = r.value("key")
	p.ValueKind, p.Value = r.value("value")
	return p
}

func (r *Reader) value(what string) (uint8, []byte) {
	kind, n := r.U8(what), r.U32(what)
	if kind == 0 || n == 0 || n > NameMaxBytes {
		r.Fail(what + " of a pair")
		return 0, nil
	}
	return kind, r.Bytes(int(n), what)
}

// CheckPairs reports whether block is a sequence of well-formed pairs and nothing else.
func CheckPairs(block []byte) bool {
	r := NewReader(block)
	for r.Len() > 0 && r.fault == "" {
		r.Pair()
	}
	return r.fault == ""
}
