// Package costly tells which specs need a limit on memory before they are
// evaluated, and which are too deep for that. It reads texts and evaluates nothing.
// Call AllocatesAtOnce.
package costly

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/scanner"
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
	if _, deep := TooDeep("", text); deep {
		return false // and is refused
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

// most is how many words of an expression may follow each other without a comma, which
// a line's end is too. Each can nest in the one before. CUE's parser bounds brackets
// alone, and walks what it has read: a sum of four million terms takes gigabytes.
const most = 20_000

// Deep says what is wrong where TooDeep is true.
const Deep = "nests too deeply to be evaluated: more than 20,000 words of one expression"

// TooDeep reports whether the text of the file called name nests deeper than CUE can
// read, and where.
func TooDeep(name string, text []byte) (at token.Pos, deep bool) {
	if len(text) <= most {
		return at, false
	}
	var s scanner.Scanner
	s.Init(token.NewFile(name, -1, len(text)), text, nil, 0)
	for run := 0; run <= most; run++ {
		pos, kind, _ := s.Scan()
		if run == 0 {
			at = pos
		}
		switch kind {
		case token.EOF:
			return at, false
		case token.COMMA:
			run = -1
		}
	}
	return at, true
}
