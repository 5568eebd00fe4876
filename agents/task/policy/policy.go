// Package policy judges what a step did, or is about to do, by the limits of
// its task. It fails closed: a glob that is none matches nothing, and what
// cannot be told counts as forbidden. It reads no files and runs nothing: what
// changed is found by package tree, and that a command reaches nothing else is
// package sandbox's. Start reading at Limits.Judge and Limits.Command.
package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Limits are those of one task.
type Limits struct {
	Write    []string // globs; none means nowhere
	Read     []string
	MaxFiles int
	MaxDiff  int64 // bytes
	denied   []*regexp.Regexp
}

// Of returns the limits that a task names.
func Of(t spec.Task) (Limits, error) {
	l := Limits{Write: t.Write, Read: t.Read, MaxFiles: t.MaxFiles, MaxDiff: t.MaxDiff}
	for _, g := range append(append([]string{}, t.Write...), t.Read...) {
		if err := validGlob(g); err != nil {
			return l, err
		}
	}
	for _, d := range t.Denied {
		re, err := regexp.Compile(d)
		if err != nil {
			return l, fmt.Errorf("denied command %q: %w", d, err)
		}
		l.denied = append(l.denied, re)
	}
	return l, nil
}

func validGlob(g string) error {
	switch {
	case g == "", path.IsAbs(g), path.Clean(g) != g && path.Clean(g)+"/" != g, strings.HasPrefix(g, "../"), g == "..":
		return fmt.Errorf("glob %q: want a path below the repository, in its shortest form", g)
	case !doublestar.ValidatePattern(g):
		return fmt.Errorf("glob %q: it is none: see the brackets, braces and backslashes in it", g)
	}
	return nil
}

// MayWrite reports whether a file may be written. path is slash-separated and
// below the repository. * does not cross a slash, ** as a whole element does.
func (l Limits) MayWrite(path string) bool { return match(l.Write, path) }

// MayRead reports whether a file may be given to an executor.
func (l Limits) MayRead(path string) bool { return match(l.Read, path) }

func match(globs []string, name string) bool {
	if name == "" || name == "." || path.Clean(name) != name || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || GitsOwn(name) {
		return false
	}
	for _, g := range globs {
		if validGlob(g) == nil && doublestar.MatchUnvalidated(g, name) {
			return true
		}
	}
	return false
}

// GitsOwn reports whether an element of a path is git's own folder, or one that
// some file system takes for it.
func GitsOwn(name string) bool { return fsys.GitsOwn(name) }

// gitsFolder is the beginning of a path that is git's own.
func gitsFolder(name string) string {
	for at, c := range name {
		if c == '/' && GitsOwn(name[:at]) {
			return name[:at]
		}
	}
	return name
}

// Kind is what became of a file.
type Kind string

// The kinds. A rename is a deletion and an addition: both paths are judged.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is one path that is not as it was before the task.
type Change struct {
	Path    string `json:"path"` // slash-separated, below the repository
	Kind    Kind   `json:"kind"`
	Ignored bool   `json:"ignored,omitempty"` // git does not want it: it is judged, and committed only if a step names it
	Wrong   string `json:"wrong,omitempty"`   // why it can never be right, whatever the globs say
}

// Violation is a limit that was not kept. It is never tried again.
type Violation struct {
	Path string // "" where it is about no file
	Text string
}

func (v *Violation) Error() string {
	if v.Path == "" {
		return v.Text
	}
	return fmt.Sprintf("%q: %s", v.Path, v.Text)
}

// Judge returns what is wrong with the changes of a task, as far as it has
// come, and with the size of their diff in bytes. Files that git ignores count
// for the globs, and not for the number and the size.
func (l Limits) Judge(changes []Change, diff int64) []*Violation {
	var out []*Violation
	files := 0
	for _, c := range changes {
		if !c.Ignored {
			files++
		}
		switch {
		case c.Wrong != "":
			out = append(out, &Violation{c.Path, c.Wrong})
		case GitsOwn(c.Path):
			own := gitsFolder(c.Path) // with all that is in it
			if !slices.ContainsFunc(out, func(v *Violation) bool { return v.Path == own }) {
				out = append(out, &Violation{own, "is git's own"})
			}
		case !l.MayWrite(c.Path):
			out = append(out, &Violation{c.Path, string(c.Kind) + ", and no allowed_write_globs names it" + l.globs()})
		}
	}
	if files > l.MaxFiles {
		out = append(out, &Violation{Text: fmt.Sprintf("%d files changed, and max_files_changed is %d", files, l.MaxFiles)})
	}
	if diff > l.MaxDiff {
		out = append(out, &Violation{Text: fmt.Sprintf("the diff has %d bytes, and max_diff_bytes is %d", diff, l.MaxDiff)})
	}
	return out
}

func (l Limits) globs() string {
	if len(l.Write) == 0 {
		return " (there are none)"
	}
	return " (" + strings.Join(l.Write, ", ") + ")"
}
