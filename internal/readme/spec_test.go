package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var field = regexp.MustCompile(`(?m)^\s*(?:#\w+:\s*)?([a-z]\w*)[?!]:`)

func TestSchemaFieldsAreDocumented(t *testing.T) {
	files, _ := filepath.Glob("../../schema/*.cue")
	seen := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page := "docs/spec.md"
		if filepath.Base(name) == "task.cue" {
			page = "docs/taskfiles.md"
		}
		doc, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range field.FindAllStringSubmatch(string(text), -1) {
			seen++
			if !documented(string(doc), m[1]) {
				t.Errorf("%s says nothing of %s (%s)", page, m[1], filepath.Base(name))
			}
		}
	}
	if seen < 60 {
		t.Fatalf("found only %d fields in %d files of the schema", seen, len(files))
	}
}

// documented reports whether a table names the field in code.
func documented(doc, field string) bool {
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "|") && regexp.MustCompile("`[^`]*\\b"+field+"\\b[^`]*`").MatchString(line) {
			return true
		}
	}
	return false
}
