// Package nested finds the specs that extend the one of a folder above them: what
// their text says, which folders may hold them, and which names folders may have.
// It evaluates nothing and writes nothing. Call Extends and Folders.
package nested

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
)

// Extends returns the folder that a project's spec extends, as written, and the
// line; "" for a project in its own right. It parses text and evaluates nothing:
// the error is about text that does not parse, or an extends that is not a plain
// text.
func Extends(text []byte) (folder string, line int, err error) {
	if !bytes.Contains(text, []byte("extends")) {
		return "", 0, nil
	}
	f, err := parser.ParseFile("", text)
	if err != nil {
		return "", 0, err
	}
	for _, d := range field(f.Decls, "project") {
		found := field(fieldsOf(d.Value), "extends")
		if len(found) == 0 {
			continue
		}
		line = found[0].Pos().Line()
		if lit, ok := found[0].Value.(*ast.BasicLit); ok {
			if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
				return s, line, nil
			}
		}
		return "", line, errors.New("want extends to be a plain text")
	}
	return "", 0, nil
}

// field returns the fields called name.
func field(decls []ast.Decl, name string) []*ast.Field {
	var out []*ast.Field
	for _, d := range decls {
		if f, ok := d.(*ast.Field); ok {
			if got, _, err := ast.LabelName(f.Label); err == nil && got == name {
				out = append(out, f)
			}
		}
	}
	return out
}

func fieldsOf(e ast.Expr) []ast.Decl {
	if s, ok := e.(*ast.StructLit); ok {
		return s.Elts
	}
	return nil
}

// Folders returns the folders below root that a pattern names, sorted, with
// slashes. A folder that a link leads to is not among them, nor is one inside it.
func Folders(root, pattern string) ([]string, error) {
	dirs := []string{""}
	for part := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range dirs {
			if !strings.ContainsAny(part, `*?[\`) {
				at := path.Join(dir, part)
				if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(at))); err == nil && info.IsDir() {
					next = append(next, at)
				}
				continue
			}
			entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if ok, _ := path.Match(part, e.Name()); ok && e.IsDir() && (e.Name()[0] != '.' || part[0] == '.') {
					next = append(next, path.Join(dir, e.Name()))
				}
			}
		}
		dirs = next
	}
	return dirs, nil
}

// Unfit says why rules cannot be limited to a folder; "" if they can.
func Unfit(folder string) string {
	switch {
	case folder == ".":
		return "is the project's root, whose bundles stand under bundles and teams"
	case path.IsAbs(folder) || path.Clean(folder) != folder || folder == ".." || strings.HasPrefix(folder, "../"):
		return "is no plain path of a folder below this spec's, with slashes, such as packages/api"
	case strings.ContainsAny(folder, "*?[]{}!#,\\\"'`") || strings.ContainsFunc(folder, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "holds a character that programs read as a part of a pattern"
	}
	return ""
}
