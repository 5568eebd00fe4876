package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/reconcile/fsys"
)

// Edit is one change within the subtree of one heading of a shared file.
// Exactly one of Append, Body and Old is used.
type Edit struct {
	File    string // below the root, or absolute in it
	Heading string
	Append  string  // goes to the end of the subtree
	Body    *string // becomes what stands below the heading
	Old     string  // must stand in the subtree once, and becomes
	New     string
	Digest  string // of the subtree as the caller has read it; "": not checked
	What    string // one line for the journal
}

// ErrMoved says that the text is no longer what the caller has read.
var ErrMoved = errors.New("the text has changed since it was read")

// tries that an edit has against programs that write the file without asking
// us. Each begins anew on what they wrote.
const tries = 20

// Apply makes the edit and returns the subtree as it is then. It holds the lock
// of the file, reads it again, finds the heading, writes the intent to the
// journal of c, and replaces the file in one step if nobody else has changed it
// meanwhile; if somebody has, it begins again on what they wrote. A crash
// leaves the old or the new file, and the journal says what was meant.
func (c Context) Apply(e Edit, now func() time.Time) (string, error) {
	name, err := c.inside(e.File)
	if err != nil {
		return "", err
	}
	disk, err := fsys.New(fsys.Options{Project: c.Root, Tag: "session-edit"})
	if err != nil {
		return "", err
	}
	path := fsys.LogicalPath(name)
	var after string
	err = locked(c.Root, name, func() error {
		for try := 1; ; try++ {
			old, err := disk.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			next, tree, err := e.on(name, string(old))
			if err != nil {
				return err
			}
			if next == string(old) {
				after = tree
				return nil
			}
			if try == 1 {
				if err := c.Journal(Intent{name, e.Heading, e.intent()}, now()); err != nil {
					return err
				}
			}
			err = disk.Replace(path, fsys.Content{Bytes: []byte(next)}, fsys.Expect{Digest: fsys.Digest(old)}, nil)
			switch {
			case err == nil:
				after = tree
				return disk.Flush()
			case !errors.Is(err, fsys.ErrChanged) && !errors.Is(err, fs.ErrExist) || try == tries:
				return fmt.Errorf("write %s: %w", name, err)
			}
			time.Sleep(time.Duration(try) * time.Millisecond)
		}
	})
	return after, err
}

// inside returns a file's place below the root.
func (c Context) inside(file string) (string, error) {
	if file == "" {
		return "", errors.New("no file is given")
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Root, path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	if !project.Holds(c.Root, path) || path == c.Root {
		return "", fmt.Errorf("%s does not lie in the project %s", file, c.Root)
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
	}
	return "replace: " + brief(e.Old) + " by: " + brief(e.New)
}

func brief(s string) string {
	text := []rune(oneLine(s))
	if len(text) > 60 {
		return string(text[:59]) + "…"
	}
	return string(text)
}

// on returns the whole text after the edit, and the subtree in it.
func (e Edit) on(name, text string) (next, tree string, err error) {
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
	if strings.Contains(text[s.Start:s.Body], "\r\n") {
		eol = "\r\n"
	}
	lines := func(add string) string {
		add = strings.ReplaceAll(strings.ReplaceAll(add, "\r\n", "\n"), "\n", eol)
		if add != "" && !strings.HasSuffix(add, eol) {
			add += eol
		}
		return add
	}
	head, body := text[s.Start:s.Body], text[s.Body:s.End]
	if !strings.HasSuffix(head, "\n") { // the last line of a file without an end
		head += eol
	}
	switch {
	case e.Body != nil:
		body = blankAround(lines(*e.Body), body, eol)
	case e.Append != "":
		kept := strings.TrimRight(body, "\r\n")
		blank := body[len(kept):]
		if kept != "" {
			kept += eol
			blank = strings.TrimPrefix(blank, eol)
		}
		if s.End == len(text) {
			blank = ""
		}
		body = kept + lines(e.Append) + blank
	default:
		if e.Old == "" {
			return "", "", errors.New("nothing to do: give a text to append, a body, or an old and a new text")
		}
		switch strings.Count(old, e.Old) {
		case 0:
			return "", "", fmt.Errorf("%s: %q: %w: the old text does not stand there", name, e.Heading, ErrMoved)
		case 1:
			changed := strings.Replace(old, e.Old, e.New, 1)
			head, body = "", changed
		default:
			return "", "", fmt.Errorf("%s: %q: the old text stands there %d times; give more of it", name, e.Heading, strings.Count(old, e.Old))
		}
	}
	tree = head + body
	if err := e.stays(s, tree, org); err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	return text[:s.Start] + tree + text[s.End:], tree, nil
}

// blankAround keeps the empty lines that parted the old body from the next
// heading.
func blankAround(body, old, eol string) string {
	if kept := strings.TrimRight(old, "\r\n"); len(old)-len(kept) > len(eol) || kept == "" {
		body += strings.TrimPrefix(old[len(kept):], eol)
	}
	return body
}

// stays checks that the edit ends no subtree but its own: a heading of the same
// or a higher level in the new text would take over what follows.
func (e Edit) stays(s Subtree, tree string, org bool) error {
	for i, t := range Subtrees(tree, org) {
		if i > 0 && t.level <= s.level {
			return fmt.Errorf("the new text has the heading %q, which would end %q; an edit stays within its heading", t.Heading, e.Heading)
		}
		if i == 0 && (t.Start != 0 || t.level != s.level) {
			return fmt.Errorf("the edit would change the heading's level or put text before it: %q", t.Heading)
		}
	}
	if len(Subtrees(tree, org)) == 0 {
		return fmt.Errorf("the edit would remove the heading %q", e.Heading)
	}
	return nil
}

// Show returns a subtree as it is, and its digest for Edit.
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
