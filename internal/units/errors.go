package units

import (
	"errors"
	"fmt"
)

// The ways in which a text can be wrong. Match them with errors.Is.
var (
	// ErrEmpty: there is no text.
	ErrEmpty = errors.New("empty")
	// ErrSyntax: the text is not a number with a unit.
	ErrSyntax = errors.New("not a number with a unit")
	// ErrUnit: the number is fine and the unit is unknown.
	ErrUnit = errors.New("unknown unit")
	// ErrNoUnit: a duration without a unit.
	ErrNoUnit = errors.New("a unit is missing")
	// ErrNegative: sizes and durations start at zero.
	ErrNegative = errors.New("negative")
	// ErrOverflow: the value is too large to be represented.
	ErrOverflow = errors.New("too large")
	// ErrTooLong: the text is longer than any sensible value.
	ErrTooLong = errors.New("text too long")
)

// textBytesMax bounds what the parsers look at.
const textBytesMax = 256

// Error says which text was refused and why.
type Error struct {
	What string // "size", "duration" or "expiry"
	Text string // the text as given, cut to a sensible length
	Unit string // the unknown unit, if that was the reason
	Err  error  // one of the Err values
}

// Error makes one line of the reason.
func (e *Error) Error() string {
	if e.Unit != "" {
		return fmt.Sprintf("%s %q: %v %q", e.What, e.Text, e.Err, e.Unit)
	}
	return fmt.Sprintf("%s %q: %v", e.What, e.Text, e.Err)
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

func refuse(what, text string, err error) *Error {
	const shown = 64
	if len(text) > shown {
		text = text[:shown] + "..."
	}
	return &Error{What: what, Text: text, Err: err}
}

func refuseUnit(what, text, unit string) *Error {
	e := refuse(what, text, ErrUnit)
	e.Unit = refuse(what, unit, ErrUnit).Text
	return e
}
