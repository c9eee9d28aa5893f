package units

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Calendar units as the configuration language counts them.
const (
	day   = 24 * time.Hour
	week  = 7 * day
	month = 2_630_016 * time.Second  // 30.44 days
	year  = 31_557_600 * time.Second // 365.25 days
)

var durationUnits = map[string]time.Duration{
	"nsec": time.Nanosecond, "ns": time.Nanosecond,
	"usec": time.Microsecond, "us": time.Microsecond,
	"msec": time.Millisecond, "ms": time.Millisecond,
	"seconds": time.Second, "second": time.Second, "secs": time.Second, "sec": time.Second, "s": time.Second,
	"minutes": time.Minute, "minute": time.Minute, "mins": time.Minute, "min": time.Minute, "m": time.Minute,
	"hours": time.Hour, "hour": time.Hour, "hrs": time.Hour, "hr": time.Hour, "h": time.Hour,
	"days": day, "day": day, "d": day,
	"weeks": week, "week": week, "wks": week, "wk": week, "w": week,
	"months": month, "month": month,
	"years": year, "year": year, "yrs": year, "yr": year, "y": year,
}

// ParseDuration reads one or more integers with a unit ("30s", "1 m", "1h 30m", "7 days"), which are added
// up, or "0", "unlimited", "disabled", "none" for zero. The text is lower-cased first, so M is minutes. A
// bare number other than 0, a fraction, and what does not fit in 292 years are refused with *Error.
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	switch rest {
	case "":
		return 0, refuse("duration", text, ErrEmpty)
	case "0", "unlimited", "disabled", "none":
		return 0, nil
	}
	if len(rest) > textBytesMax {
		return 0, refuse("duration", text, ErrTooLong)
	}
	if rest[0] == '-' {
		return 0, refuse("duration", text, ErrNegative)
	}
	var total time.Duration
	for rest != "" {
		part, tail, err := durationPart(text, rest)
		if err != nil {
			return 0, err
		}
		if part > math.MaxInt64-total {
			return 0, refuse("duration", text, ErrOverflow)
		}
		total += part
		rest = tail
	}
	return total, nil
}

// durationPart reads one number and its unit off the front of rest.
func durationPart(text, rest string) (time.Duration, string, error) {
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return 0, "", refuse("duration", text, ErrSyntax)
	}
	number, err := strconv.ParseInt(rest[:digits], 10, 64)
	if err != nil {
		return 0, "", refuse("duration", text, ErrOverflow)
	}
	rest = strings.TrimLeft(rest[digits:], " \t")
	letters := 0
	for letters < len(rest) && rest[letters] >= 'a' && rest[letters] <= 'z' {
		letters++
	}
	if letters == 0 {
		if rest == "" {
			return 0, "", refuse("duration", text, ErrNoUnit)
		}
		return 0, "", refuse("duration", text, ErrSyntax)
	}
	unit, ok := durationUnits[rest[:letters]]
	if !ok {
		return 0, "", refuseUnit("duration", text, rest[:letters])
	}
	if number > math.MaxInt64/int64(unit) {
		return 0, "", refuse("duration", text, ErrOverflow)
	}
	return time.Duration(number) * unit, strings.TrimLeft(rest[letters:], " \t"), nil
}

// FormatDuration writes d exactly in descending units, "1day 2h 3m 4s 5ms", and zero as "0s". Negative
// durations, which no parser here produces, are written as zero.
func FormatDuration(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	var parts []string
	for _, unit := range []struct {
		size   time.Duration
		name   string
		plural string
	}{
		{year, "year", "years"}, {month, "month", "months"}, {day, "day", "days"},
		{time.Hour, "h", "h"}, {time.Minute, "m", "m"}, {time.Second, "s", "s"},
		{time.Millisecond, "ms", "ms"}, {time.Microsecond, "us", "us"}, {time.Nanosecond, "ns", "ns"},
	} {
		count := d / unit.size
		if count == 0 {
			continue
		}
		d -= count * unit.size
		name := unit.name
		if count > 1 {
			name = unit.plural
		}
		parts = append(parts, strconv.FormatInt(int64(count), 10)+name)
	}
	return strings.Join(parts, " ")
}
