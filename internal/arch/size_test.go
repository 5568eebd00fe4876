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
	maxLines = 500 // of one file
	maxFiles = 20  // of one package, tests aside: about a dozen is the aim
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

func TestNoFileIsLongerThanOneRoom(t *testing.T) {
	goFiles(t, func(path string, src []byte) {
		if n := bytes.Count(src, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, the limit is %d: it holds more than one idea", path, n, maxLines)
		}
	})
}

// cmd/aisync may have one file a command.
func TestNoPackageHoldsMoreFilesThanOneCanKnow(t *testing.T) {
	count := map[string]int{}
	goFiles(t, func(path string, _ []byte) {
		if dir := filepath.Dir(path); dir != "cmd/aisync" && !strings.HasSuffix(path, "_test.go") {
			count[dir]++
		}
	})
	for dir, n := range count {
		if n > maxFiles {
			t.Errorf("%s has %d files, the limit is %d", dir, n, maxFiles)
		}
	}
}

// Registries are explicit lists, so that a reader finds who takes part.
// The inits of quick are no registries: they answer before the packages that
// begin later have begun, which is what they are for.
func TestNothingRegistersItself(t *testing.T) {
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
