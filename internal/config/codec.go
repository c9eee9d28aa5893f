package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/galgolog/galgo/internal/units"
)

// codec reads and writes the values of one type of key. Text is the common form: what a variable holds, and
// what a TOML value is brought to first.
type codec[T any] struct {
	kind   string // as the documentation names it
	parse  func(string) (T, error)
	format func(T) string
	toml   func(T) string           // the TOML literal; "" leaves the key out
	order  func(T) uint64           // nil where a range makes no sense
	accept func(any) (string, bool) // TOML value to text; false if the TOML type is wrong
}

var (
	boolCodec = codec[bool]{
		kind:   "boolean",
		parse:  parseBool,
		format: strconv.FormatBool,
		toml:   strconv.FormatBool,
		accept: func(v any) (string, bool) { b, ok := v.(bool); return strconv.FormatBool(b), ok },
	}
	stringCodec = codec[string]{
		kind:   "string",
		parse:  func(s string) (string, error) { return s, nil },
		format: func(s string) string { return s },
		toml:   quote,
		accept: acceptString,
	}
	intCodec = codec[int]{
		kind:   "integer",
		parse:  parseInt,
		format: strconv.Itoa,
		toml:   strconv.Itoa,
		order:  func(n int) uint64 { return uint64(max(n, 0)) },
		accept: acceptInt,
	}
	portCodec = codec[uint16]{
		kind:   "port",
		parse:  parsePort,
		format: func(p uint16) string { return strconv.Itoa(int(p)) },
		toml: func(p uint16) string {
			if p == 0 {
				return ""
			}
			return strconv.Itoa(int(p))
		},
		accept: acceptInt,
	}
	sizeCodec = codec[units.Size]{
		kind:   "size",
		parse:  units.ParseSize,
		format: units.Size.String,
		toml:   func(s units.Size) string { return quote(s.String()) },
		order:  func(s units.Size) uint64 { return uint64(s) },
		accept: acceptTextOrInt,
	}
	optionalSizeCodec = codec[*units.Size]{
		kind: "size",
		parse: func(text string) (*units.Size, error) {
			size, err := units.ParseSizeOrUnlimited(text)
			return &size, err
		},
		format: func(s *units.Size) string {
			if s == nil {
				return ""
			}
			return s.String()
		},
		toml: func(s *units.Size) string {
			if s == nil {
				return ""
			}
			return quote(s.String())
		},
		order:  func(s *units.Size) uint64 { return uint64(*s) },
		accept: acceptTextOrInt,
	}
	durationCodec = codec[time.Duration]{
		kind:   "duration",
		parse:  units.ParseDuration,
		format: units.FormatDuration,
		toml:   func(d time.Duration) string { return quote(units.FormatDuration(d)) },
		order:  func(d time.Duration) uint64 { return uint64(d) },
		accept: acceptTextOrInt,
	}
	expiryCodec = codec[units.Expiry]{
		kind:   "expiry",
		parse:  parseExpiry,
		format: units.Expiry.String,
		toml:   func(e units.Expiry) string { return quote(e.String()) },
		accept: acceptString,
	}
	listCodec = codec[[]string]{
		kind:   "list of strings",
		parse:  parseList,
		format: formatList,
		toml:   formatList,
		accept: acceptList,
	}
	addressCodec = codec[netip.AddrPort]{
		kind:   "IP:port",
		parse:  parseAddress,
		format: netip.AddrPort.String,
		toml:   func(a netip.AddrPort) string { return quote(a.String()) },
		accept: acceptString,
	}
	ipCodec = codec[netip.Addr]{
		kind:   "IP",
		parse:  parseIP,
		format: netip.Addr.String,
		toml:   func(a netip.Addr) string { return quote(a.String()) },
		accept: acceptString,
	}
	cpuCodec = codec[CPUAllocation]{
		kind:   "allocation",
		parse:  ParseCPUAllocation,
		format: CPUAllocation.String,
		toml:   func(a CPUAllocation) string { return quote(a.String()) },
		accept: acceptTextOrInt,
	}
	freeSpaceCodec = codec[FreeSpace]{
		kind:   "size or auto",
		parse:  parseFreeSpace,
		format: FreeSpace.String,
		toml:   func(f FreeSpace) string { return quote(f.String()) },
		accept: acceptTextOrInt,
	}
)

var errServerDefault = errors.New("the server default is what this key defines")

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

func parseInt(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not an integer", text)
	case n < 0:
		return 0, fmt.Errorf("%d is negative", n)
	case n > math.MaxInt:
		return 0, fmt.Errorf("%d is too large", n)
	}
	return int(n), nil
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", text)
	}
	return uint16(n), nil
}

func parseExpiry(text string) (units.Expiry, error) {
	expiry, err := units.ParseExpiry(text)
	if err == nil && expiry.Kind == units.ExpiryServerDefault {
		err = errServerDefault
	}
	return expiry, err
}

func parseAddress(text string) (netip.AddrPort, error) {
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not a literal IP:port (host names are not resolved)", text)
	}
	return address, nil
}

func parseIP(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q is not a literal IP (host names are not resolved)", text)
	}
	return ip, nil
}

func acceptString(v any) (string, bool) { s, ok := v.(string); return s, ok }

func acceptInt(v any) (string, bool) {
	n, ok := v.(int64)
	return strconv.FormatInt(n, 10), ok
}

func acceptTextOrInt(v any) (string, bool) {
	if text, ok := v.(string); ok {
		return text, true
	}
	return acceptInt(v)
}

func acceptList(v any) (string, bool) {
	elements, ok := v.([]any)
	texts := make([]string, len(elements))
	for i, element := range elements {
		text, isString := element.(string)
		if !isString {
			return "", false
		}
		texts[i] = text
	}
	return formatList(texts), ok
}

// typeName names a TOML value for a person.
func typeName(v any) string {
	switch v.(type) {
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

var prefixCodec = codec[netip.Prefix]{
	kind:   "CIDR",
	parse:  parsePrefix,
	format: netip.Prefix.String,
	toml:   func(p netip.Prefix) string { return quote(p.String()) },
	accept: acceptString,
}

// parsePrefix reads a network, cuts the bits behind its length and turns IPv4 in IPv6 clothes into IPv4.
func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a network such as 10.0.0.0/8", text)
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
