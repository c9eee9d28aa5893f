package units

import (
	"math"
	"strings"
	"time"
)

// ExpiryKind tells the three answers to "when does it end" apart.
type ExpiryKind uint8

// The kinds of an expiry. The zero value is ExpiryServerDefault.
const (
	ExpiryServerDefault ExpiryKind = iota // whatever the server is configured to do
	ExpiryNever                           // it does not end
	ExpiryAfter                           // it ends after Expiry.After
)

// Expiry is when something ends. After counts only for ExpiryAfter.
type Expiry struct {
	Kind  ExpiryKind
	After time.Duration
}

// expiryMax is what fits in the 32 bits of seconds that peers keep.
const expiryMax = math.MaxUint32 * time.Second

// ParseExpiry reads "never_expire", "unlimited" and "none" as never, "default" and "server_default" as the
// server's choice, in any case, and anything else as a duration of at most 4,294,967,295 seconds.
func ParseExpiry(text string) (Expiry, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "unlimited", "none", "never_expire":
		return Expiry{Kind: ExpiryNever}, nil
	case "default", "server_default":
		return Expiry{Kind: ExpiryServerDefault}, nil
	}
	after, err := ParseDuration(text)
	if err != nil {
		return Expiry{}, refuse("expiry", text, err.(*Error).Err)
	}
	if after > expiryMax {
		return Expiry{}, refuse("expiry", text, ErrOverflow)
	}
	return Expiry{Kind: ExpiryAfter, After: after}, nil
}

// String writes the expiry as ParseExpiry reads it.
func (e Expiry) String() string {
	switch e.Kind {
	case ExpiryNever:
		return "never_expire"
	case ExpiryAfter:
		return FormatDuration(e.After)
	}
	return "server_default"
}
