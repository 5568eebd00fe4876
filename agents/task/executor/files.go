package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest file that a model sees or may write.
const maxFile = 1 << 20

// text is a file as a model sees it: lines that end in a newline. It remembers
// the original line ends.
type text struct {
	lines []string
	crlf  bool // every line ended with CRLF
	open  bool // the last line had no end
	mode  fs.FileMode
}

// newText parses a file. ok is false for binary content.
func newText(b []byte, mode fs.FileMode) (t text, ok bool) {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 || len(b) > maxFile {
		return text{}, false
	}
	s := string(b)
	t.mode = mode
	if n := strings.Count(s, "\n"); n > 0 && strings.Count(s, "\r\n") == n {
		t.crlf = true
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if s == "" {
		return t, true
	}
	if t.open = !strings.HasSuffix(s, "\n"); !t.open {
		s = s[:len(s)-1]
	}
	t.lines = strings.Split(s, "\n")
	return t, true
}

// bytes returns the file's content.
func (t text) bytes() []byte {
	if len(t.lines) == 0 {
		return nil
	}
	end := "\n"
	if t.crlf {
		end = "\r\n"
	}
	s := strings.Join(t.lines, end)
	if !t.open {
		s += end
	}
	return []byte(s)
}

// places returns the lines at which old begins in t.
func (t text) places(old []string) (at []int) {
	for i := 0; i+len(old) <= len(t.lines); i++ {
		if slices.Equal(t.lines[i:i+len(old)], old) {
			at = append(at, i)
		}
	}
	return at
}

// files are the files of a work tree that a model may see, after the edits so
// far. Nothing is written before a whole answer fits.
type files struct {
	root    *os.Root
	known   map[string]bool // those that the model may read
	now     map[string]*text
	changed []string
}

func newFiles(root *os.Root, readable []string) *files {
	f := &files{root: root, known: map[string]bool{}, now: map[string]*text{}}
	for _, name := range readable {
		f.known[name] = true
	}
	return f
}

// errNoText reports a file that is not text.
var errNoText = errors.New("not a text of at most 1 MiB")

// read returns a file that a model may see.
func (f *files) read(name string) (*text, error) {
	if t := f.now[name]; t != nil {
		return t, nil
	}
	if !f.known[name] {
		return nil, fmt.Errorf("%s is not one of the readable files", name)
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %w", name, errNoText)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	t, ok := newText(b, info.Mode().Perm())
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errNoText)
	}
	f.now[name] = &t
	return &t, nil
}

// apply makes one edit, in memory.
func (f *files) apply(e edit) error {
	where := fmt.Sprintf("the block at line %d of the answer", e.line)
	if len(e.old) == 0 {
		return f.make(e, where)
	}
	t, err := f.read(e.file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no file %s; a new file has nothing between SEARCH and the divider", where, e.file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	switch at := t.places(e.old); len(at) {
	case 1:
		next := *t
		next.lines = slices.Concat(t.lines[:at[0]], e.new, t.lines[at[0]+len(e.old):])
		f.set(e.file, next)
		return nil
	case 0:
		return fmt.Errorf("%s: these lines are not in %s, character by character:\n%s", where, e.file, strings.Join(e.old, "\n"))
	default:
		var lines []string
		for _, i := range at {
			lines = append(lines, fmt.Sprint(i+1))
		}
		return fmt.Errorf("%s: these lines are in %s more than once (at its lines %s); add surrounding lines to make them unique:\n%s",
			where, e.file, strings.Join(lines, ", "), strings.Join(e.old, "\n"))
	}
}

// make creates a file, or fills an empty one.
func (f *files) make(e edit, where string) error {
	t := &text{mode: 0o644}
	if now := f.now[e.file]; now != nil {
		t = now
	} else if _, err := f.root.Lstat(e.file); err == nil {
		if t, err = f.read(e.file); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", where, err)
	}
	if len(t.lines) > 0 {
		return fmt.Errorf("%s: %s exists and is not empty; name the lines to replace", where, e.file)
	}
	next := *t
	next.lines = e.new
	f.set(e.file, next)
	return nil
}

func (f *files) set(name string, t text) {
	f.now[name] = &t
	if !slices.Contains(f.changed, name) {
		f.changed = append(f.changed, name)
	}
}

// write writes the changes. os.Root keeps it inside the work tree, even through
// links, and the runner judges the result.
func (f *files) write() error {
	for _, name := range f.changed {
		t := f.now[name]
		if err := f.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make the folder of %s: %w", name, err)
		}
		if err := f.root.WriteFile(name, t.bytes(), t.mode); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
