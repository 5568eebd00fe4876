package frontmatter

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBelow(t *testing.T) {
	for pattern, want := range map[string]string{
		"**/*.go":           "p/api/**/*.go",
		"*.go":              "p/api/**/*.go",
		"/*.go":             "p/api/*.go",
		"./src/*.go":        "p/api/src/*.go",
		"/src/*.go":         "p/api/src/*.go",
		"src/**":            "p/api/src/**",
		"src/a.go":          "p/api/src/a.go",
		"src/":              "p/api/**/src/**",
		"/src/":             "p/api/src/**",
		"src":               "p/api/**/src p/api/**/src/**",
		"/src":              "p/api/src",
		"Makefile":          "p/api/**/Makefile p/api/**/Makefile/**",
		"a.go":              "p/api/**/a.go",
		"**":                "p/api/**",
		"**/*":              "p/api/**",
		"*.{ts,tsx}":        "p/api/**/*.{ts,tsx}",
		"{src,test}/**":     "p/api/{src,test}/**",
		"{src/*.go,*.md}":   "p/api/src/*.go p/api/**/*.md",
		"{a/{b,c},d.go}":    "p/api/a/{b,c} p/api/**/d.go",
		"!src/gen.go":       "!p/api/src/gen.go",
		"!*.pb.go":          "!p/api/**/*.pb.go",
		"../x.go":           "p/api/../x.go",
		"{open/x":           "p/api/{open/x",
		"deep/**/testdata/": "p/api/deep/**/testdata/**",
	} {
		if got := strings.Join(Below("p/api", pattern), " "); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

func TestIgnoreBelow(t *testing.T) {
	for line, want := range map[string]string{
		"*.elc": "p/**/*.elc", "build": "p/**/build", "build/": "p/**/build/", "/dist/": "p/dist/", "a/b": "p/a/b", "!keep.log": "!p/**/keep.log", "*": "p/**",
	} {
		if got := IgnoreBelow("p", line); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

func TestScopeTo(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"always": {"# A\ntext\n", "---\npaths:\n  - \"p/a/**\"\n  - \"q/**\"\n---\n# A\ntext\n"},
		"scoped, other fields stay": {
			"---\n# why\ndescription: d # x\npaths:\n- \"*.go\"\n- /a/b\nruntimes: [claude]\n---\n# A\n",
			"---\n# why\ndescription: d # x\nruntimes: [claude]\npaths:\n  - \"p/a/**/*.go\"\n  - \"p/a/a/b\"\n  - \"q/**/*.go\"\n  - \"q/a/b\"\n---\n# A\n",
		},
		"Cursor's, CRLF":    {"---\r\nglobs: *.go\r\nalwaysApply: false\r\n---\r\n# A\r\n", "---\r\npaths:\r\n  - \"p/a/**/*.go\"\r\n  - \"q/**/*.go\"\r\n---\r\n# A\r\n"},
		"every file":        {"---\napplyTo: \"**\"\n---\n# A\n", "---\npaths:\n  - \"p/a/**\"\n  - \"q/**\"\n---\n# A\n"},
		"a list on lines":   {"---\npaths: [\n  \"*.go\",\n]\ndescription: d\n---\n# A\n", "---\ndescription: d\npaths:\n  - \"p/a/**/*.go\"\n  - \"q/**/*.go\"\n---\n# A\n"},
		"one line of YAML":  {"---\n{paths: [\"*.go\"], description: d}\n---\n# A\n", "---\ndescription: \"d\"\npaths:\n  - \"p/a/**/*.go\"\n  - \"q/**/*.go\"\n---\n# A\n"},
		"on request":        {"---\ndescription: d\nalwaysApply: false\n---\n# A\n", "---\ndescription: d\nalwaysApply: false\n---\n# A\n"},
		"manual":            {"---\nalwaysApply: false\n---\n# A\n", "---\nalwaysApply: false\n---\n# A\n"},
		"no end":            {"---\n# A\n", "---\npaths:\n  - \"p/a/**\"\n  - \"q/**\"\n---\n---\n# A\n"},
		"broken":            {"---\npaths: [\n---\n# A\n", "---\npaths:\n  - \"p/a/**\"\n  - \"q/**\"\n---\n---\npaths: [\n---\n# A\n"},
		"a byte order mark": {"\uFEFF# A\n", "\uFEFF---\npaths:\n  - \"p/a/**\"\n  - \"q/**\"\n---\n# A\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ScopeTo([]string{"p/a", "q"}, []byte(test.text))
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
			before, _ := ReadRule([]byte(test.text))
			after, err := ReadRule(got)
			if kind := map[Kind]Kind{Always: Scoped, Scoped: Scoped, OnRequest: OnRequest, Manual: Manual}[before.Kind]; after.Kind != kind || err != nil {
				t.Errorf("kind %d, want %d: %v", after.Kind, kind, err)
			}
			if after.Description != before.Description || !slices.Equal(after.Runtimes, before.Runtimes) {
				t.Errorf("%+v, was %+v", after, before)
			}
		})
	}
}
