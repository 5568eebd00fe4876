package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxLines   = 400  // of one file
	maxTest    = 500  // of one file of tests
	maxMain    = 600  // lines of package main: a list of commands
	maxPackage = 4000 // lines of one package, tests aside
)

// goFiles calls f for every Go file of the module that a person wrote.
func goFiles(t *testing.T, f func(path string, src []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !bytes.Contains(src[:min(len(src), 300)], []byte("// Code generated ")) {
			rel, _ := filepath.Rel(root, p)
			f(filepath.ToSlash(rel), src)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileLengths(t *testing.T) {
	goFiles(t, func(path string, src []byte) {
		limit := maxLines
		if strings.HasSuffix(path, "_test.go") {
			limit = maxTest
		}
		if n := bytes.Count(src, []byte("\n")); n > limit {
			t.Errorf("%s has %d lines, the limit is %d: it holds more than one idea", path, n, limit)
		}
	})
}

func TestPackageLengths(t *testing.T) {
	lines := map[string]int{}
	goFiles(t, func(path string, src []byte) {
		if dir := filepath.Dir(path); !strings.HasSuffix(path, "_test.go") {
			lines[dir] += bytes.Count(src, []byte("\n"))
		}
	})
	for dir, n := range lines {
		limit := maxPackage
		if dir == "cmd/aisync" {
			limit = maxMain
		}
		if n > limit {
			t.Errorf("%s has %d lines, the limit is %d: it holds more than one idea", dir, n, limit)
		}
	}
}

// Registries are explicit lists, so that a reader finds who takes part.
// The inits of quick are no registries: they answer before the packages that
// begin later have begun, which is what they are for.
func TestNoInitFunctions(t *testing.T) {
	goFiles(t, func(path string, src []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !strings.HasPrefix(path, "cmd/aisync/quick/") {
				t.Errorf("%s has func init", path)
			}
		}
	})
}

// git runs what a repository names unless it is told not to, in many words.
func TestOnlyGitrepoStartsGit(t *testing.T) {
	found := 0
	goFiles(t, func(path string, src []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, ok := call.Fun.(*ast.SelectorExpr); !ok || name.Sel.Name != "Command" && name.Sel.Name != "CommandContext" {
				return true
			}
			for _, arg := range call.Args {
				if lit, ok := arg.(*ast.BasicLit); ok && lit.Value == `"git"` {
					if strings.HasPrefix(path, "internal/gitrepo/") {
						found++
					} else {
						t.Errorf("%s starts git by itself: internal/gitrepo does", path)
					}
				}
			}
			return true
		})
	})
	if found == 0 {
		t.Error("internal/gitrepo starts no git: this test looks for the wrong thing")
	}
}
