package session

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
)

// Edit is one change within the subtree of one heading of a shared file. Exactly
// one of Append, Body, State and Old is set.
type Edit struct {
	File    string // below the root, or absolute in it
	Heading string
	Append  string  // appended to the subtree
	Body    *string // replaces the heading's text; its data and sub-headings stay
	State   *string // org: the heading's new keyword; "" is none
	Old     string  // a text that occurs once in the subtree; replaced by
	New     string
	Digest  string // of the subtree as the caller read it; "": unchecked
	What    string // one line for the journal
}

// ErrMoved reports that the text differs from what the caller read.
var ErrMoved = errors.New("changed since it was read")

// Apply makes the edit and returns the new subtree. It locks the file, reads it
// again, finds the heading, writes the intent and the lines that go to the journal
// of c, and replaces the file in one step. If another program changed the file
// meanwhile, Apply starts again from that text. A crash leaves the old or the new
// file, and the journal names the intended edit.
func (c Context) Apply(e Edit, now func() time.Time) (string, error) {
	name, err := c.inside(e.File)
	if err != nil {
		return "", err
	}
	tree, logged := "", (*Intent)(nil)
	err = locked(c.Root, name, func() error {
		_, err := change(c.Root, name, func(old string) (next string, err error) {
			next, tree, err = e.on(name, old, now)
			if err != nil || next == old {
				return next, err
			}
			i := Intent{name, e.Heading, e.intent(), removed(old, next)}
			if logged != nil && *logged == i {
				return next, nil
			}
			logged = &i
			return next, c.Journal(i, now())
		})
		return err
	})
	return tree, err
}

// inside returns the physical path of a file below the root, so that a file has
// one lock under all of its names.
func (c Context) inside(file string) (string, error) {
	if file == "" {
		return "", errors.New("file required")
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Root, path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("edit %s: %w", file, err)
	}
	if !project.Holds(c.Root, path) || path == c.Root {
		return "", fmt.Errorf("%s is not in the project %s", file, c.Root)
	}
	name, err := filepath.Rel(c.Root, path)
	return filepath.ToSlash(name), err
}

func (e Edit) intent() string {
	switch {
	case e.What != "":
		return e.What
	case e.Append != "":
		return "append: " + brief(e.Append)
	case e.Body != nil:
		return "replace the body: " + brief(*e.Body)
	case e.State != nil && *e.State == "":
		return "remove the state"
	case e.State != nil:
		return "set the state: " + brief(*e.State)
	}
	return "replace: " + brief(e.Old) + " by: " + brief(e.New)
}

func brief(s string) string { return termtext.Clip(termtext.OneLine(s), 60) }

// removed returns the lines of a text that an edit changes or takes away: what is
// between the first and the last line that differ.
func removed(old, next string) string {
	start := 0
	for i := range min(len(old), len(next)) {
		if old[i] != next[i] {
			break
		}
		if old[i] == '\n' {
			start = i + 1
		}
	}
	end := 0 // from the end
	for i := 1; i <= min(len(old), len(next))-start; i++ {
		if old[len(old)-i] != next[len(next)-i] {
			break
		}
		if (i == len(old)-start || old[len(old)-i-1] == '\n') && (i == len(next)-start || next[len(next)-i-1] == '\n') {
			end = i
		}
	}
	return old[start : len(old)-end]
}

// on returns the whole text after the edit, and its subtree.
func (e Edit) on(name, text string, now func() time.Time) (next, tree string, err error) {
	org := IsOrg(name)
	if !utf8.ValidString(text) {
		return "", "", fmt.Errorf("%s is not UTF-8", name)
	}
	s, err := Find(text, e.Heading, org)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	old := text[s.Start:s.End]
	if e.Digest != "" && e.Digest != fsys.Digest([]byte(old)) {
		return "", "", fmt.Errorf("%s: %q: %w; read it again: aisync session edit %s --heading %q --show", name, e.Heading, ErrMoved, name, e.Heading)
	}
	eol := "\n"
	if strings.Contains(text[s.Start:s.Body], "\r\n") || !strings.Contains(old, "\n") && strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	native := func(add string) string {
		return strings.ReplaceAll(strings.ReplaceAll(add, "\r\n", "\n"), "\n", eol)
	}
	head, body := text[s.Start:s.Body], text[s.Body:s.End]
	if !strings.HasSuffix(head, "\n") { // an unterminated last line
		head += eol
	}
	switch {
	case e.State != nil && !org:
		return "", "", fmt.Errorf("%s: only headings of org files have a state", name)
	case e.State != nil:
		if body, err = e.withState(text, head+body, len(head), eol, now()); err != nil {
			return "", "", fmt.Errorf("%s: %w", name, err)
		}
		head = ""
	case e.Body != nil:
		if body, err = e.withBody(old, body, s.Body-s.Start, org, eol, native); err != nil {
			return "", "", fmt.Errorf("%s: %w", name, err)
		}
	case e.Append != "":
		at := len(body)
		if children := Subtrees(old, org); len(children) > 1 && !isHeading(e.Append, org) {
			at = children[1].Start - (s.Body - s.Start) // the text belongs to the heading, not to its last child
		}
		own := trimmedLen(body[:at])
		body = terminated(body[:own], eol) + terminated(native(e.Append), eol) + body[own:]
	case e.Old == "":
		return "", "", errors.New("nothing to do: give a text to append, a body, a state, or an old and a new text")
	default:
		before := native(e.Old)
		switch n := strings.Count(old, before); n {
		case 0:
			return "", "", fmt.Errorf("%s: %q: %w: the old text is not there", name, e.Heading, ErrMoved)
		case 1:
			head, body = "", strings.Replace(old, before, native(e.New), 1)
		default:
			return "", "", fmt.Errorf("%s: %q: the old text occurs %d times; give more of it", name, e.Heading, n)
		}
	}
	tree = head + body
	if s.End < len(text) {
		tree = terminated(tree, eol)
	}
	next = text[:s.Start] + tree + text[s.End:]
	if err := e.checkScope(text, next, s, len(tree), org); err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	return next, tree, nil
}

func isHeading(text string, org bool) bool {
	found := Subtrees(text, org)
	return len(found) > 0 && found[0].Start == 0
}

// terminated terminates the last line of a non-empty text.
func terminated(text, eol string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return text
}

// trimmedLen returns the index of the trailing empty lines of a text.
func trimmedLen(text string) int {
	kept := len(strings.TrimRight(text, "\r\n"))
	if kept == 0 {
		return 0
	}
	if i := strings.IndexByte(text[kept:], '\n'); i >= 0 {
		return kept + i + 1
	}
	return len(text)
}

// checkScope checks that the edit affects only its subtree: the heading is still
// there, at its level, no new heading stands beside or above it, and every other
// heading of the file is unchanged.
func (e Edit) checkScope(text, next string, s Subtree, length int, org bool) error {
	inside := Subtrees(next[s.Start:s.Start+length], org)
	if len(inside) == 0 || inside[0].Start != 0 || inside[0].level != s.level {
		return fmt.Errorf("the edit would remove the heading %q, or change its level", e.Heading)
	}
	for _, t := range inside[1:] {
		if t.level <= s.level {
			return fmt.Errorf("the new text has the heading %q, which would end %q; an edit stays within its heading", t.Heading, e.Heading)
		}
	}
	if e.Old == "" {
		before, after := outline(text[s.Start:s.End], org), outline(next[s.Start:s.Start+length], org)
		for _, place := range before[1:] {
			i := slices.Index(after, place)
			if i < 0 {
				return fmt.Errorf("the edit would take %q away from its heading, or change it; begin an appended text with its heading", place[strings.LastIndexByte(place, '\n')+1:])
			}
			after = after[i+1:]
		}
	}
	others := func(text string, from, to int) []string {
		var out []string
		for _, t := range Subtrees(text, org) {
			if t.Start < from || t.Start >= to {
				out = append(out, t.Heading)
			}
		}
		return out
	}
	if !slices.Equal(others(text, s.Start, s.End), others(next, s.Start, s.Start+length)) {
		return fmt.Errorf("the edit would turn other headings of the file into text; is a block in the new text left open?")
	}
	return nil
}

// outline returns each heading of a subtree below the one it begins with, after
// those above it, a line each.
func outline(subtree string, org bool) []string {
	var out []string
	var above []Subtree
	for _, t := range Subtrees(subtree, org) {
		for len(above) > 0 && above[len(above)-1].level >= t.level {
			above = above[:len(above)-1]
		}
		var place strings.Builder
		for i, a := range above {
			if i > 0 { // the first one may get another state
				place.WriteString(a.Heading + "\n")
			}
		}
		out = append(out, place.String()+t.Heading)
		above = append(above, t)
	}
	return out
}

// Show returns a subtree and its digest for Edit.
func (c Context) Show(file, heading string) (tree, digest string, err error) {
	name, err := c.inside(file)
	if err != nil {
		return "", "", err
	}
	disk, err := fsys.New(fsys.Options{Project: c.Root})
	if err != nil {
		return "", "", err
	}
	text, err := disk.ReadFile(fsys.LogicalPath(name))
	if err != nil {
		return "", "", fmt.Errorf("read %s: %w", name, err)
	}
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	s, err := Find(string(text), heading, IsOrg(name))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	return string(text[s.Start:s.End]), fsys.Digest(text[s.Start:s.End]), nil
}
