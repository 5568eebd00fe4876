package providertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// described are the fields of Suite that tell what is tested. Each of the
// others exempts a suite from a promise; so does a Block that is nil.
var described = []string{"Provider", "Address", "Project", "Format", "Fetch", "Run", "Prepare", "Want", "Put", "Get"}

// interfaces are what a provider implements that exempts it, by a method.
var interfaces = map[string]string{"NotUndone": "Permanent", "Sole": "Sole"}

// The table of docs/guarantees.md names each exemption and the packages that
// have it, and no other.
func TestExemptionsAreTabled(t *testing.T) {
	used := map[string]map[string]bool{}
	add := func(what, pkg string) {
		if used[what] == nil {
			used[what] = map[string]bool{}
		}
		used[what][pkg] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Suite]()) {
		if !slices.Contains(described, f.Name) {
			used[f.Name] = map[string]bool{}
		}
	}
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || filepath.Dir(p) == filepath.Join("..", "providertest") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.Base(filepath.Dir(p))
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if what, ok := interfaces[n.Name.Name]; ok && n.Recv != nil {
					add(what, pkg)
				}
			case *ast.CompositeLit:
				if name, ok := n.Type.(*ast.SelectorExpr); !ok || name.Sel.Name != "Suite" {
					return true
				}
				block := false
				for _, e := range n.Elts {
					field := e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name
					block = block || field == "Block"
					if field != "Block" && !slices.Contains(described, field) {
						add(field, pkg)
					}
				}
				if !block {
					add("Block", pkg)
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if s, ok := left.(*ast.SelectorExpr); ok && used[s.Sel.Name] != nil && s.Sel.Name != "Block" && strings.HasSuffix(p, "_test.go") {
						add(s.Sel.Name, pkg)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (?:no )?`(\\w+)` \\|[^|]+\\|([^|]+)\\|$")
	tabled := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		var named []string
		for _, w := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[2], -1) {
			named = append(named, w[1])
		}
		slices.Sort(named)
		if has := slices.Sorted(maps.Keys(used[m[1]])); !slices.Equal(slices.Compact(named), has) {
			t.Errorf("%s: docs/guarantees.md names %q, the suites of %q have it", m[1], named, has)
		}
		tabled[m[1]] = true
	}
	for what, by := range used {
		if !tabled[what] {
			t.Errorf("%s is not in the table of docs/guarantees.md", what)
		}
		if len(by) == 0 {
			t.Errorf("no suite needs %s: remove it", what)
		}
	}
}
