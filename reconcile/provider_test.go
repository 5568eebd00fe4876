package reconcile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a kind may implement is found in one place: the comment of Provider.
func TestProviderListsItsOptionalInterfaces(t *testing.T) {
	required := []string{"Provider", "Body", "Runner", "Fetcher"} // of every provider or body, or given to it
	declared, listed := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, filepath.Join("resource", "declaration.go")) { // the last declares Body
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				ts := s.(*ast.TypeSpec)
				if _, ok := ts.Type.(*ast.InterfaceType); !ok || !ts.Name.IsExported() {
					continue
				}
				declared[ts.Name.Name] = true
				if ts.Name.Name == "Provider" {
					for _, m := range regexp.MustCompile(`\[(\w+)\]`).FindAllStringSubmatch(g.Doc.Text(), -1) {
						listed[m[1]] = true
					}
				}
			}
		}
	}
	for _, name := range required {
		if !declared[name] {
			t.Errorf("%s is no interface of this package", name)
		}
		listed[name] = true
	}
	if got, want := slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(declared)); !slices.Equal(got, want) {
		t.Errorf("the comment of Provider lists %q, with those that are required; declared are %q", got, want)
	}
}
