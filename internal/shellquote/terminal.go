package shellquote

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// Terminal is Word for a command that is printed on a terminal: a word with
// characters that a terminal obeys is written as $'…', which bash, zsh and ksh
// read.
func Terminal(s string) string {
	if termtext.Safe(s) == s {
		return Word(s)
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}
