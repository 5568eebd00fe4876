package record

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/resource"
)

// A lock comes with a clone, written by the author of the repository. It may
// contain paths in the project and pins, in aisync's forms, and nothing else.

// check returns why x is no target that a lock may name; nil for one that it may.
func (x lockLine) check() error {
	name := x.Address.Name()
	switch {
	case !x.Address.IsPath():
		return fmt.Errorf("a lock names only files, links and folders, not %q", x.Address.Kind())
	case strings.HasPrefix(name, "~"), strings.HasPrefix(name, "/"):
		return errors.New("a lock is about its project only, but this path is outside it")
	case name == "" || name == "." || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, "/../") || strings.HasSuffix(name, "/.."):
		return errors.New("a lock is about its project only, but this path leads out of it")
	case path.Clean(name) != name || strings.ContainsRune(name, 0):
		return fmt.Errorf("the path is not clean, want %q", path.Clean(name))
	case fsys.GitsOwn(name):
		return errors.New("it lies in git's own folder, which only git writes")
	case x.Prior != "":
		return errors.New("it has a prior, which only a machine's state may have")
	case !isFormat(x.Format):
		return fmt.Errorf("unknown format %q", x.Format)
	case x.Provenance != Created && x.Provenance != Adopted && x.Provenance != Replaced:
		return fmt.Errorf("unknown provenance %q", x.Provenance)
	case x.Own < resource.Exclusive || x.Own > resource.SeedOnly:
		return fmt.Errorf("unknown ownership %d", x.Own)
	}
	return nil
}

// isFormat reports whether s may be the name of a file's format.
func isFormat(s string) bool {
	return len(s) <= 16 && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// The forms of a pin's values, by key. What is not listed is text of one line:
// it is compared and shown, and goes nowhere else.
var pinForms = map[string]func(string) bool{
	"commit":   isCommit,
	"tree":     isWord,
	"digest":   isWord,
	"manifest": isWord,
	"sha256":   isWord,
	"version":  isWord,
	"quant":    isWord,
	"url":      isAddress,
	"repo":     isAddress,
}

// isCommit reports whether s is the hexadecimal name of an object of git, or of
// a part of one.
func isCommit(s string) bool {
	return len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'f') && (r < '0' || r > '9') })
}

// isWord reports whether s begins with a letter or a digit of any script, and
// goes on with these and a few signs.
func isWord(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '…' && (i == 0 || !strings.ContainsRune(":+~^_.@-", r)) {
			return false
		}
	}
	return true
}

// isAddress reports whether s has no blank, and no program takes it for an option.
func isAddress(s string) bool {
	return !strings.HasPrefix(s, "-") && isLine(s) && !strings.Contains(s, " ")
}

// isLine reports whether s is text without any control character.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.C, r) })
}

// check returns why p is no pin that aisync writes; nil for one that it may
// have written.
func (p Pin) check() error {
	for what, text := range map[string]string{"kind": p.Kind, "name": p.Name, "host": p.Host} {
		if !isLine(text) || slices.Contains(strings.Split(text, "/"), "..") {
			return fmt.Errorf("%q is not a %s of a pin", text, what)
		}
	}
	for key, v := range p.Values {
		form := pinForms[key]
		switch {
		case key == "file" && (v == ".." || strings.HasPrefix(v, "/") || strings.ContainsAny(v, "\\\x00") || strings.HasPrefix(path.Clean(v), "../") || fsys.GitsOwn(v)):
			return fmt.Errorf("file %q is not a path within a repository", v)
		case form == nil && !isLine(v), form != nil && !form(v):
			return fmt.Errorf("%q is not a %s", v, key)
		}
	}
	return nil
}

// foreign is the error for a line that aisync does not write.
func foreign(file string, line int, what string, why error) error {
	return fmt.Errorf("%s:%d: %s: %w; aisync writes no such line, so see who did (git log -p -- aisync.lock), remove it, and run the command again", file, line, what, why)
}
