// Package shellquote writes words so that a POSIX shell reads them back as they
// are. Call Word for a command that people read, Terminal for one that is printed,
// and Quote where the same bytes are wanted whatever the word is.
package shellquote

import (
	"strings"
	"unicode"
)

// Quote puts s in single quotes.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Word is Quote for a word in which a shell reads more than letters, and s
// itself for every other.
func Word(s string) string {
	if s == "" || s[0] == '~' || strings.ContainsFunc(s, special) {
		return Quote(s)
	}
	return s
}

// special reports whether r may mean something to a shell.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/.-_:=~@+,%", r)
}

// Join is argv as a command line, each of it a Word.
func Join(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = Word(a)
	}
	return strings.Join(words, " ")
}
