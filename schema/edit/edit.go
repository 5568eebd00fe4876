// Package edit changes the text of a spec the way a careful person would: a
// field or an element is put in or taken out where its neighbours stand, and
// every other byte stays as it is. It reads and writes no file, and does not
// know what a spec may hold: package schema checks the result. Start reading
// at Files.
package edit

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"aisync.dev/aisync/schema/spec"
)

// File is one file of a spec.
type File struct {
	Name string // as positions shall name it
	Text []byte
}

// Files is a spec of one or more files that is being edited. After an error it
// is as it was before the call.
type Files struct {
	files []*file
	root  []string
}

type file struct {
	File
	old []byte
	ast *ast.File
}

// Parse reads the files of one spec of which the part at root is edited, such
// as hosts, velox: paths start there, and it stays whatever is taken out of it.
// What is no CUE is an error with its place.
func Parse(files []File, root ...string) (*Files, error) {
	e := &Files{root: root}
	for _, f := range files {
		tree, err := parser.ParseFile(f.Name, f.Text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		e.files = append(e.files, &file{f, f.Text, tree})
	}
	return e, nil
}

// Changed returns the files whose text is no longer what Parse was given.
func (e *Files) Changed() []File {
	var out []File
	for _, f := range e.files {
		if string(f.old) != string(f.Text) {
			out = append(out, f.File)
		}
	}
	return out
}

// Handmade says that a part of a spec is written in a form that only a person
// can change: a comprehension, a reference, an expression.
type Handmade struct {
	Pos  spec.Position
	Path []string
	Do   string // what is to be done there
}

// Error names the place and what to do.
func (h *Handmade) Error() string {
	text := fmt.Sprintf("%s is not written in a form that can be edited for you", strings.Join(h.Path, "."))
	if h.Pos.File != "" {
		text = h.Pos.String() + ": " + text
	}
	return text
}

// Hint is what to do.
func (h *Handmade) Hint() string { return h.Do }

// Find returns where path is written, in the order of the files; none if it is
// nowhere in plain sight.
func (e *Files) Find(path ...string) []spec.Position {
	var out []spec.Position
	for _, s := range e.find(e.at(path)) {
		out = append(out, s.pos())
	}
	return out
}

// at is path from the top of the files.
func (e *Files) at(path []string) []string { return slices.Concat(e.root, path) }

// Add puts the field path with value, CUE text of one line, where its siblings
// stand, or else where the nearest thing around it does. It does not look
// whether path is there.
func (e *Files) Add(value string, path ...string) error {
	return e.change(func() error { return e.add(value, e.at(path)) })
}

// Append puts element, CUE text of one line, at the end of the list at path,
// wherever that list is written, or writes a list of one.
func (e *Files) Append(element string, path ...string) error {
	return e.change(func() error {
		spots := e.find(e.at(path))
		if len(spots) == 0 {
			return e.add("["+element+"]", e.at(path))
		}
		return e.eachList(spots, e.at(path), "add "+element+" to it by hand", func(f *file, list *ast.ListLit) error {
			return f.appendTo(list, element)
		})
	})
}

// Remove takes out the field at path wherever it is written, with the comment
// above it. Structs around it stay, be they empty.
func (e *Files) Remove(path ...string) error {
	return e.change(func() error {
		for { // each removal moves what follows it, so it is looked for again
			spots := e.find(e.at(path))
			if len(spots) == 0 {
				return nil
			}
			s := spots[len(spots)-1]
			onlyRoot := len(e.find(e.root)) == 1
			if err := s.file.replace(s.cut(len(e.root), onlyRoot)); err != nil {
				return err
			}
		}
	})
}

// RemoveElement takes the string element out of the list at path wherever that
// list is written. It reports whether it was there.
func (e *Files) RemoveElement(element string, path ...string) (found bool, err error) {
	err = e.change(func() error {
		return e.eachList(e.find(e.at(path)), e.at(path), "take "+String(element)+" out by hand", func(f *file, list *ast.ListLit) error {
			i := slices.IndexFunc(list.Elts, func(x ast.Expr) bool { return isString(x, element) })
			if i < 0 {
				return nil
			}
			found = true
			return f.replace(f.cutElement(list, i))
		})
	})
	return found, err
}

// eachList does something to the list at each spot, last first, so that places
// before it hold.
func (e *Files) eachList(spots []spot, path []string, byHand string, do func(*file, *ast.ListLit) error) error {
	for _, s := range slices.Backward(spots) {
		list, ok := s.field.Value.(*ast.ListLit)
		if !ok {
			return &Handmade{Pos: s.pos(), Path: path, Do: byHand}
		}
		if err := do(s.file, list); err != nil {
			return err
		}
	}
	return nil
}

// change undoes what do did if it fails.
func (e *Files) change(do func() error) error {
	before := make([]file, len(e.files))
	for i, f := range e.files {
		before[i] = *f
	}
	err := do()
	if err != nil {
		for i := range before {
			*e.files[i] = before[i]
		}
	}
	return err
}

// replace puts text in place of the bytes from..to and reads the file again.
func (f *file) replace(from, to int, text string) error {
	changed := slices.Concat(f.Text[:from], []byte(text), f.Text[to:])
	tree, err := parser.ParseFile(f.Name, changed, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("editing %s would break it: %w", f.Name, err)
	}
	f.Text, f.ast = changed, tree
	return nil
}

func (f *file) position(n ast.Node) spec.Position {
	p := n.Pos()
	return spec.Position{File: f.Name, Line: p.Line(), Col: p.Column()}
}
