package metadata

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// option is an index into the catalogue.
type option int

// The options of a topic, in the order in which they are described to clients.
const (
	optionCompression option = iota
	optionMessageExpiry
	optionMaxTopicSize
	optionSegmentSize
	optionEnforceFsync
	optionMessagesToSave
	optionSizeToSave
	optionPreallocate
	optionsCount
)

// Unlimited is the message expiry that never comes and the topic size that is never reached.
const Unlimited = ^uint64(0)

// Compression algorithms of a topic. They are stored and shown; the server compresses nothing.
const (
	CompressionNone uint8 = 1
	CompressionGzip uint8 = 2
)

// Bounds of option values.
const (
	segmentSizeMin    = 1 << 20
	segmentSizeMax    = 1 << 30
	segmentSizeUnit   = 512
	messagesToSaveMax = 16_777_216
	sizeToSaveMax     = 1 << 30
	preallocationMax  = 64 << 30
)

type optionRule struct {
	key         string
	kind        byte   // canonical value kind
	standard    uint64 // the value of a topic that names none
	zeroDefault bool   // an explicit 0 means the standard
	updatable   bool
	parse       func(kind byte, value []byte) (uint64, bool)
	description string
}

// optionCatalogue describes every option. Values are held as numbers: a compression code, 0 or 1 for a
// switch, microseconds, bytes or a count.
var optionCatalogue = [optionsCount]optionRule{
	optionCompression: {"compression_algorithm", protocol.KindString, uint64(CompressionNone), false, true, parseCompression,
		"Compression algorithm that producers are told to use: none or gzip. Stored and returned; the server does not compress."},
	optionMessageExpiry: {"message_expiry", protocol.KindU64, Unlimited, true, true, parseExpiry,
		"Time in microseconds after which messages of a sealed segment are removed; text such as '7 days' is accepted. 0: server default (never). 2^64-1: never."},
	optionMaxTopicSize: {"max_topic_size", protocol.KindU64, Unlimited, true, true, parseMaxTopicSize,
		"Size in bytes above which the oldest sealed segments are removed; text such as '10 GiB' is accepted. At least one segment size. 0: server default (unlimited). 2^64-1: unlimited."},
	optionSegmentSize: {"segment_size", protocol.KindU64, segmentSizeMax, true, false, parseBytesOption,
		"Size in bytes at which a segment is sealed: a multiple of 512 from 1 MiB to 1 GiB. 0: server default (1 GiB). Fixed at creation."},
	optionEnforceFsync: {"enforce_fsync", protocol.KindBool, 0, false, false, parseSwitch,
		"Acknowledge messages only when a quorum has synced them to its disks. Fixed at creation."},
	optionMessagesToSave: {"messages_required_to_save", protocol.KindU32, 1024, false, false, parseMessagesToSave,
		"Upper bound on the messages of a partition that wait in memory before they are written: 1 to 16777216. Fixed at creation."},
	optionSizeToSave: {"size_of_messages_required_to_save", protocol.KindU64, 1 << 20, true, false, parseSizeToSave,
		"Upper bound in bytes on the messages of a partition that wait in memory before they are written, up to 1 GiB. 0: server default (1 MiB). Fixed at creation."},
	optionPreallocate: {"preallocate_segments", protocol.KindBool, 0, false, false, parseSwitch,
		"Reserve the disk space of a segment when it is created; segment size times partitions up to 64 GiB. Fixed at creation."},
}

// optionsByKey lists the options in the order of their keys, in which blocks are encoded.
var optionsByKey = [optionsCount]option{
	optionCompression, optionEnforceFsync, optionMaxTopicSize, optionMessageExpiry,
	optionMessagesToSave, optionPreallocate, optionSegmentSize, optionSizeToSave,
}

func optionNamed(key string) (option, bool) {
	for i := range optionCatalogue {
		if optionCatalogue[i].key == key {
			return option(i), true
		}
	}
	return 0, false
}

// TopicOptions are the effective settings of a topic, and which of them its owner asked for. They are
// resolved when the topic is created: a later change of server defaults does not reach it.
type TopicOptions struct {
	values   [optionsCount]uint64
	explicit uint8 // bit per option
}

// standardOptions returns the settings of a topic that asks for nothing.
func standardOptions() TopicOptions {
	var o TopicOptions
	for i := range optionCatalogue {
		o.values[i] = optionCatalogue[i].standard
	}
	return o
}

// Compression returns the compression code.
func (o *TopicOptions) Compression() uint8 { return uint8(o.values[optionCompression]) }

// MessageExpiry returns the age in microseconds at which messages expire; Unlimited = never.
func (o *TopicOptions) MessageExpiry() uint64 { return o.values[optionMessageExpiry] }

// MaxTopicSize returns the retention limit in bytes; Unlimited = none.
func (o *TopicOptions) MaxTopicSize() uint64 { return o.values[optionMaxTopicSize] }

// SegmentSize returns the size in bytes at which a segment is sealed.
func (o *TopicOptions) SegmentSize() uint64 { return o.values[optionSegmentSize] }

// EnforceFsync reports whether acknowledgements wait for disks.
func (o *TopicOptions) EnforceFsync() bool { return o.values[optionEnforceFsync] != 0 }

// MessagesToSave returns how many messages of a partition may wait in memory.
func (o *TopicOptions) MessagesToSave() uint32 { return uint32(o.values[optionMessagesToSave]) }

// SizeToSave returns how many bytes of a partition may wait in memory.
func (o *TopicOptions) SizeToSave() uint64 { return o.values[optionSizeToSave] }

// PreallocateSegments reports whether segments reserve their space when created.
func (o *TopicOptions) PreallocateSegments() bool { return o.values[optionPreallocate] != 0 }

func (o *TopicOptions) isExplicit(i option) bool { return o.explicit>>i&1 != 0 }

// optionChange is a parsed options block: the values that it sets.
type optionChange struct {
	values [optionsCount]uint64
	set    uint8
}

// add parses one entry. Zeros that stand for the standard are dropped. The code is 4041 for a key that is
// unknown or, with updates, fixed at creation, and 4042 for a value that does not parse.
func (c *optionChange) add(key string, kind byte, value []byte, update bool) protocol.Code {
	i, ok := optionNamed(key)
	if !ok || update && !optionCatalogue[i].updatable {
		return protocol.CodeUnsupportedOptionKey
	}
	rule := &optionCatalogue[i]
	v, ok := rule.parse(kind, value)
	if !ok {
		return protocol.CodeInvalidOptionValue
	}
	if v != 0 || !rule.zeroDefault {
		c.values[i] = v
		c.set |= 1 << i
	}
	return protocol.Success
}

// parseOptions parses a valid block. The code is that of its first entry that is refused.
func parseOptions(block []byte, update bool) (c optionChange, code protocol.Code) {
	for _, p := range command.Options(block) {
		if code := c.add(string(p.Key), p.ValueKind, p.Value, update); code != protocol.Success {
			return c, code
		}
	}
	return c, protocol.Success
}

// over returns the settings o with the changes made, as the owner's own.
func (c *optionChange) over(o TopicOptions) TopicOptions {
	for i := range o.values {
		if c.set>>i&1 != 0 {
			o.values[i] = c.values[i]
		}
	}
	o.explicit |= c.set
	return o
}

// checkBounds checks what concerns more than one option or the number of partitions; 4042 on a violation.
func (o *TopicOptions) checkBounds(partitions uint32) protocol.Code {
	size := o.SegmentSize()
	if size < segmentSizeMin || size > segmentSizeMax || size%segmentSizeUnit != 0 {
		return protocol.CodeInvalidOptionValue
	}
	if o.PreallocateSegments() && size*uint64(partitions) > preallocationMax {
		return protocol.CodeInvalidOptionValue
	}
	return protocol.Success
}

// appendBlock encodes the explicit or the derived settings as an options block: entries ascending by key,
// canonical value kinds.
func (o *TopicOptions) appendBlock(dst []byte, explicit bool) []byte {
	for _, i := range optionsByKey {
		if o.isExplicit(i) == explicit {
			dst = appendOption(dst, i, o.values[i])
		}
	}
	return dst
}

func appendOption(dst []byte, i option, v uint64) []byte {
	key := optionCatalogue[i].key
	dst = append(dst, protocol.KindString)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(key)))
	dst = append(dst, key...)
	dst = append(dst, optionCatalogue[i].kind)
	at := len(dst)
	dst = appendOptionValue(append(dst, 0, 0, 0, 0), i, v)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendOptionValue encodes v in the canonical kind of the option.
func appendOptionValue(dst []byte, i option, v uint64) []byte {
	switch optionCatalogue[i].kind {
	case protocol.KindString:
		return append(dst, compressionName(v)...)
	case protocol.KindBool:
		return append(dst, byte(v))
	case protocol.KindU32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}

// AppendOptionsCatalogue appends the reply to describe options. Only topics have options; the code is 3 for
// a scope that is none.
func AppendOptionsCatalogue(dst []byte, scope uint8) ([]byte, protocol.Code) {
	var all []command.OptionDescription
	switch scope {
	case command.ScopeTopic:
		for i, rule := range optionCatalogue {
			all = append(all, command.OptionDescription{
				Key: rule.key, Kind: rule.kind, Default: appendOptionValue(nil, option(i), rule.standard), Description: rule.description,
			})
		}
	case command.ScopeStream, command.ScopeUser:
	default:
		return dst, protocol.CodeInvalidCommand
	}
	return command.AppendOptionDescriptions(dst, all), protocol.Success
}
