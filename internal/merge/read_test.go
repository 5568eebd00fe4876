package merge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonicalIsOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":[1.0, 1e2]}`: `{"a":[1,100],"b":1}`,
		`-0.0`:                   `0`,
		`12.50`:                  `1.25e1`,
		`0.001`:                  `1e-3`,
		`1e400`:                  `1e400`,
		`123456789012345678901`:  `123456789012345678901`,
		`"\u0041<\/"`:            `"A</"`,
		` null `:                 `null`,
		`"a\n\t\r\\\"é — 😀<"`:    `"a\n\t\r\\\"é — 😀<"`,
		"\"a\u2028b…\"":          `"a\u2028b…"`,
		`"\b\u000b"`:             `"\b\u000b"`,
		`"\u000B\u0022"`:         `"\u000b\""`,
	} {
		got, err := Canonical(Value(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`"a"b"`, `"a\"`, `"a\x"`, `"`, "\"a\nb\"", "\"\xff\""} {
		if got, err := Canonical(Value(in)); err == nil {
			t.Errorf("%s is no JSON, got %s", in, got)
		}
	}
	if Equal(Value("9007199254740993"), Value("9007199254740992")) {
		t.Error("large integers that differ must not be equal")
	}
}

func TestFlattenGivesSortedLeaves(t *testing.T) {
	doc := `{
  "permissions": {"allow": ["Bash(b)", "Bash(a)", "Bash(b)"], "defaultMode": "plan"},
  "env": {"X": "1"}, "empty": {}, "list": [1, 2],
  "mcpServers": {"n": {"type": "stdio", "command": "c"}},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "s"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "timeout": 5, "command": "p"}]}]}
}`
	if _, err := Flatten([]byte(doc), Rules{Sets: []string{"/permissions/*"}, Hooks: "/hooks", Atomic: []string{"/mcpServers/*"}}); err == nil {
		t.Fatal("a set that is a string must be refused")
	}
	leaves, err := Flatten([]byte(doc), Rules{Sets: []string{"/permissions/allow", "/permissions/deny"}, Hooks: "/hooks", Atomic: []string{"/mcpServers/*"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range leaves {
		got = append(got, l.Key+" = "+string(l.Value))
	}
	want := []string{
		`/empty = {}`,
		`/env/X = "1"`,
		`/hooks/PreToolUse#{"matcher":"Bash","type":"command","command":"p"} = {"type":"command","timeout":5,"command":"p"}`,
		`/hooks/Stop#{"matcher":"","type":"command","command":"s"} = {"type":"command","command":"s"}`,
		`/list = [1,2]`,
		`/mcpServers/n = {"type":"stdio","command":"c"}`,
		`/permissions/allow#"Bash(a)" = "Bash(a)"`,
		`/permissions/allow#"Bash(b)" = "Bash(b)"`,
		`/permissions/defaultMode = "plan"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if leaves[0].Line != 3 {
		t.Errorf("line of %s is %d, want 3", leaves[0].Key, leaves[0].Line)
	}
	// What was flattened can be set and read back.
	var ops []Op
	for _, l := range leaves {
		ops = append(ops, Op{Key: l.Key, Value: l.Value})
	}
	if res := mustEdit(t, JSON, "", nil, ops...); !strings.Contains(string(res.Doc), `"timeout": 5`) {
		t.Errorf("got %s", res.Doc)
	}
}

func TestReadGivesValuesAndLines(t *testing.T) {
	for _, tt := range []struct {
		format         Format
		doc, key, want string
		line           int
	}{
		{JSON, claudeSettings, `/permissions/allow#"Bash(git status)"`, `"Bash(git status)"`, 5},
		{JSON, claudeSettings, HookKey("/hooks", "Stop", "", "prompt", "Are the tests green?"), `{"prompt":"Are the tests green?","type":"prompt"}`, 27},
		{JSON, claudeJSON, "/projects/~1home~1me~1a~2b/allowedTools", `[]`, 12},
		{JSONC, opencodeJSONC, "/provider/local/options/baseURL", `"http://127.0.0.1:8081/v1"`, 7},
		{TOML, codexConfig, "/projects/~1home~1me~1work/trust_level", `"trusted"`, 16},
		{TOML, codexConfig, "/profiles/fast/limits", `{"a":1,"b":{"$float":"inf"},"since":{"$datetime":"1979-05-27"}}`, 20},
		{TOML, codexConfig, "/mcp_servers/docs", `{"args":["-y","docs-mcp"],"command":"npx","env":{"NUM":"1","TOKEN":"x"}}`, 6},
		{TOML, codexConfig, `/notify#"codex"`, `"codex"`, 4},
		{Text, "a\r\n/x/\r\n", "line:/x/", "true", 2},
		{Markdown, "# T\n\n<!-- aisync:begin r -->\r\none\r\ntwo\r\n<!-- aisync:end r -->\n", "block:r", `"one\ntwo"`, 3},
	} {
		if _, err := Read(tt.format, []byte(tt.doc), []string{tt.key, "x-" + tt.key}); err == nil {
			t.Fatal("a key that is none was read")
		}
		got, err := Read(tt.format, []byte(tt.doc), []string{tt.key})
		if err != nil {
			t.Fatal(err)
		}
		if l := got[tt.key]; string(l.Value) != tt.want || l.Line != tt.line {
			t.Errorf("%s: got %s in line %d; want %s in %d", tt.key, l.Value, l.Line, tt.want, tt.line)
		}
	}
}

func TestMerge3(t *testing.T) {
	base := "a\nb\nc\nd\ne\n"
	for _, tt := range []struct {
		mine, theirs, want string
		ok                 bool
	}{
		{"A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", true},
		{"A\nb\nc\nd\ne\n", "B\nb\nc\nd\ne\n", "", false},
		{"A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "", false}, // touching
		{"A\nb\nc\nd\ne\n", base, "A\nb\nc\nd\ne\n", true},
		{"a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\ng\n", "", false}, // both append
		{"a\nc\nd\ne\n", "a\nc\nd\ne\nf\n", "a\nc\nd\ne\nf\n", true},
		{"x\x00", "a\n", "", false},
	} {
		got, ok := Merge3([]byte(base), []byte(tt.mine), []byte(tt.theirs))
		if ok != tt.ok || string(got) != tt.want {
			t.Errorf("%q %q: got %q %v", tt.mine, tt.theirs, got, ok)
		}
	}
}

func TestWhatMeetsStandsBetweenMarkers(t *testing.T) {
	base := "a\nb\nc\nd\ne\n"
	for _, tt := range []struct{ mine, theirs, want string }{
		{"A\nb\nc\nd\nE\n", "B\nb\nc\nD\ne\n",
			"<<<<<<< yours\nA\n||||||| before\na\n=======\nB\n>>>>>>> the bundle\nb\nc\n<<<<<<< yours\nd\nE\n||||||| before\nd\ne\n=======\nD\ne\n>>>>>>> the bundle\n"},
		{"a\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\ng\n",
			base + "<<<<<<< yours\nf\n||||||| before\n=======\ng\n>>>>>>> the bundle\n"},
		{"a\ne\n", "a\nb\nC\nd\nE\n", "a\n<<<<<<< yours\ne\n||||||| before\nb\nc\nd\ne\n=======\nb\nC\nd\nE\n>>>>>>> the bundle\n"},
		{"A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"},
	} {
		got := string(Merge3Marked([]byte(base), []byte(tt.mine), []byte(tt.theirs)))
		if got != tt.want {
			t.Errorf("%q %q: got\n%s", tt.mine, tt.theirs, got)
		}
		if HasMarkers([]byte(got)) != strings.Contains(tt.want, "<<<") {
			t.Errorf("markers of %q not seen", got)
		}
	}
	if Merge3Marked([]byte(base), []byte("x\x00"), []byte("y")) != nil {
		t.Error("a binary was merged")
	}
}

func TestDiffsNameLines(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"a\nb\n", "a\nb\n", 0}, {"a\nb\n", "a\nc\n", 2}, {"a\nb\n", "a\n", 1}, {"a\nb\nc\n", "a\nc\n", 2}, {"", "x", 1}, {"x", "", 1}, {"a", "a\n", 1},
	} {
		if got := DiffLines([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%q %q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	if got, want := Unified("old", "new", []byte("a\nb\n"), []byte("a\nc\n")), "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got := Unified("old", "new", []byte("a"), []byte("\x00")); got != "Binary files old and new differ\n" {
		t.Errorf("got %q", got)
	}
}
