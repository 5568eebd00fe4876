// Package position finds the places of fields in specs, by their paths. Call New.
package position

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/schema/spec"
)

// Embedded is the prefix of file names in this binary.
const Embedded = "aisync:"

// place is the position of one field or element.
type place struct {
	label, value token.Pos
}

// Index finds positions by path. It is made from syntax, not from values,
// because a value unified from several files has no single position.
type Index struct {
	at       map[string]place
	patterns map[string][]string // by the path of a struct: the names that stand for its patterns
	cwd      string
}

// New returns the index of files, whose names are shown from cwd.
func New(files []*ast.File, cwd string) *Index {
	p := &Index{at: map[string]place{}, patterns: map[string][]string{}, cwd: cwd}
	for _, f := range files {
		p.put(nil, f.Pos(), f.Pos())
		p.decls(nil, f.Decls)
	}
	return p
}

func key(path []string) string { return strings.Join(path, "\x00") }

// put records the first place of a path; later calls only add to it.
func (p *Index) put(path []string, label, value token.Pos) {
	if _, ok := p.at[key(path)]; !ok {
		p.at[key(path)] = place{label, value}
	}
}

func (p *Index) decls(path []string, decls []ast.Decl) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			p.field(path, d)
		case *ast.EmbedDecl:
			p.expr(path, d.Expr)
		case *ast.Comprehension:
			p.expr(path, d.Value)
		}
	}
}

func (p *Index) field(path []string, f *ast.Field) {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		if l, ok := a.Expr.(ast.Label); ok {
			label = l
		}
	}
	name, isIdent, err := ast.LabelName(label)
	if list, ok := label.(*ast.ListLit); ok && len(list.Elts) == 1 {
		name, isIdent, err = p.pattern(path, list.Elts[0]), false, nil
	}
	if err != nil || isIdent && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")) {
		return
	}
	at := append(path[:len(path):len(path)], name)
	p.put(at, f.Label.Pos(), f.Value.Pos())
	p.expr(at, f.Value)
}

func (p *Index) expr(path []string, e ast.Expr) {
	switch e := e.(type) {
	case *ast.StructLit:
		p.decls(path, e.Elts)
	case *ast.ListLit:
		for i, elem := range e.Elts {
			at := append(path[:len(path):len(path)], strconv.Itoa(i))
			p.put(at, elem.Pos(), elem.Pos())
			p.expr(at, elem)
		}
	case *ast.BinaryExpr:
		p.expr(path, e.X)
		p.expr(path, e.Y)
	case *ast.UnaryExpr:
		p.expr(path, e.X)
	case *ast.ParenExpr:
		p.expr(path, e.X)
	}
}

// anyName begins the names that stand for patterns; a regular expression follows that
// limits the pattern, if there is one.
const anyName = "\x01"

// pattern returns the name that stands for the fields of path that match e.
func (p *Index) pattern(path []string, e ast.Expr) string {
	if a, ok := e.(*ast.Alias); ok {
		e = a.Expr
	}
	name := anyName
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.MAT {
		if lit, ok := u.X.(*ast.BasicLit); ok {
			if re, err := strconv.Unquote(lit.Value); err == nil {
				name += re
			}
		}
	}
	if at := key(path); !slices.Contains(p.patterns[at], name) {
		p.patterns[at] = append(p.patterns[at], name)
	}
	return name
}

// find returns the place of path, or of its nearest written parent. What a pattern
// such as [string] says of a field counts as written, after what stands there by name.
func (p *Index) find(path []string) place {
	at, _ := p.deepest(nil, path)
	return at
}

// deepest returns the place of the longest written part of at and rest, which at
// begins, and its length; -1 if none is.
func (p *Index) deepest(at, rest []string) (place, int) {
	best, depth := place{}, -1
	if here, ok := p.at[key(at)]; ok {
		best, depth = here, len(at)
	}
	if len(rest) == 0 {
		return best, depth
	}
	names := []string{rest[0]}
	for _, name := range p.patterns[key(at)] {
		if re, err := regexp.Compile(name[len(anyName):]); err == nil && re.MatchString(rest[0]) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if found, n := p.deepest(append(at[:len(at):len(at)], name), rest[1:]); n > depth {
			best, depth = found, n
		}
	}
	return best, depth
}

// Label returns the position of a field's name, Value that of what stands there;
// of a path that is not written, that of its nearest written parent.
func (p *Index) Label(path ...string) spec.Position { return p.Shown(p.find(path).label) }
func (p *Index) Value(path ...string) spec.Position { return p.Shown(p.find(path).value) }

// Shown returns pos relative to the working folder if that is shorter.
func (p *Index) Shown(pos token.Pos) spec.Position {
	if !pos.IsValid() {
		return spec.Position{}
	}
	return spec.Position{File: p.File(pos.Filename()), Line: pos.Line(), Col: pos.Column()}
}

// File returns a name of a file relative to the working folder if that is shorter.
func (p *Index) File(name string) string {
	if p.cwd == "" || strings.HasPrefix(name, Embedded) {
		return name
	}
	if rel, err := filepath.Rel(p.cwd, name); err == nil && rel != "." && len(rel) < len(name) {
		return rel
	}
	return name
}

// Begin sets the position of the whole document.
func (p *Index) Begin(label, value token.Pos) { p.at[key(nil)] = place{label, value} }

// Add adds the fields of decls, which stand at the top.
func (p *Index) Add(decls []ast.Decl) { p.decls(nil, decls) }
