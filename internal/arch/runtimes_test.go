package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
)

// namesARuntime are the files that may name a runtime of the catalog, or its
// program, and why that is no field of its entry. A folder ends with a slash.
var namesARuntime = map[string]string{
	"adapter/render/shape.go": "the names of the forms that entries choose by shape; several programs have the form of one",
	"app/nativeplugin/":       "the schema lets one program take plugins whole, and this is about its files of them",
	"app/gather/":             "the layouts that import reads, older ones among them, and its words for them",
	"internal/bundle/part.go": "the folder of the old layout of bundles",

	"internal/bundle/plugin/hooks.go": "the program whose words the hooks.json of a plugin has, whatever else reads it",
}

// A runtime is one file in catalog/runtimes: what the program does for it, it
// does by what stands there.
func TestOnlyTheCatalogNamesRuntimes(t *testing.T) {
	names := map[string]bool{}
	for _, r := range catalog.Runtimes() {
		names[r.ID], names[r.Command] = true, r.Command != ""
	}
	if len(names) < 12 {
		t.Fatalf("the catalog has only %d names", len(names))
	}
	product := reach(ourPackages(t), "cmd/aisync")
	used := map[string]bool{}
	looked := 0
	goFiles(t, func(file string, src []byte) {
		if _, linked := product[path.Dir(file)]; !linked && !in(file, "adapter") || strings.HasSuffix(file, "_test.go") || in(file, "catalog") {
			return
		}
		looked++
		for _, name := range literals(t, src) {
			if !names[name.text] {
				continue
			}
			if at := exempt(file); at != "" {
				used[at] = true
			} else {
				t.Errorf("%s:%d names the runtime %q: make it a field of its entry in catalog/runtimes", file, name.line, name.text)
			}
		}
	})
	if looked < 300 {
		t.Errorf("looked at %d files of the product only", looked)
	}
	for at := range namesARuntime {
		if !used[at] {
			t.Errorf("%s names no runtime: it needs no exception", at)
		}
	}
}

func exempt(file string) string {
	for at := range namesARuntime {
		if file == at || strings.HasSuffix(at, "/") && strings.HasPrefix(file, at) {
			return at
		}
	}
	return ""
}

// literal is one string of a file, and where it stands.
type literal struct {
	text string
	line int
}

func literals(t *testing.T, src []byte) (out []literal) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, literal{text, set.Position(lit.Pos()).Line})
			}
		}
		return true
	})
	return out
}
