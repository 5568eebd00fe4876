package cli

import (
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// OneMessage makes s safe for a terminal. It indents every line but the first, so
// that none passes for a message by itself.
func OneMessage(s string) string {
	lines := strings.Split(termtext.SafeLines(s), "\n")
	for i, l := range lines[1:] {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i+1] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// NameOf turns text into a name that the schema accepts: lower case letters, digits,
// and dots and hyphens inside. It returns otherwise where nothing is left.
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
