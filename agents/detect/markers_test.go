package detect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
)

// Only this package and the catalog, which is data, name the variables that the
// programs set.
func TestOnlyDetectNamesMarkers(t *testing.T) {
	markers := map[string]bool{}
	for _, rt := range catalog.Runtimes() {
		for _, m := range rt.Detect.Markers {
			markers[m.Name] = true
		}
		for _, name := range rt.Session.IDVars {
			markers[name] = true
		}
	}
	for _, name := range []string{"GT_RUNTIME", "GT_SESSION_ID", "GT_STALL_THRESHOLD", "GT_NUDGE_INTERVAL", "GT_GUPP_STRATEGY"} {
		markers[name] = true
	}
	delete(markers, "AGENT") // as a word it is also the head of a column
	here, looked := 0, 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin" || name == "../../catalog"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		own := strings.HasPrefix(name, "../../agents/detect/") || name == d.Name()
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		looked++
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !markers[text] {
				return true
			}
			if own {
				here++
			} else {
				t.Errorf("%s looks for %s; ask package detect", name, text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if here == 0 || looked < 100 {
		t.Errorf("found %d markers here, in %d files: this test sees nothing", here, looked)
	}
}
