package frontmatter

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrontMatterIsCutFromItsText(t *testing.T) {
	tests := map[string]struct {
		text, front, body string
		ok                bool
	}{
		"none":         {"# A\n---\n", "", "# A\n---\n", false},
		"some":         {"---\nname: a\n---\n# A\n", "name: a\n", "# A\n", true},
		"empty":        {"---\n---\n# A\n", "", "# A\n", true},
		"CRLF":         {"---\r\nname: a\r\n---\r\n# A\r\n", "name: a\r\n", "# A\r\n", true},
		"byte order":   {"\uFEFF---\nname: a\n---\nB", "name: a\n", "B", true},
		"nothing else": {"---\nname: a\n---", "name: a\n", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			front, body, ok, err := Split([]byte(test.text))
			if err != nil || ok != test.ok || string(front) != test.front || string(body) != test.body {
				t.Errorf("%q %q %v %v", front, body, ok, err)
			}
		})
	}
}

func TestErrorNamesLine(t *testing.T) {
	_, body, ok, err := Split([]byte("---\nname: a\n# A\n"))
	var e *Error
	if ok || !errors.As(err, &e) || e.Line != 1 || string(body) != "---\nname: a\n# A\n" {
		t.Errorf("no end: %q %v %v", body, ok, err)
	}
	_, err = Parse([]byte("name: a\nother: *x\nb: c\n"))
	if !errors.As(err, &e) || strings.Contains(e.Reason, "\n") {
		t.Errorf("an alias: %v", err)
	}
	_, err = Parse([]byte("name: a\nb: [\n"))
	if !errors.As(err, &e) || e.Line != 3 {
		t.Errorf("an open list: %v", err)
	}
	if _, err = Parse([]byte("- a\n")); !errors.As(err, &e) {
		t.Errorf("a list: %v", err)
	}
}

func TestPatternsNeedNoQuotes(t *testing.T) {
	f, err := Parse([]byte("globs: *.ts,*'s.tsx \r\nalwaysApply: false\r\n"))
	if got := f.List("globs"); err != nil || len(got) != 2 || got[1] != "*'s.tsx" {
		t.Errorf("%q %v", got, err)
	}
}

func TestAListMayBeATextWithCommas(t *testing.T) {
	f, err := Parse([]byte("a: [x, \"y z\", x]\nb: '**/*.{ts,tsx}, *.js,'\nc: 3\nd:\n  - q\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{"a": f.List("a"), "b": f.List("b"), "c": f.List("c"), "d": f.List("d"), "e": f.List("e")}
	want := map[string][]string{"a": {"x", "y z"}, "b": {"**/*.{ts,tsx}", "*.js"}, "c": nil, "d": {"q"}, "e": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRule(t *testing.T) {
	r, err := ReadRule([]byte("---\ndescription: \"Of C: all\"\nglobs: '*.c,*.h'\nruntimes: [claude]\n---\n# C\n"))
	if err != nil || r.Title != "C" || r.Description != "Of C: all" || len(r.Globs) != 2 || len(r.Runtimes) != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := ReadRule([]byte("---\nglobs: [\n---\n# C\n")); err == nil {
		t.Error("an alias that is none is not refused")
	}
}

func TestAppliesToIsProse(t *testing.T) {
	for text, want := range map[string]Rule{
		"# A\nApplies to: `*.go`\n":                                  {Title: "A"},
		"---\npaths: [x]\n# no title\n---\n# B\r\nApplies to: `y`\n": {Title: "B", Kind: Scoped, Globs: []string{"x"}},
		"---\nglobs: x\nalwaysApply: true\n---\n# B\n":               {Title: "B"},
		"text\n": {},
	} {
		if r, err := ReadRule([]byte(text)); err != nil || !cmp.Equal(r, want) {
			t.Errorf("%q: %+v %v, want %+v", text, r, err, want)
		}
	}
	if r, err := ReadRule([]byte("---\n# C\n")); err == nil || r.Title != "C" {
		t.Errorf("front matter without an end: %+v %v", r, err)
	}
}

func TestAppliesTo(t *testing.T) {
	tests := map[string]struct {
		text  string
		globs []string
		line  int
	}{
		"backquotes":   {"# A\nApplies to: `*.go`, and `cmd/**`\n", []string{"*.go", "cmd/**"}, 2},
		"bare":         {"# A\n\nApplies to: *.go, *.mod\n", []string{"*.go", "*.mod"}, 3},
		"every file":   {"# A\nApplies to: `**/*`\n", nil, 2},
		"empty":        {"# A\nApplies to:\nApplies to: `x`\n", nil, 2},
		"front matter": {"---\nApplies to: x\n---\n# B\r\nApplies to: `y`\r\n", []string{"y"}, 5},
		"no end":       {"Applies to: `y`", []string{"y"}, 1},
		"none":         {"text\n", nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if globs, line := AppliesTo([]byte(test.text)); !slices.Equal(globs, test.globs) || line != test.line {
				t.Errorf("%q, line %d; want %q, line %d", globs, line, test.globs, test.line)
			}
		})
	}
}

func TestScopeByProse(t *testing.T) {
	const line = "Applies to: `*.go`, `say \"x\"`\n"
	for text, want := range map[string]string{
		"# A\n" + line:                                          "---\npaths:\n  - \"*.go\"\n  - \"say \\\"x\\\"\"\n---\n# A\n" + line,
		"# A\r\n\r\nApplies to: x":                              "---\r\npaths:\r\n  - \"x\"\r\n---\r\n# A\r\n\r\nApplies to: x",
		"\uFEFF# A\nApplies to: x":                              "\uFEFF---\npaths:\n  - \"x\"\n---\n# A\nApplies to: x",
		"---\ndescription: d\n--- \nApplies to: x\n":            "---\ndescription: d\npaths:\n  - \"x\"\n--- \nApplies to: x\n",
		"\uFEFF---\r\n---\r\nApplies to: x\r\n":                 "\uFEFF---\r\npaths:\r\n  - \"x\"\r\n---\r\nApplies to: x\r\n",
		"---\npaths: [y]\n---\nApplies to: x\n":                 "",
		"---\nglobs:\nalwaysApply: false\n---\nApplies to: x\n": "",
		"---\nalwaysApply: true\n---\nApplies to: x\n":          "",
		"---\npaths: [\n---\nApplies to: x\n":                   "",
		"---\n# A\nApplies to: x\n":                             "",
		"# A\nApplies to: `**`, `x`\n":                          "",
		"# A\n":                                                 "",
	} {
		got := string(ScopeByProse([]byte(text)))
		if want == "" {
			want = text
		}
		if got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
		if again := string(ScopeByProse([]byte(got))); again != got {
			t.Errorf("%q becomes another text the second time: %q", got, again)
		}
	}
}

func TestKindIsTheAuthors(t *testing.T) {
	for text, want := range map[string]Kind{
		"# A\n":                              Always,
		"---\ndescription: d\n---\n# A\n":    Always,
		"---\npaths: [\"*.go\"]\n---\n# A\n": Scoped,
		"---\nglobs: \"*.go,*.mod\"\nalwaysApply: false\n---\n# A\n":        Scoped,
		"---\nglobs: \"*.go\"\nalwaysApply: true\n---\n# A\n":               Always,
		"---\napplyTo: \"**\"\n---\n# A\n":                                  Always,
		"---\nglobs: \"**\"\nalwaysApply: false\n---\n# A\n":                Always,
		"---\ndescription: d\nglobs:\nalwaysApply: false\n---\n# A\n":       OnRequest,
		"---\ndescription:\nglobs:\nalwaysApply: false\n---\n# A\n":         Manual,
		"---\r\ndescription: d\r\nglobs:\r\nalwaysApply: false\r\n---\r\nA": OnRequest,
	} {
		if r, err := ReadRule([]byte(text)); err != nil || r.Kind != want {
			t.Errorf("%q: kind %d, %v; want %d", text, r.Kind, err, want)
		}
	}
}
