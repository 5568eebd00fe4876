package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// named are commands of ours, and flags where a sentence has them: a literal that
// is a flag alone is an argument of some other program.
var named = regexp.MustCompile(`\baisync (add|adopt|apply|destroy|doctor|drift|lock|models|plan|prune|remove|rollback|runtimes|services|status|update|validate)\b|(?:^| )--(adopt|copy|exclude|force|keep-going|lock-timeout|merge|offline|project|restore|target|trust|update)\b`)

// The engine, the providers and the fetchers say what is wrong; what to type
// about it stands in internal/advice.
func TestTextsOfTheEngineNameNoCommand(t *testing.T) {
	found := 0
	goFiles(t, func(path string, src []byte) {
		tree := in(path, "reconcile", "providers", "internal/fetch")
		if !tree && path != "internal/advice/steps.go" || strings.HasSuffix(path, "_test.go") || in(path, "providers/providertest") {
			return
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || strings.HasPrefix(text, "--") && !strings.Contains(text, " ") || !named.MatchString(text) {
				return true
			}
			if !tree {
				found++
				return true
			}
			t.Errorf("%s:%d: %q names a command or a flag: put it into internal/advice", path, files.Position(lit.Pos()).Line, text)
			return true
		})
	})
	if found == 0 {
		t.Error("internal/advice/steps.go names no command: this test looks for the wrong thing")
	}
}
