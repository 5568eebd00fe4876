package edit

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"aisync.dev/aisync/schema/spec"
)

// occurrence is one place where a path is written.
type occurrence struct {
	file  *file
	field *ast.Field   // the last of the path
	chain []*ast.Field // from the declaration in its struct, through "a: b: c:", to field
	depth int          // number of names of the path before chain[0]
	in    *block       // the struct with chain[0]
}

func (s occurrence) pos() spec.Position { return s.file.position(s.field.Label) }

// block is a struct between { and }, or the top of a file.
type block struct {
	open, shut int // offsets of { and }; -1 at the top of a file
	decls      []ast.Decl
}

// find returns the fields written at path, in all files.
func (e *Files) find(path []string) []occurrence {
	var out []occurrence
	if len(path) == 0 {
		return nil
	}
	for _, f := range e.files {
		f.walk(path, 0, &block{-1, -1, f.ast.Decls}, nil, f.ast.Decls, func(s occurrence) { out = append(out, s) })
	}
	return out
}

// walk finds path[at:] among decls; chain leads from in to decls.
func (f *file) walk(path []string, at int, in *block, chain []*ast.Field, decls []ast.Decl, found func(occurrence)) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.EmbedDecl:
			f.walkValue(path, at, in, nil, d.Expr, found)
		case *ast.Field:
			if name, ok := labelOf(d); !ok || name != path[at] {
				continue
			}
			chain := append(chain[:len(chain):len(chain)], d)
			if at+1 == len(path) {
				found(occurrence{f, d, chain, at + 1 - len(chain), in})
				continue
			}
			f.walkValue(path, at+1, in, chain, d.Value, found)
		}
	}
}

func (f *file) walkValue(path []string, at int, in *block, chain []*ast.Field, value ast.Expr, found func(occurrence)) {
	switch v := value.(type) {
	case *ast.StructLit:
		if b := blockOf(v); b != nil {
			f.walk(path, at, b, nil, v.Elts, found)
		} else {
			f.walk(path, at, in, chain, v.Elts, found)
		}
	case *ast.BinaryExpr:
		f.walkValue(path, at, in, nil, v.X, found)
		f.walkValue(path, at, in, nil, v.Y, found)
	case *ast.ParenExpr:
		f.walkValue(path, at, in, nil, v.X, found)
	}
}

// blockOf returns v as a struct between braces; nil for the value of "a: b: c".
func blockOf(v *ast.StructLit) *block {
	if !v.Lbrace.IsValid() || !v.Rbrace.IsValid() {
		return nil
	}
	return &block{v.Lbrace.Offset(), v.Rbrace.Offset(), v.Elts}
}

// labelOf returns the name of a regular field.
func labelOf(f *ast.Field) (string, bool) {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		l, ok := a.Expr.(ast.Label)
		if !ok {
			return "", false
		}
		label = l
	}
	name, isIdent, err := ast.LabelName(label)
	if err != nil || isIdent && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")) {
		return "", false
	}
	return name, true
}

func isString(x ast.Expr, want string) bool {
	lit, ok := x.(*ast.BasicLit)
	if !ok {
		return false
	}
	got, err := literal.Unquote(lit.Value)
	return err == nil && got == want
}
