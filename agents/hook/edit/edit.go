// Package edit holds what the hooks and their reader of command lines share: which
// paths a tool's input names. It reads no file. Call Absolute for each of them.
package edit

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/unixpath"
)

// Absolute returns a path that a tool in the folder dir was given.
func Absolute(dir, home, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
		return unixpath.Join(home, rest)
	}
	if !unixpath.IsAbs(name) {
		name = unixpath.Join(dir, name)
	}
	return unixpath.Clean(name)
}

// Patched returns the files that a patch in the form of apply_patch names.
func Patched(text string) []string {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil
	}
	var out []string
	for line := range strings.Lines(text) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok && name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// IsShell reports whether a word starts a shell.
func IsShell(word string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh"}, path.Base(word))
}

// Move is a git command that brings what commits or patches hold into a work tree.
type Move struct {
	Dir  string   // the folder in which it runs
	Args []string // the command and its arguments, without git's options
	Else []string // what it writes where git cannot tell
}

// Writers are the commands by which a line is known to write files or to change git.
// Package shell passes over others.
var Writers = []string{
	"tee", "touch", "truncate", "rm", "rmdir", "unlink", "shred", "sed", "perl", "cp", "mv", "install", "ln", "rsync", "dd",
	"apply_patch", "applypatch", "applyPatch", "git",
}

// MayWrite reports whether a command line may write by one of Writers or by a
// redirection, however it is quoted or nested. It parses nothing: where it says no, a
// parser finds nothing either.
func MayWrite(line string) bool {
	line = harmless.Replace(line)
	if strings.ContainsAny(line, ">$`") || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(line, apart), func(word string) bool { return slices.Contains(Writers, word) })
}

// harmless removes redirections that write no file, and what a shell removes from a
// word.
var harmless = strings.NewReplacer("2>&1", "", "2>/dev/null", "", "\\\n", "", `\`, "", `'`, "", `"`, "")

// apart reports whether a character stands between words.
func apart(r rune) bool { return strings.ContainsRune(" \t\n/;&|(){}<!=", r) }
