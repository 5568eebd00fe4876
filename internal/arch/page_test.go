package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inBackquotes = regexp.MustCompile("`([^`]+)`")
	folderLike   = regexp.MustCompile(`^[a-z]+(/[a-z]+)+$`)
	codeLike     = regexp.MustCompile(`^[A-Z][A-Za-z]*(\.[A-Z][A-Za-z]*)?$`)
)

// A row of the second table names a folder and then what is declared in it.
func TestArchitecturePageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	folders, names := 0, 0
	for n, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var declared map[string]bool
		for _, m := range inBackquotes.FindAllStringSubmatch(line, -1) {
			dir := filepath.Join("..", "..", filepath.FromSlash(m[1]))
			info, err := os.Stat(dir)
			switch {
			case err == nil && info.IsDir():
				declared, folders = declaredIn(t, dir), folders+1
			case folderLike.MatchString(m[1]):
				t.Errorf("line %d: there is no folder %s", n+1, m[1])
			case codeLike.MatchString(m[1]) && declared != nil:
				names++
				if !declared[m[1]] {
					t.Errorf("line %d: %s is not declared there", n+1, m[1])
				}
			}
		}
	}
	if folders < 30 || names < 15 {
		t.Errorf("only %d folders and %d names were found", folders, names)
	}
}

// declaredIn returns the functions, methods and types of a package.
func declaredIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				out[receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						out[s.Name.Name] = true
					}
				}
			}
		}
	}
	return out
}

// receiver is the type of a method with a dot behind it, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}
