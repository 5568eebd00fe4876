// Package layers reads the files of a host's spec, and of the bases that it extends, one
// through the other. It evaluates nothing, fetches nothing and writes nothing. Call
// HostFiles, then Reader.Of.
package layers

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/internal/fetch/address"
)

// Fields are the fields at the top of a host's spec that each of the specs that extend
// each other has for itself.
var Fields = []string{"extends", "policy"}

// Most is how many bases a spec may extend, one through the other.
const Most = 5

// Extends returns the address that the file of a spec extends, and where that stands;
// "" for none. The error is about an extends that is not a plain text; text that does
// not parse extends nothing.
func Extends(path string, text []byte) (string, token.Pos, error) {
	f := field(path, text, "extends")
	if f == nil {
		return "", token.NoPos, nil
	}
	if lit, ok := f.Value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
			return s, lit.Pos(), nil
		}
	}
	return "", f.Value.Pos(), errors.New("want extends to be a plain text: it is read before the rest is evaluated")
}

// Has reports whether a file of l has a field of that name at its top.
func (l Layer) Has(name string) bool {
	return slices.ContainsFunc(l.Files, func(f File) bool { return field(f.Parsed(), f.Text, name) != nil })
}

func field(path string, text []byte, name string) *ast.Field {
	if !bytes.Contains(text, []byte(name)) {
		return nil
	}
	f, err := parser.ParseFile(path, text)
	if err != nil {
		return nil
	}
	for _, d := range f.Decls {
		if isField(d, name) {
			return d.(*ast.Field)
		}
	}
	return nil
}

func isField(d ast.Decl, name string) bool {
	f, ok := d.(*ast.Field)
	if !ok || f.Constraint != token.ILLEGAL { // extends?: says what one may be
		return false
	}
	got, _, err := ast.LabelName(f.Label)
	return err == nil && got == name
}

// Strip removes Fields from a file: bases and what extends them differ there.
func Strip(f *ast.File) {
	kept := f.Decls[:0:0]
	for _, d := range f.Decls {
		own := false
		for _, name := range Fields {
			own = own || isField(d, name)
		}
		if !own {
			kept = append(kept, d)
		}
	}
	f.Decls = kept
}

// Name is the address of a base without the version of it that is asked for.
func Name(url string) string {
	root, folder := address.Split(url)
	root, _, _ = strings.Cut(root, "?")
	if scheme, image, ok := strings.Cut(root, "://"); ok && address.IsArtifact(root) {
		at, _, _ := strings.Cut(image, "@")
		if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexByte(at, '/') {
			at = at[:i]
		}
		root = scheme + "://" + at
	}
	return address.Short(address.Join(root, folder))
}

// Shown names a file of the base at url for a person.
func Shown(url, file string) string {
	name := Name(url)
	_, folder := address.Split(name)
	if folder == "" {
		return name + "//" + file
	}
	return name + "/" + file
}
