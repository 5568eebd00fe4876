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

func TestPatternsAreReadFromTheLineThatNamesThem(t *testing.T) {
	tests := map[string]struct {
		text, title string
		globs       []string
		wrong       bool
	}{
		"backquotes":   {"# A\nApplies to: `*.go`, and `cmd/**`\n", "A", []string{"*.go", "cmd/**"}, false},
		"bare":         {"# A\nApplies to: *.go, *.mod\n", "A", []string{"*.go", "*.mod"}, false},
		"every file":   {"# A\nApplies to: `**/*`\n", "A", nil, false},
		"front matter": {"---\npaths: [x]\n# no title\n---\n# B\r\nApplies to: `y`\n", "B", []string{"x"}, false},
		"always":       {"---\nglobs: x\nalwaysApply: true\n---\n# B\n", "B", nil, false},
		"none":         {"text\n", "", nil, false},
		"open front":   {"---\n# C\n", "C", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := ReadRule([]byte(test.text))
			if r.Title != test.title || !slices.Equal(r.Globs, test.globs) || (err != nil) != test.wrong {
				t.Errorf("got %+v %v, want %+v", r, err, test)
			}
		})
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
