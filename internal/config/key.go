package config

import (
	"fmt"
	"strings"
)

// key is one row of the table of keys: everything there is to know about one setting of a C, which is the
// Config itself or an element of one of its lists.
type key[C any] struct {
	path string
	at   binding[C]
	def  string // the default as text; with unset, what applies while the key is absent
	doc  string

	min, max string // range in the spelling of the key; empty: open
	choices  []string
	required bool   // the text must not be blank
	when     string // path of the boolean that switches the range and required on
	unset    bool   // the key is absent by default
	secret   bool   // never shown
	ignored  string // why the key is accepted and has no effect
	ours     bool   // no such key in the reference server
}

// positive is a lower limit of a range: anything but zero.
const positive = ">0"

// binding connects a key with the field it lives in, without reflection.
type binding[C any] struct {
	kind   string
	set    func(*C, string) error
	text   func(*C) string
	toml   func(*C) string
	accept func(any) (string, bool)
	order  func(*C) (uint64, bool)      // false: there is no value to compare
	bound  func(string) (uint64, error) // a limit of the range, in the same measure
}

func bind[C, T any](c codec[T], at func(*C) *T) binding[C] {
	b := binding[C]{kind: c.kind, accept: c.accept}
	b.set = func(target *C, text string) error {
		value, err := c.parse(text)
		if err == nil {
			*at(target) = value
		}
		return err
	}
	b.text = func(target *C) string { return c.format(*at(target)) }
	b.toml = func(target *C) string { return c.toml(*at(target)) }
	b.order = func(target *C) (uint64, bool) {
		if c.order == nil || c.format(*at(target)) == "" {
			return 0, false
		}
		return c.order(*at(target)), true
	}
	b.bound = func(text string) (uint64, error) {
		value, err := c.parse(text)
		if err != nil || c.order == nil {
			return 0, fmt.Errorf("range limit %q: %w", text, err)
		}
		return c.order(value), nil
	}
	return b
}

// shown is the value for people: secrets are masked, what is absent says what applies instead.
func (k *key[C]) shown(c *C) string {
	text := k.at.text(c)
	switch {
	case k.secret && text != "":
		return Masked
	case k.unset && text == "":
		return "unset"
	}
	return text
}

// Masked stands for a secret that has a value.
const Masked = "******"

// problem checks the value against the row; empty means that it is fine.
func (k *key[C]) problem(c *C) string {
	text := k.at.text(c)
	if k.required && strings.TrimSpace(text) == "" {
		return "is empty"
	}
	if len(k.choices) > 0 && !contains(k.choices, text) {
		return fmt.Sprintf("is %q", text)
	}
	value, ok := k.at.order(c)
	if !ok || k.min == "" && k.max == "" {
		return ""
	}
	if k.min == positive && value == 0 {
		return "is " + text
	}
	if k.min != "" && k.min != positive {
		if low, err := k.at.bound(k.min); err != nil || value < low {
			return "is " + text
		}
	}
	if k.max != "" {
		if high, err := k.at.bound(k.max); err != nil || value > high {
			return "is " + text
		}
	}
	return ""
}

// accepts says in words which values the row takes; empty where every value of the type is fine.
func (k *key[C]) accepts() string {
	switch {
	case len(k.choices) > 0:
		return "one of " + strings.Join(k.choices, ", ")
	case k.min == positive && k.max != "":
		return "more than 0, at most " + k.max
	case k.min == positive:
		return "more than 0"
	case k.min != "" && k.max != "":
		return k.min + " to " + k.max
	case k.min != "":
		return "at least " + k.min
	case k.max != "":
		return "at most " + k.max
	case k.required:
		return "not empty"
	}
	return ""
}

func contains(list []string, text string) bool {
	for _, element := range list {
		if element == text {
			return true
		}
	}
	return false
}
