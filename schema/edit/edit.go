// Package edit changes the text of a spec like a careful person: it inserts or
// removes a field or an element beside its neighbours and keeps every other
// byte. It reads and writes no file, and does not know the schema: package
// schema checks the result. Call Parse.
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
	Name string // for positions
	Text []byte
}

// Files is a spec of one or more files in the course of edits. A failed call
// changes nothing.
type Files struct {
	files []*file
	root  []string
}

type file struct {
	File
	old []byte
	ast *ast.File
}

// Parse parses the files of one spec for edits of the part at root, such as
// hosts, velox: paths start there, and removals keep it. A CUE syntax error
// names its place.
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

// Top returns the same files for edits of any part of them: paths start at the
// top. Changes show in both.
func (e *Files) Top() *Files { return &Files{files: e.files} }

// Changed returns the files whose text differs from Parse's input.
func (e *Files) Changed() []File {
	var out []File
	for _, f := range e.files {
		if string(f.old) != string(f.Text) {
			out = append(out, f.File)
		}
	}
	return out
}

// Handmade reports a part of a spec that only a person can change: a
// comprehension, a reference, an expression.
type Handmade struct {
	Pos  spec.Position
	Path []string
	Do   string // what the person must do there
}

// Error names the place and what to do.
func (h *Handmade) Error() string {
	text := fmt.Sprintf("%s is written in a form that aisync cannot edit", strings.Join(h.Path, "."))
	if h.Pos.File != "" {
		text = h.Pos.String() + ": " + text
	}
	return text
}

// Hint returns what to do.
func (h *Handmade) Hint() string { return h.Do }

// Find returns the places where path is written, in the order of the files; none
// if it is not written as plain data.
func (e *Files) Find(path ...string) []spec.Position {
	var out []spec.Position
	for _, s := range e.find(e.at(path)) {
		out = append(out, s.pos())
	}
	return out
}

// at returns path from the top of the files.
func (e *Files) at(path []string) []string { return slices.Concat(e.root, path) }

// Add adds the field path with value, CUE text of one line, beside its siblings,
// or else in the nearest enclosing struct. It does not check whether path
// exists.
func (e *Files) Add(value string, path ...string) error {
	return e.change(func() error { return e.add(value, e.at(path)) })
}

// Append appends element, CUE text of one line, to the list at path, or writes a
// new list.
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

// Remove removes the field at path wherever it is written, with the comment
// above it. Enclosing structs stay, even if empty.
func (e *Files) Remove(path ...string) error {
	return e.change(func() error {
		for { // each removal moves the rest, so search again
			spots := e.find(e.at(path))
			if len(spots) == 0 {
				return nil
			}
			s := spots[len(spots)-1]
			onlyRoot := len(e.find(e.root)) == 1
			if err := s.file.replace(s.removal(len(e.root), onlyRoot)); err != nil {
				return err
			}
		}
	})
}

// RemoveElement removes the string element from the list at path wherever that
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

// Replace replaces the string from by the string to wherever the field path holds it,
// as its value or as an element of its list. It reports whether it was there.
func (e *Files) Replace(from, to string, path ...string) (found bool, err error) {
	err = e.change(func() error {
		for _, s := range slices.Backward(e.find(e.at(path))) {
			values := []ast.Expr{s.field.Value}
			if list, ok := s.field.Value.(*ast.ListLit); ok {
				values = list.Elts
			}
			for _, x := range slices.Backward(values) { // each edit moves what follows
				if !isString(x, from) {
					continue
				}
				found = true
				if err := s.file.replace(x.Pos().Offset(), x.End().Offset(), String(to)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return found, err
}

// eachList calls do for the list at each occurrence, last first, so that earlier
// offsets stay valid.
func (e *Files) eachList(spots []occurrence, path []string, byHand string, do func(*file, *ast.ListLit) error) error {
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

// change reverts the edits of do if it fails.
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

// replace replaces the bytes from..to by text and parses the file again.
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
