package schema

import (
	"path/filepath"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/schema/spec"
)

// embedded is the prefix of file names in this binary.
const embedded = "aisync:"

// place is the position of one field or element.
type place struct {
	label, value token.Pos
}

// places finds positions by path. It is made from syntax, not from values,
// because a value unified from several files has no single position.
type places struct {
	at  map[string]place
	cwd string
}

func newPlaces(files []*ast.File, cwd string) *places {
	p := &places{at: map[string]place{}, cwd: cwd}
	for _, f := range files {
		p.put(nil, f.Pos(), f.Pos())
		p.decls(nil, f.Decls)
	}
	return p
}

func key(path []string) string { return strings.Join(path, "\x00") }

// put records the first place of a path; later calls only add to it.
func (p *places) put(path []string, label, value token.Pos) {
	if _, ok := p.at[key(path)]; !ok {
		p.at[key(path)] = place{label, value}
	}
}

func (p *places) decls(path []string, decls []ast.Decl) {
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

func (p *places) field(path []string, f *ast.Field) {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		if l, ok := a.Expr.(ast.Label); ok {
			label = l
		}
	}
	name, isIdent, err := ast.LabelName(label)
	if err != nil || isIdent && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")) {
		return
	}
	at := append(path[:len(path):len(path)], name)
	p.put(at, f.Label.Pos(), f.Value.Pos())
	p.expr(at, f.Value)
}

func (p *places) expr(path []string, e ast.Expr) {
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

// find returns the place of path, or of its nearest written parent.
func (p *places) find(path []string) place {
	for n := len(path); n >= 0; n-- {
		if at, ok := p.at[key(path[:n])]; ok {
			return at
		}
	}
	return place{}
}

func (p *places) label(path ...string) spec.Position { return p.shown(p.find(path).label) }
func (p *places) value(path ...string) spec.Position { return p.shown(p.find(path).value) }

// shown returns pos relative to the working folder if that is shorter.
func (p *places) shown(pos token.Pos) spec.Position {
	if !pos.IsValid() {
		return spec.Position{}
	}
	return spec.Position{File: p.file(pos.Filename()), Line: pos.Line(), Col: pos.Column()}
}

func (p *places) file(name string) string {
	if p.cwd == "" || strings.HasPrefix(name, embedded) {
		return name
	}
	if rel, err := filepath.Rel(p.cwd, name); err == nil && rel != "." && len(rel) < len(name) {
		return rel
	}
	return name
}
