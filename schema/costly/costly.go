// Package costly tells which specs need a limit on memory before they are
// evaluated. It reads texts and evaluates nothing. Call AllocatesAtOnce.
package costly

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// AllocatesAtOnce reports whether a spec can allocate much memory in one step,
// during which no watcher in the same process runs: with interpolations, sums
// and products, which repeat texts and lists, and CUE's packages. Imports of ours do not
// count. It is false for a file with errors, which is not evaluated.
func AllocatesAtOnce(text []byte, ours ...string) bool {
	if !bytes.ContainsAny(text, "(+*") && !bytes.Contains(text, []byte("import")) {
		return false
	}
	f, err := parser.ParseFile("", text)
	if err != nil {
		return false
	}
	found := false
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Interpolation:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.MUL || n.Op == token.ADD
		case *ast.ImportSpec:
			path, err := strconv.Unquote(n.Path.Value)
			path, _, _ = strings.Cut(path, ":")
			found = found || err != nil || !slices.Contains(ours, path)
		}
		return !found
	}, nil)
	return found
}
