package loads

import (
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle/lint"
	"aisync.dev/aisync/schema/spec"
)

// What lint tells authors about patterns holds for the programs of the catalog:
// they disagree on a pattern that it warns of, and agree on any other.
func TestCommonPatterns(t *testing.T) {
	dialects := map[spec.Globs]string{}
	for _, r := range catalog.Runtimes() {
		if r.Loads == nil {
			continue
		}
		for _, text := range r.Loads.Texts {
			if text.Scope != nil {
				dialects[text.Scope.Globs] = r.ID
			}
		}
	}
	if len(dialects) < 3 {
		t.Fatalf("dialects of %v", dialects)
	}
	agree := func(pattern string) bool {
		for _, rel := range []string{"a.go", "b.go", "Makefile", "src/a.go", "src/b.go", "src/deep/a.go", "lib/src/a.go", "lib/Makefile", "lib/a.ts", "on/src"} {
			yes, no := "", ""
			for g, id := range dialects {
				if matches(g, []string{pattern}, rel) {
					yes = id
				} else {
					no = id
				}
			}
			if yes != "" && no != "" {
				return false
			}
		}
		return true
	}
	for _, pattern := range []string{"./src/a.go", "/src/*.go", "src/", "/src/", "*.go", "a.go", "Makefile", "src", "*.{go,ts}", "?.go"} {
		next, why := lint.CommonPattern(pattern)
		if why == "" || agree(pattern) {
			t.Errorf("%q: lint says %q, and programs agree: %t", pattern, why, agree(pattern))
		}
		for form := range strings.SplitSeq(strings.TrimSuffix(next, " if it is a folder"), ", or ") {
			if form == "**/src" {
				continue // for a file of that name; here it is a folder
			}
			if _, why := lint.CommonPattern(form); why != "" || !agree(form) {
				t.Errorf("%q: lint advises %q, on which programs do not agree (%s)", pattern, form, why)
			}
		}
	}
	for _, pattern := range []string{"src/**", "src/*.go", "src/a.go", "**/*.go", "**/*.{go,ts}", "**/Makefile", "{src,lib}/**", "src/**/*.go"} {
		if _, why := lint.CommonPattern(pattern); why != "" || !agree(pattern) {
			t.Errorf("%q: lint says %q, and programs agree: %t", pattern, why, agree(pattern))
		}
	}
}
