package gather

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/internal/frontmatter"
)

// value is what a text says, apart from its form.
type value struct {
	fields object
	body   string
	broken bool // its front matter or TOML cannot be read
}

// alike reports whether two texts mean the same: no field differs but in its
// form, nor the body.
func alike(a, b text) bool {
	if bytes.Equal(a.content, b.content) && path.Ext(a.from) == path.Ext(b.from) {
		return true
	}
	x, y := valueOfText(a), valueOfText(b)
	return !x.broken && !y.broken && x.body == y.body && reflect.DeepEqual(x.fields, y.fields)
}

// valueOfText reads a text in any of its forms. The patterns of a rule have one
// name and one form, and a name that the file has too is left out.
func valueOfText(t text) value {
	content, note := neutralOf(t)
	front, body, _, err := frontmatter.Split(content)
	fields, perr := frontmatter.Parse(front)
	if err != nil || perr != nil || note != "" {
		return value{broken: true}
	}
	v := value{object{}, strings.TrimSpace(string(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))), false}
	for name, f := range fields {
		v.fields[name] = plain(f)
	}
	if t.what == "rule" {
		r, err := frontmatter.ReadRule(content)
		if err != nil {
			return value{broken: true}
		}
		for _, name := range []string{"paths", "globs", "applyTo", "alwaysApply", "description"} {
			delete(v.fields, name)
		}
		v.fields["kind"], v.fields["globs"], v.fields["about"] = r.Kind, strings.Join(r.Globs, "\n"), r.Description
		return v
	}
	if name, _ := v.fields["name"].(string); name == path.Base(strings.TrimSuffix(t.rel, ".md")) {
		delete(v.fields, "name")
	}
	return v
}

// plain is a value of front matter in types that compare.
func plain(v any) any {
	switch v := v.(type) {
	case frontmatter.Fields:
		return plain(map[string]any(v))
	case map[string]any:
		out := object{}
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case string:
		return strings.TrimSpace(v)
	}
	return v
}

// neutralOf is a text as a bundle has it for every runtime: Gemini CLI's
// commands and Codex's subagents become Markdown. note names what has no place
// there.
func neutralOf(t text) (content []byte, note string) {
	if path.Ext(t.from) != ".toml" {
		return t.content, ""
	}
	o := object{}
	if err := toml.Unmarshal(t.content, &o); err != nil {
		return t.content, "cannot be read as TOML"
	}
	var b strings.Builder
	take := func(key string) string {
		s, _ := o[key].(string)
		delete(o, key)
		return s
	}
	b.WriteString("---\n")
	for _, key := range []string{"name", "description"} {
		if s := take(key); s != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, jsonText(s))
		}
	}
	b.WriteString("---\n")
	body := take("prompt")
	if t.what == "agent" {
		body = take("developer_instructions")
	}
	if strings.Contains(body, "!{") || strings.Contains(body, "@{") {
		note = "other programs would not obey its !{…} and @{…}"
	}
	b.WriteString(strings.TrimLeft(strings.ReplaceAll(body, "{{args}}", "$ARGUMENTS"), "\n"))
	if !strings.HasSuffix(body, "\n") {
		b.WriteString("\n")
	}
	if len(o) > 0 {
		note = joinNotes(note, "a common one has no place for "+strings.Join(slices.Sorted(maps.Keys(o)), ", "))
	}
	return []byte(b.String()), note
}
