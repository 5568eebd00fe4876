package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`(Test\\w+|Fuzz\\w+)`")
	scriptName = regexp.MustCompile("`(\\w+\\.txtar)`")
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// A guarantee without a test is a hope.
func TestGuaranteesNameExistingTests(t *testing.T) {
	doc, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	err = filepath.WalkDir("../..", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin"):
			return fs.SkipDir
		case strings.HasSuffix(p, ".txtar"):
			have[d.Name()] = true
		case strings.HasSuffix(p, "_test.go") || strings.Contains(p, "providertest") && strings.HasSuffix(p, ".go"):
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
				have[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(doc), "\n## ")[1:]
	if len(sections) < 10 {
		t.Fatalf("found only %d guarantees", len(sections))
	}
	for _, s := range sections[:10] {
		title, _, _ := strings.Cut(s, "\n")
		named := append(testName.FindAllStringSubmatch(s, -1), scriptName.FindAllStringSubmatch(s, -1)...)
		if len(named) == 0 && !strings.Contains(s, "\nNot proved yet: ") {
			t.Errorf("%s: no test is named", title)
		}
		for _, m := range named {
			if !have[m[1]] {
				t.Errorf("%s: there is no %s", title, m[1])
			}
		}
	}
}
