package metadata

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/units"
)

// fixedValue reads a value of a fixed-size kind; ok is false when its length is not that of the kind.
func fixedValue(kind byte, value []byte) (v uint64, ok bool) {
	switch kind {
	case protocol.KindBool, protocol.KindU8:
		if len(value) == 1 {
			return uint64(value[0]), true
		}
	case protocol.KindU32:
		if len(value) == 4 {
			return uint64(binary.LittleEndian.Uint32(value)), true
		}
	case protocol.KindU64:
		if len(value) == 8 {
			return binary.LittleEndian.Uint64(value), true
		}
	}
	return 0, false
}

func compressionName(v uint64) string {
	if uint8(v) == CompressionGzip {
		return "gzip"
	}
	return "none"
}

func parseCompression(kind byte, value []byte) (uint64, bool) {
	switch kind {
	case protocol.KindU8:
		v, ok := fixedValue(kind, value)
		return v, ok && (v == uint64(CompressionNone) || v == uint64(CompressionGzip))
	case protocol.KindString:
		switch {
		case strings.EqualFold(string(value), "none"):
			return uint64(CompressionNone), true
		case strings.EqualFold(string(value), "gzip"):
			return uint64(CompressionGzip), true
		}
	}
	return 0, false
}

func parseSwitch(kind byte, value []byte) (uint64, bool) {
	switch kind {
	case protocol.KindBool:
		v, ok := fixedValue(kind, value)
		return v, ok && v <= 1
	case protocol.KindString:
		return uint64(flag(string(value) == "true")), string(value) == "true" || string(value) == "false"
	}
	return 0, false
}

func parseMessagesToSave(kind byte, value []byte) (v uint64, ok bool) {
	switch kind {
	case protocol.KindU32:
		v, ok = fixedValue(kind, value)
	case protocol.KindString:
		parsed, err := strconv.ParseUint(string(value), 10, 32)
		v, ok = parsed, err == nil
	}
	return v, ok && v >= 1 && v <= messagesToSaveMax
}

func parseBytesOption(kind byte, value []byte) (uint64, bool) {
	switch kind {
	case protocol.KindU64:
		return fixedValue(kind, value)
	case protocol.KindString:
		v, err := units.ParseSizeOrUnlimited(string(value))
		return uint64(v), err == nil
	}
	return 0, false
}

func parseSizeToSave(kind byte, value []byte) (uint64, bool) {
	v, ok := parseBytesOption(kind, value)
	return v, ok && v <= sizeToSaveMax
}

func parseMaxTopicSize(kind byte, value []byte) (uint64, bool) {
	if kind == protocol.KindString {
		switch string(value) {
		case "unlimited", "Unlimited":
			return Unlimited, true
		case "server_default":
			return 0, true
		}
	}
	return parseBytesOption(kind, value)
}

func parseExpiry(kind byte, value []byte) (uint64, bool) {
	switch kind {
	case protocol.KindU64:
		return fixedValue(kind, value)
	case protocol.KindString:
		e, err := units.ParseExpiry(string(value))
		switch {
		case err != nil:
			return 0, false
		case e.Kind == units.ExpiryNever:
			return Unlimited, true
		case e.Kind == units.ExpiryServerDefault:
			return 0, true
		}
		return uint64(e.After.Microseconds()), true
	}
	return 0, false
}
