package protocol

import (
	"fmt"
	"unicode/utf8"
)

// NameMaxBytes is the longest name, identifier or key.
const NameMaxBytes = 255

// DecodeError says that a body is not what its command needs. It is answered with CodeInvalidCommand.
type DecodeError struct {
	What string // the part that does not fit
	At   int    // byte of the body
}

// Error says what did not fit and where.
func (e *DecodeError) Error() string { return fmt.Sprintf("decode: %s at byte %d", e.What, e.At) }

// Unwrap makes every decode error a CodeInvalidCommand to errors.Is and errors.As.
func (e *DecodeError) Unwrap() error { return CodeInvalidCommand }

// Reader decodes a body from front to back. After the first fault it stays at it and returns zero values;
// Err tells. It copies nothing: names alias the body.
type Reader struct {
	body  []byte
	at    int
	fault string
}

// NewReader returns a reader of body.
func NewReader(body []byte) Reader { return Reader{body: body} }

// Err returns the first fault as a *DecodeError, or nil.
func (r *Reader) Err() error {
	if r.fault == "" {
		return nil
	}
	return &DecodeError{r.fault, r.at}
}

// Fail records a fault found by the caller.
func (r *Reader) Fail(what string) {
	if r.fault == "" {
		r.fault = what
	}
}

// At is the number of bytes read.
func (r *Reader) At() int { return r.at }

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.body) - r.at }

// Rest returns everything that is left and moves to the end.
func (r *Reader) Rest() []byte {
	if r.fault != "" {
		return nil
	}
	b := r.body[r.at:]
	r.at = len(r.body)
	return b
}

// End fails unless everything was read.
func (r *Reader) End() {
	if r.fault == "" && r.Len() != 0 {
		r.Fail("bytes behind the end")
	}
}

// Bytes returns the next n bytes.
func (r *Reader) Bytes(n int, what string) []byte {
	if r.fault != "" {
		return nil
	}
	if n < 0 || n > r.Len() {
		r.Fail(what)
		return nil
	}
	b := r.body[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

// U8 reads a byte. Like all readers it names what it reads for the error and returns 0 after a fault.
func (r *Reader) U8(what string) uint8 {
	if b := r.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads a number of 2 bytes.
func (r *Reader) U16(what string) uint16 {
	if b := r.Bytes(2, what); b != nil {
		return le.Uint16(b)
	}
	return 0
}

// U32 reads a number of 4 bytes.
func (r *Reader) U32(what string) uint32 {
	if b := r.Bytes(4, what); b != nil {
		return le.Uint32(b)
	}
	return 0
}

// U64 reads a number of 8 bytes.
func (r *Reader) U64(what string) uint64 {
	if b := r.Bytes(8, what); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// U128 reads a number of 16 bytes.
func (r *Reader) U128(what string) Uint128 {
	if b := r.Bytes(16, what); b != nil {
		return ReadUint128(b)
	}
	return Uint128{}
}

// Text8 reads a u8 length and that much UTF-8, which may be empty.
func (r *Reader) Text8(what string) []byte {
	b := r.Bytes(int(r.U8(what)), what)
	if !utf8.Valid(b) {
		r.Fail(what + " is not UTF-8")
		return nil
	}
	return b
}

// Text32 reads a u32 length and that much UTF-8, which may be empty.
func (r *Reader) Text32(what string) []byte {
	n := r.U32(what)
	if uint64(n) > uint64(r.Len()) {
		r.Fail(what)
		return nil
	}
	b := r.Bytes(int(n), what)
	if !utf8.Valid(b) {
		r.Fail(what + " is not UTF-8")
		return nil
	}
	return b
}

// Name reads a u8 length of 1 to 255 and that much UTF-8.
func (r *Reader) Name(what string) []byte {
	b := r.Text8(what)
	if len(b) == 0 {
		r.Fail(what + " is empty")
	}
	return b
}

// Identifier reads an Identifier.
func (r *Reader) Identifier(what string) Identifier {
	kind, n := r.U8(what), r.U8(what)
	switch {
	case kind == identifierNumeric && n == 4:
		return NumericID(r.U32(what))
	case kind == identifierNamed && n > 0:
		b := r.Bytes(int(n), what)
		if !utf8.Valid(b) {
			r.Fail(what + " is not UTF-8")
			return Identifier{}
		}
		return Identifier{name: b}
	}
	r.Fail(what + " of unknown form")
	return Identifier{}
}

// Consumer reads a Consumer.
func (r *Reader) Consumer() Consumer {
	c := Consumer{Kind: ConsumerKind(r.U8("consumer kind"))}
	if c.Kind != ConsumerSingle && c.Kind != ConsumerGroup {
		r.Fail("consumer kind")
	}
	c.ID = r.Identifier("consumer")
	return c
}

// OptionalPartition reads a flag and a partition id: only flag 1 means that the id counts.
func (r *Reader) OptionalPartition() (id uint32, present bool) {
	present = r.U8("partition flag") == 1
	id = r.U32("partition")
	if !present {
		id = 0
	}
	return id, present
}

const (
	identifierNumeric = 1
	identifierNamed   = 2
)

// Identifier names a stream, topic, group, user or consumer by number or by name; the two never stand for
// each other. The zero value is the number 0. A decoded name aliases the body it came from.
type Identifier struct {
	id   uint32
	name []byte
}

// NumericID names by number.
func NumericID(id uint32) Identifier { return Identifier{id: id} }

// NamedID names by name, which has 1 to 255 bytes. An empty name is still a name: nobody has it, and no server
// decodes it.
func NamedID(name string) Identifier { return Identifier{name: []byte(name)} }

// IsNumeric reports whether i is a number.
func (i Identifier) IsNumeric() bool { return i.name == nil }

// ID is the number; 0 when i is a name.
func (i Identifier) ID() uint32 { return i.id }

// Name is the name without a copy; empty when i is a number.
func (i Identifier) Name() []byte { return i.name }

// String shows the number or the name.
func (i Identifier) String() string {
	if i.IsNumeric() {
		return fmt.Sprintf("%d", i.id)
	}
	return string(i.name)
}

// Append encodes i behind dst.
func (i Identifier) Append(dst []byte) []byte {
	if i.IsNumeric() {
		dst = append(dst, identifierNumeric, 4)
		return le.AppendUint32(dst, i.id)
	}
	dst = append(dst, identifierNamed, byte(len(i.name)))
	return append(dst, i.name...)
}

// ConsumerKind tells single consumers from groups.
type ConsumerKind uint8

// Consumer kinds.
const (
	ConsumerSingle ConsumerKind = 1
	ConsumerGroup  ConsumerKind = 2
)

// Consumer names who polls and stores offsets.
type Consumer struct {
	Kind ConsumerKind
	ID   Identifier
}

// Append encodes c.
func (c Consumer) Append(dst []byte) []byte { return c.ID.Append(append(dst, byte(c.Kind))) }

// Key is the number under which offsets of a single consumer are stored: its number, or the XXH32 of its
// name. A group is stored under its own number, which only the metadata knows.
func (c Consumer) Key() uint32 {
	if c.ID.IsNumeric() {
		return c.ID.ID()
	}
	return Hash32(c.ID.Name())
}

// AppendOptionalPartition encodes a flag and a partition id.
func AppendOptionalPartition(dst []byte, id uint32, present bool) []byte {
	if !present {
		return append(dst, 0, 0, 0, 0, 0)
	}
	return le.AppendUint32(append(dst, 1), id)
}

// AppendName encodes a u8 length and s, which has at most 255 bytes.
func AppendName[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(append(dst, byte(len(s))), s...)
}

// AppendText32 encodes a u32 length and s.
func AppendText32[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(le.AppendUint32(dst, uint32(len(s))), s...)
}

// PartitioningKind tells who chooses the partition of a batch.
type PartitioningKind uint8

// Partitioning kinds.
const (
	PartitionBalanced PartitioningKind = 1
	PartitionByID     PartitioningKind = 2
	PartitionByKey    PartitioningKind = 3
)

// Partitioning says where a batch goes: wherever it is the turn, to partition ID, or where Key hashes to.
type Partitioning struct {
	Kind PartitioningKind
	ID   uint32
	Key  []byte // 1 to 255 bytes; aliases the body it came from
}

// Append encodes p behind dst. Any kind other than ID and key, 0 included, goes out as balanced.
func (p Partitioning) Append(dst []byte) []byte {
	switch p.Kind {
	case PartitionByID:
		return le.AppendUint32(append(dst, byte(p.Kind), 4), p.ID)
	case PartitionByKey:
		return append(append(dst, byte(p.Kind), byte(len(p.Key))), p.Key...)
	}
	return append(dst, byte(PartitionBalanced), 0)
}

// Partitioning reads a Partitioning.
func (r *Reader) Partitioning() Partitioning {
	p := Partitioning{Kind: PartitioningKind(r.U8("partitioning kind"))}
	n := r.U8("partitioning length")
	switch {
	case p.Kind == PartitionBalanced && n == 0:
	case p.Kind == PartitionByID && n == 4:
		p.ID = r.U32("partition")
	case p.Kind == PartitionByKey && n > 0:
		p.Key = r.Bytes(int(n), "partitioning key")
	default:
		r.Fail("partitioning of unknown form")
	}
	return p
}

// AckLevel says when an offset write is answered.
type AckLevel uint8

// Acknowledgement levels: applied on this node, or committed.
const (
	AckNone   AckLevel = 0
	AckQuorum AckLevel = 1
)

// AckLevel reads an AckLevel.
func (r *Reader) AckLevel() AckLevel {
	a := AckLevel(r.U8("acknowledgement level"))
	if a > AckQuorum {
		r.Fail("acknowledgement level")
	}
	return a
}

// Text32Raw reads a u32 length and that many bytes, which need not be text.
func (r *Reader) Text32Raw(what string) []byte {
	n := r.U32(what)
	if uint64(n) > uint64(r.Len()) {
		r.Fail(what)
		return nil
	}
	return r.Bytes(int(n), what)
}
