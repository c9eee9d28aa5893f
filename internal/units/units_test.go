package units

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSize_Spellings(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "123": 123, " 42 ": 42, "1200 B": 1200, "2 MB": 2_000_000, "64 MiB": 67_108_864,
		"1.5 GiB": 1_610_612_736, "1GiB": GiB, "4 gB": 4 * GB, "4 gb": 500 * MB, "10K": 10_000, "10Ki": 10_240, "1 EiB": 1 << 60,
		"10 Mb": 1_250_000, "1 b": 1, "9b": 2, "1.0000001 KB": 1001, "0.5 B": 1, "500 MB": 500 * MB,
		"2176 MiB": 2176 * MiB, "18446744073709551615": math.MaxUint64, "1 TiB": TiB, "3 PB": 3000 * TB,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSize_Refusals(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrEmpty, "  ": ErrEmpty, "-1": ErrNegative, "-5 MB": ErrNegative, "MB": ErrSyntax, "1.2.3 MB": ErrSyntax,
		"1. MB": ErrSyntax, ".5 MB": ErrSyntax, "1 XB": ErrUnit, "1 MBs": ErrUnit, "5 i": ErrUnit, "1,5 MB": ErrUnit,
		"19 EB": ErrOverflow, "18446744073709551616": ErrOverflow, "unlimited": ErrSyntax, "1e3": ErrUnit,
		strings.Repeat("1", 300): ErrTooLong,
	} {
		_, err := ParseSize(text)
		var typed *Error
		if !errors.Is(err, want) || !errors.As(err, &typed) {
			t.Errorf("ParseSize(%q) error = %v; want %v", text, err, want)
		}
	}
}

func TestParseSizeOrUnlimited_Words(t *testing.T) {
	for _, text := range []string{"0", "unlimited", "Unlimited", "none", "None"} {
		if got, err := ParseSizeOrUnlimited(text); err != nil || got != 0 {
			t.Errorf("%q = %d, %v", text, got, err)
		}
	}
	if got, err := ParseSizeOrUnlimited("1 KiB"); err != nil || got != KiB {
		t.Errorf("1 KiB = %d, %v", got, err)
	}
}

func TestCountsBits(t *testing.T) {
	for text, want := range map[string]bool{"10 Mb": true, "1b": true, "10 MB": false, "10M": false, "10": false, "x": false} {
		if CountsBits(text) != want {
			t.Errorf("CountsBits(%q) = %v", text, !want)
		}
	}
}

func TestSize_String(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0 B", 1: "1 B", 2_000_000: "2 MB", 64 * MiB: "64 MiB", 500 * MB: "500 MB", 1 << 10: "1 KiB",
		1000001: "1000.001 KB", 512 * KB: "500 KiB", 1200: "1.2 KB", 4 * GiB: "4 GiB", 999: "999 B", 1000: "1 KB",
		1001: "1.001 KB", 10000: "10 KB", 10240: "10 KiB", 1555000: "1.555 MB", 3211776: "3136.5 KiB",
		150949888: "147412 KiB", 1048577: "1048.577 KB", math.MaxUint64: "18446744073709551.615 KB", 1 << 63: "8 EiB",
	} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) = %q; want %q", uint64(size), got, want)
		}
	}
}

func TestSize_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Uint64().Draw(t, "base")
		size := Size(base >> rapid.IntRange(0, 63).Draw(t, "down") << rapid.IntRange(0, 40).Draw(t, "up"))
		got, err := ParseSize(size.String())
		if err != nil || got != size {
			t.Fatalf("%d written as %q reads as %d, %v", uint64(size), size, uint64(got), err)
		}
	})
}

func TestParseDuration_Spellings(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "unlimited": 0, "Disabled": 0, "NONE": 0, "0 s": 0, "30s": 30 * time.Second, "30 s": 30 * time.Second,
		"1 m": time.Minute, "1 M": time.Minute, "1h 30m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"7 days": 7 * day, "1day 2h": 26 * time.Hour, "50 ms": 50 * time.Millisecond, "3usec": 3 * time.Microsecond,
		"9 nsec": 9, "2wks": 2 * week, "1 month": month, "2 yrs": 2 * year, "1 hr 1 min 1 sec": 3661 * time.Second,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for unit, size := range durationUnits {
		if got, err := ParseDuration("3" + unit); err != nil || got != 3*size {
			t.Errorf("3%s = %v, %v", unit, got, err)
		}
	}
}

func TestParseDuration_Refusals(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrEmpty, "5": ErrNoUnit, "1h 30": ErrNoUnit, "1.5s": ErrSyntax, "s": ErrSyntax, "5 parsecs": ErrUnit,
		"-1s": ErrNegative, "1s -1s": ErrSyntax, "300 years": ErrOverflow, "200 years 200 years": ErrOverflow,
		"99999999999999999999s": ErrOverflow, "1s,": ErrSyntax, strings.Repeat("1s", 200): ErrTooLong,
	} {
		_, err := ParseDuration(text)
		var typed *Error
		if !errors.Is(err, want) || !errors.As(err, &typed) {
			t.Errorf("ParseDuration(%q) error = %v; want %v", text, err, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "30s": 30 * time.Second, "1m": time.Minute, "1day 2h": 26 * time.Hour, "7days": 7 * day,
		"1m 30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "1year 2months": year + 2*month,
		"1s 1us 1ns": time.Second + time.Microsecond + 1,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %q; want %q", d, got, want)
		}
	}
}

func TestDuration_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ns") >> rapid.IntRange(0, 62).Draw(t, "down"))
		got, err := ParseDuration(FormatDuration(d))
		if err != nil || got != d {
			t.Fatalf("%d written as %q reads as %d, %v", d, FormatDuration(d), got, err)
		}
	})
}

func TestParseExpiry(t *testing.T) {
	for text, want := range map[string]Expiry{
		"unlimited": {Kind: ExpiryNever}, "None": {Kind: ExpiryNever}, "never_expire": {Kind: ExpiryNever},
		"default": {}, "Server_default": {}, "1 h": {Kind: ExpiryAfter, After: time.Hour},
		"4294967295 s": {Kind: ExpiryAfter, After: expiryMax},
	} {
		got, err := ParseExpiry(text)
		if err != nil || got != want {
			t.Errorf("ParseExpiry(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseExpiry(got.String()); err != nil || again != got {
			t.Errorf("%q does not read back: %+v, %v", got, again, err)
		}
	}
	for text, want := range map[string]error{"4294967296 s": ErrOverflow, "5": ErrNoUnit, "soon": ErrSyntax} {
		if _, err := ParseExpiry(text); !errors.Is(err, want) {
			t.Errorf("ParseExpiry(%q) error = %v; want %v", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"10 MB", "1h 30m", "unlimited", "10 Mb", "0", "1.5 GiB", "-1", "99999999999999999999y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if size, err := ParseSize(text); err == nil {
			if again, err := ParseSize(size.String()); err != nil || again != size {
				t.Fatalf("size %q: %d, then %d, %v", text, size, again, err)
			}
		}
		if expiry, err := ParseExpiry(text); err == nil {
			if again, err := ParseExpiry(expiry.String()); err != nil || again != expiry {
				t.Fatalf("expiry %q: %v, then %v, %v", text, expiry, again, err)
			}
		}
	})
}
