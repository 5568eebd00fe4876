// Package shellquote quotes words so that a POSIX shell reads them back
// unchanged. Call Word for a command that people read, Terminal for one that is
// printed, and Quote for a uniform form.
package shellquote

import (
	"strings"
	"unicode"
)

// Quote puts s in single quotes.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Word quotes s only if a shell would interpret a character in it.
func Word(s string) string {
	if s == "" || s[0] == '~' || strings.ContainsFunc(s, special) {
		return Quote(s)
	}
	return s
}

// special reports whether r may have a meaning in a shell.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/.-_:=~@+,%", r)
}

// Join returns argv as a command line of Words.
func Join(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = Word(a)
	}
	return strings.Join(words, " ")
}
