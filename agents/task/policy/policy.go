// Package policy judges what a step did, or is about to do, by the limits of its
// task. It fails closed: an invalid glob matches nothing, and the undecidable is
// forbidden. It reads no files and runs nothing: package worktree finds the
// changes, and package sandbox confines commands. Call Of, then Limits.Judge and
// Limits.Command.
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

// Limits are the limits of one task.
type Limits struct {
	Write    []string // none means nowhere
	Read     []string
	MaxFiles int
	MaxDiff  int64 // bytes
	denied   []*regexp.Regexp
}

// Of returns the limits in a task.
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
		return fmt.Errorf("invalid glob %q: unbalanced bracket, brace or trailing backslash", g)
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

// GitsOwn reports whether a path element is git's folder, or a name that some
// file system treats as it.
func GitsOwn(name string) bool { return fsys.GitsOwn(name) }

// gitsFolder returns the prefix of a path up to git's folder.
func gitsFolder(name string) string {
	for at, c := range name {
		if c == '/' && GitsOwn(name[:at]) {
			return name[:at]
		}
	}
	return name
}

// Kind is the kind of a file's change.
type Kind string

// The kinds. A rename is a deletion and an addition: both paths are judged.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is one path that differs from before the task.
type Change struct {
	Path    string `json:"path"` // slash-separated, below the repository
	Kind    Kind   `json:"kind"`
	Ignored bool   `json:"ignored,omitempty"` // git ignores it: it is judged, but committed only if a step names it
	Wrong   string `json:"wrong,omitempty"`   // why it is always wrong, whatever the globs say
}

// Violation is a broken limit. It is never retried.
type Violation struct {
	Path string // "" where no file is concerned
	Text string
}

func (v *Violation) Error() string {
	if v.Path == "" {
		return v.Text
	}
	return fmt.Sprintf("%q: %s", v.Path, v.Text)
}

// Judge returns the violations in the changes of a task so far, and in the size
// of their diff in bytes. Ignored files count for the globs, but not for the
// number and the size.
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
			own := gitsFolder(c.Path) // with its content
			if !slices.ContainsFunc(out, func(v *Violation) bool { return v.Path == own }) {
				out = append(out, &Violation{own, "is git's own"})
			}
		case !l.MayWrite(c.Path):
			out = append(out, &Violation{c.Path, string(c.Kind) + ", and no allowed_write_globs names it" + l.globs()})
		}
	}
	if files > l.MaxFiles {
		out = append(out, &Violation{Text: fmt.Sprintf("%d files changed, but max_files_changed is %d", files, l.MaxFiles)})
	}
	if diff > l.MaxDiff {
		out = append(out, &Violation{Text: fmt.Sprintf("the diff has %d bytes, but max_diff_bytes is %d", diff, l.MaxDiff)})
	}
	return out
}

func (l Limits) globs() string {
	if len(l.Write) == 0 {
		return " (there are none)"
	}
	return " (" + strings.Join(l.Write, ", ") + ")"
}
