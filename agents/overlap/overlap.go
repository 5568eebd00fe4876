// Package overlap is the rule by which claims on paths meet. A claim is a path,
// which covers all below it, or a pattern: * and ? stand for characters of one
// name, ** for any number of folders. The package changes nothing; it asks the
// disk only whether a path is a folder. Call Paths and Covers, with absolute,
// clean paths.
package overlap

import (
	"os"
	"strings"

	"aisync.dev/aisync/internal/unixpath"
)

// IsPattern reports whether a claim is a pattern: it has a *. Brackets and a ?
// alone occur in names of files.
func IsPattern(claim string) bool { return strings.Contains(claim, "*") }

// Base returns the innermost folder that holds all that a claim covers: the
// part of a pattern before its first *, and a path itself.
func Base(claim string) string {
	i := strings.IndexByte(claim, '*')
	if i < 0 {
		return claim
	}
	return unixpath.Clean(claim[:strings.LastIndexByte(claim[:i], '/')+1])
}

// Covers reports whether a claim covers a path: it is the path, holds it, or
// matches it or a folder above it.
func Covers(claim, path string) bool {
	if !IsPattern(claim) {
		return isBelow(path, claim)
	}
	return meet(split(claim), split(path), !namesFiles(claim), false)
}

// Paths reports whether one path can lie in two claims. A pattern that ends in
// an extension, such as *.go, covers files; any other covers folders too, with
// all below them. Beside a pattern, a path that is no folder covers itself alone.
func Paths(a, b string) bool {
	if !IsPattern(a) && !IsPattern(b) {
		return isBelow(a, b) || isBelow(b, a)
	}
	return meet(split(a), split(b), coversBelow(a), coversBelow(b))
}

// coversBelow reports whether a claim covers what is below the paths that it
// names. A path that does not exist yet is judged by its extension.
func coversBelow(claim string) bool {
	if !IsPattern(claim) {
		if info, err := os.Stat(claim); err == nil {
			return info.IsDir()
		}
	}
	return !namesFiles(claim)
}

// namesFiles reports whether the last name of a claim has an extension.
func namesFiles(claim string) bool {
	ext := unixpath.Ext(claim)
	return len(ext) > 1 && !strings.Contains(ext, "*")
}

func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func split(claim string) []string {
	return strings.FieldsFunc(claim, func(r rune) bool { return r == '/' })
}

// anyFolders is the name in a pattern that stands for any number of folders.
const anyFolders = "**"

// meet reports whether a path can match both a and b, whose names may have
// wildcards. With aBelow, a also matches all below its matches; so does b.
func meet(a, b []string, aBelow, bBelow bool) bool {
	// row[j] tells whether a[i:] and b[j:] meet; it is filled from the ends.
	var below []bool // the row of i+1
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i == len(a):
				row[j] = aBelow || b[j] == anyFolders && row[j+1]
			case j == len(b):
				row[j] = bBelow || a[i] == anyFolders && below[j]
			case a[i] == anyFolders || b[j] == anyFolders:
				row[j] = below[j] || row[j+1]
			default:
				row[j] = below[j+1] && namesMeet(a[i], b[j])
			}
		}
		below = row
	}
	return below[0]
}

// namesMeet reports whether one name can match two patterns of names.
func namesMeet(a, b string) bool {
	if !strings.ContainsAny(a+b, "*?") {
		return a == b
	}
	var below []bool
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = below[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && below[j]
			case i < len(a) && j < len(b):
				row[j] = below[j+1] && (a[i] == b[j] || a[i] == '?' || b[j] == '?')
			}
		}
		below = row
	}
	return below[0]
}
