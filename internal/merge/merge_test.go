package merge

import (
	"strings"
	"testing"
)

func set(key, value string) Op { return Op{Key: key, Value: Value(value)} }

func TestImpossibleRequestsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		format Format
		ops    []Op
		made   []string
		want   string
	}{
		{JSON, []Op{set("x", "1")}, nil, "want a pointer"},
		{JSON, []Op{set("", "1")}, nil, "never the whole document"},
		{JSON, []Op{set("/a~3", "1")}, nil, "~ must be followed by"},
		{JSON, []Op{set("line:x", "true")}, nil, "no line keys"},
		{Text, []Op{set("/a", "true")}, nil, "lines and blocks only"},
		{Text, []Op{set("line:a\nb", "true")}, nil, "without a line end"},
		{JSON, []Op{set(`/a#{"b":1,"a":2}`, "true")}, nil, `write {"a":2,"b":1}`},
		{JSON, []Op{set("/a", "{")}, nil, "not JSON"},
		{JSON, []Op{set("/a", "1 2")}, nil, "text after the value"},
		{JSON, []Op{set("/a", "1"), set("/a", "2")}, nil, "asked for twice"},
		{JSON, []Op{set("/a", "{}"), set("/a/b", "2")}, nil, "lies within leaf /a"},
		{JSON, []Op{set(`/a#"x"`, `"y"`)}, nil, `want "x"`},
		{JSON, []Op{set(HookKey("/hooks", "Stop", HookID{Type: "command", Command: "a"}), `{"type":"command","command":"b"}`)}, nil, "with that type, command and if"},
		{TOML, []Op{set("/a", "null")}, nil, "toml has no null"},
		{TOML, []Op{set("/a", "1e999")}, nil, "too large"},
		{TOML, []Op{set("/a", "99999999999999999999")}, nil, "64 bits"},
		{TOML, []Op{set("/a", `{"$datetime":"tomorrow\nb = 1"}`)}, nil, "not a date"},
		{Markdown, []Op{set("block:a", `"<!-- aisync:end a -->"`)}, nil, "is the end marker of block a"},
		{Markdown, []Op{set("block:a --> b", `"x"`)}, nil, "no spaces"},
		{"xml", []Op{set("/a", "1")}, nil, `format "xml" is unknown; use json, jsonc, toml, yaml, text, markdown or slashes`},
		{TOML, []Op{set(HookKey("/hooks", "Stop", HookID{Type: "command", Command: "a"}), `{"type":"command","command":"a"}`)}, nil, "hooks are kept in json only"},
		{YAML, []Op{set("/a", "1")}, []string{`empty " x" /a`}, "only an empty value can be put back"},
		{JSON, []Op{set("/a", "1")}, []string{`inner "x" /a`}, "only white space can be put back"},
		{JSON, []Op{set("/a", "1")}, []string{"later 1"}, "written by another version"},
	} {
		if _, err := Edit(tt.format, nil, tt.ops, tt.made); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.ops, err, tt.want)
		}
	}
}

// Each format is reached by its name, and by the name of a file.
func TestFormatsAreReached(t *testing.T) {
	for _, tt := range []struct {
		file   string
		format Format
		op     Op
		want   string
	}{
		{"a/settings.json", JSON, set("/a", "1"), "{\n  \"a\": 1\n}\n"},
		{"opencode.JSONC", JSONC, set("/a", "1"), "{\n  \"a\": 1\n}\n"},
		{"config.toml", TOML, set("/a", "1"), "a = 1\n"},
		{"a.yaml", YAML, set("/a", "1"), "a: 1\n"},
		{"a.yml", YAML, set("/a", "1"), "a: 1\n"},
		{".gitignore", Text, set("block:a", `"x"`), "# aisync:begin a\nx\n# aisync:end a\n"},
		{"AGENTS.md", Markdown, set("block:a", `"x"`), "<!-- aisync:begin a -->\nx\n<!-- aisync:end a -->\n"},
		{"rule.mdc", Markdown, set(LineKey("x"), "true"), "x\n"},
		{"plugin.ts", Slashes, set(BlockKey("a"), `"x"`), "// aisync:begin a\nx\n// aisync:end a\n"},
	} {
		if got := FormatOf(tt.file); got != tt.format {
			t.Errorf("%s: got format %s, want %s", tt.file, got, tt.format)
		}
		res, err := Edit(tt.format, nil, []Op{tt.op}, nil)
		if err != nil || string(res.Doc) != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.file, res.Doc, err, tt.want)
		}
		if got, err := Read(tt.format, res.Doc, []string{tt.op.Key}); err != nil || !Equal(got[tt.op.Key].Value, tt.op.Value) {
			t.Errorf("%s: read %+v, %v", tt.file, got, err)
		}
	}
	for format, want := range map[Format]Format{JSON: Slashes, JSONC: Slashes, TOML: Text, YAML: Text, Text: Text, Markdown: Markdown, Slashes: Slashes, "xml": "xml"} {
		if got := TextFormat(format); got != want {
			t.Errorf("lines of %s are kept as %s, want %s", format, got, want)
		}
	}
	if _, err := Read("", nil, nil); err == nil {
		t.Error("a format without a name was read")
	}
}
