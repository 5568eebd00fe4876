package cli

import (
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// OneMessage is safe for a message that may have several lines, of which none
// but the first can be taken for one of its own.
func OneMessage(s string) string {
	lines := strings.Split(termtext.SafeLines(s), "\n")
	for i, l := range lines[1:] {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i+1] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// NameOf makes text a name of the schema: lower case letters, digits, dots and
// hyphens inside.
func NameOf(text, otherwise string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	if name = strings.Trim(name, ".-"); name == "" {
		return otherwise
	}
	return name
}

// Label is a CUE field name.
func Label(id string) string {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return strconv.Quote(id)
		}
	}
	if id == "" || id[0] <= '9' {
		return strconv.Quote(id)
	}
	return id
}
