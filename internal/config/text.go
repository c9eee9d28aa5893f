package config

import (
	"fmt"
	"strings"
)

// quote writes a TOML basic string.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// formatList writes a list of strings as TOML does, which parseList reads back.
func formatList(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// parseList reads the list form of variables: [a, "b,c", d]. Double quotes protect commas, and inside them
// the escapes of quote are understood. Elements without quotes are trimmed; empty ones are left out.
func parseList(text string) ([]string, error) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]")
	}
	if !ok {
		return nil, fmt.Errorf("%q is not a list; write [a, b]", text)
	}
	list := []string{}
	for {
		inner = strings.TrimLeft(inner, " \t")
		if inner == "" {
			return list, nil
		}
		element, rest, err := listElement(inner)
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", text, err)
		}
		if element != nil {
			list = append(list, *element)
		}
		inner = rest
	}
}

// listElement reads one element and the comma behind it.
func listElement(text string) (*string, string, error) {
	if text[0] != '"' {
		plain, rest, _ := strings.Cut(text, ",")
		plain = strings.TrimSpace(plain)
		if plain == "" {
			return nil, rest, nil
		}
		return &plain, rest, nil
	}
	element, rest, err := unquote(text)
	if err != nil {
		return nil, "", err
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest != "" && rest[0] != ',' {
		return nil, "", fmt.Errorf("a comma is missing before %q", rest)
	}
	return &element, strings.TrimPrefix(rest, ","), nil
}

// unquote reads a double-quoted string off the front of text.
func unquote(text string) (string, string, error) {
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return out.String(), text[i+1:], nil
		case '\\':
			i++
			if i == len(text) {
				return "", "", fmt.Errorf("a quote is not closed")
			}
			if text[i] != 'u' {
				out.WriteByte(text[i])
				continue
			}
			var r rune
			if len(text) < i+5 {
				return "", "", fmt.Errorf("an escape is cut off")
			}
			if _, err := fmt.Sscanf(text[i+1:i+5], "%04X", &r); err != nil {
				return "", "", fmt.Errorf("an escape is malformed")
			}
			out.WriteRune(r)
			i += 4
		default:
			out.WriteByte(text[i])
		}
	}
	return "", "", fmt.Errorf("a quote is not closed")
}
