package loads

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// scoped is what the front matter of a rule says about when it is loaded.
type scoped struct {
	when   When
	paths  []string
	broken string // why the front matter cannot be read; it is text then
	body   []byte
}

// scopeOf reads the front matter of text as a program does.
func scopeOf(r *spec.RuleScope, text []byte) scoped {
	if r == nil {
		return scoped{when: AtStart, body: text}
	}
	front, body, ok, err := frontmatter.Split(text)
	if err != nil {
		return scoped{when: AtStart, body: text, broken: err.Error()}
	}
	out := scoped{when: AtStart, body: body}
	var fields frontmatter.Fields
	if ok {
		if fields, err = frontmatter.Parse(front); err != nil {
			return scoped{when: AtStart, body: text, broken: err.Error()}
		}
	}
	list, there := patterns(r.Globs, fields, r.Field)
	whole := slices.ContainsFunc(list, func(p string) bool { return slices.Contains(r.Whole, p) })
	switch {
	case r.Always == "" && !there && fields.Text(r.OnRequest) == "" && len(fields.List(r.OnRequest)) > 0: // words that ask for it
		out.when = OnRequest
	case r.Always == "" && (!there || len(list) == 0 || whole):
	case r.Always != "" && fields[r.Always] == true, whole:
	case len(list) > 0 && !slices.ContainsFunc(list, func(p string) bool { return !slices.Contains(r.Asked, p) }):
		out.when = Manual
		if r.OnRequest != "" && fields.Text(r.OnRequest) != "" {
			out.when = OnRequest
		}
	case len(list) > 0:
		out.when, out.paths = OnPath, list
	case r.OnRequest != "" && fields.Text(r.OnRequest) != "":
		out.when = OnRequest
	default:
		out.when = Manual
	}
	return out
}

// ruleName is a rule's file below its folder, without suffixes.
func ruleName(p string) string {
	base := path.Base(p)
	for _, suffix := range []string{".instructions.md", ".md", ".mdc"} {
		if s, ok := strings.CutSuffix(base, suffix); ok {
			return s
		}
	}
	return base
}

// withoutComments takes HTML comments out.
func withoutComments(text []byte) []byte {
	if !bytes.Contains(text, []byte("<!--")) {
		return text
	}
	var out []byte
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("<!--"))
		if i < 0 {
			return append(out, text[at:]...)
		}
		end := bytes.Index(text[at+i:], []byte("-->"))
		if end < 0 {
			return append(out, text[at:]...)
		}
		out = append(out, text[at:at+i]...)
		at += i + end + len("-->")
	}
}
