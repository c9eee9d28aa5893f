package units

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Size is a number of bytes. Zero is zero bytes; whether that means "unlimited" is up to the setting.
type Size uint64

// Common sizes: binary units are powers of 1024, decimal ones powers of 1000.
const (
	Byte Size = 1
	KiB  Size = 1 << 10
	MiB  Size = 1 << 20
	GiB  Size = 1 << 30
	TiB  Size = 1 << 40
	KB   Size = 1000
	MB   Size = 1000 * KB
	GB   Size = 1000 * MB
	TB   Size = 1000 * GB
)

// sizePrefixes in ascending order; the index plus one is the power of the base.
const sizePrefixes = "KMGTPE"

// ParseSize reads all digits as bytes, or a number, which may have a fraction, and a unit: KB MB GB TB PB EB,
// KiB MiB GiB TiB PiB EiB, a prefix alone (K, Ki) or B. The prefix may be in either case. A lone lower-case b
// counts bits (see CountsBits). Fractions of a byte are rounded up. Errors are *Error.
func ParseSize(text string) (Size, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return 0, refuse("size", text, ErrEmpty)
	case len(trimmed) > textBytesMax:
		return 0, refuse("size", text, ErrTooLong)
	case trimmed[0] == '-':
		return 0, refuse("size", text, ErrNegative)
	}
	number, unit := splitNumber(trimmed)
	value, ok := parseDecimal(number)
	if !ok {
		return 0, refuse("size", text, ErrSyntax)
	}
	scale, inBits, ok := sizeUnit(unit)
	if !ok {
		return 0, refuseUnit("size", text, unit)
	}
	value.Mul(value, new(big.Rat).SetUint64(scale))
	if inBits {
		value.Quo(value, big.NewRat(8, 1))
	}
	bytes := ceil(value)
	if !bytes.IsUint64() {
		return 0, refuse("size", text, ErrOverflow)
	}
	return Size(bytes.Uint64()), nil
}

// ParseSizeOrUnlimited is ParseSize that also reads "unlimited" and "none", in any case, as zero.
func ParseSizeOrUnlimited(text string) (Size, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "unlimited", "none":
		return 0, nil
	}
	return ParseSize(text)
}

// CountsBits says that the unit of the text is a lower-case b, which means bits: "10 Mb" is 1,250,000 bytes.
// Where a person wrote it they probably meant bytes, which is worth a warning.
func CountsBits(text string) bool {
	_, unit := splitNumber(strings.TrimSpace(text))
	_, inBits, ok := sizeUnit(unit)
	return ok && inBits
}

// sizeUnits from the largest to the smallest, as String tries them.
var sizeUnits = [...]struct {
	bytes uint64
	name  string
}{
	{1 << 60, "EiB"}, {1e18, "EB"}, {1 << 50, "PiB"}, {1e15, "PB"}, {1 << 40, "TiB"}, {1e12, "TB"},
	{1 << 30, "GiB"}, {1e9, "GB"}, {1 << 20, "MiB"}, {1e6, "MB"}, {1 << 10, "KiB"}, {1e3, "KB"},
}

// String writes the size exactly, in the largest unit that needs at most three decimals: "64 MiB", "2 MB",
// "1.001 KB", "999 B". Clients of the REST API read this form; the single space is part of it.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if uint64(s) < unit.bytes {
			continue
		}
		hi, lo := bits.Mul64(uint64(s), 1000)
		thousandths, rest := bits.Div64(hi, lo, unit.bytes)
		if rest == 0 {
			return formatThousandths(thousandths) + " " + unit.name
		}
	}
	return strconv.FormatUint(uint64(s), 10) + " B"
}

func formatThousandths(n uint64) string {
	text := strconv.FormatUint(n/1000, 10)
	if n%1000 == 0 {
		return text
	}
	fraction := strconv.FormatUint(1000+n%1000, 10)[1:]
	return text + "." + strings.TrimRight(fraction, "0")
}

// splitNumber cuts the text after its leading digits and dots; the unit has no spaces around it.
func splitNumber(text string) (number, unit string) {
	end := 0
	for end < len(text) && (text[end] == '.' || text[end] >= '0' && text[end] <= '9') {
		end++
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// parseDecimal reads digits with at most one dot that has digits on both sides.
func parseDecimal(text string) (*big.Rat, bool) {
	whole, fraction, hasFraction := strings.Cut(text, ".")
	if whole == "" || hasFraction && (fraction == "" || strings.Contains(fraction, ".")) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// sizeUnit resolves a unit to its factor. The empty unit counts bytes.
func sizeUnit(unit string) (scale uint64, inBits, ok bool) {
	scale = 1
	rest := unit
	if rest != "" {
		if power := strings.IndexByte(sizePrefixes, upper(rest[0])); power >= 0 {
			base := uint64(1000)
			rest = rest[1:]
			if rest != "" && upper(rest[0]) == 'I' {
				base, rest = 1024, rest[1:]
			}
			for range power + 1 {
				scale *= base
			}
		}
	}
	switch rest {
	case "", "B":
		return scale, false, true
	case "b":
		return scale, true, true
	}
	return 0, false, false
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func ceil(r *big.Rat) *big.Int {
	quotient, remainder := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if remainder.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}
