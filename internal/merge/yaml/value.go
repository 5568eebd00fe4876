package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/merge/leaf"
)

// jsonNumber matches what JSON and YAML spell alike. It is compiled when it is
// first needed: this program starts many times a minute.
var jsonNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
})

// json returns n as JSON. Numbers keep all their digits. What JSON has no form
// for becomes {"$datetime":"…"} or {"$float":"inf"}. An alias, an anchor, a tag
// that a program defines or a key that is no text is a *fault: what is shared or
// typed by a program cannot be said in other words.
func (d *doc) json(n *node) (leaf.Value, error) {
	var b bytes.Buffer
	if err := d.write(&b, n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (d *doc) write(b *bytes.Buffer, n *node) error {
	if err := d.shared(n); err != nil {
		return err
	}
	switch n.kind {
	case mapping:
		b.WriteByte('{')
		for i, e := range n.entries {
			if e.odd {
				return &fault{e.Start, "has a key that is not plain text"}
			}
			if e.key == "<<" {
				return &fault{e.Start, "merges another mapping with <<"}
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(leaf.Quote(e.key))
			b.WriteByte(':')
			if err := d.write(b, e.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case sequence:
		b.WriteByte('[')
		for i, it := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := d.write(b, it.value); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return d.scalarJSON(b, n)
	}
	return nil
}

// shared says why n cannot be owned: it is an alias, or carries an anchor or a
// tag.
func (d *doc) shared(n *node) error {
	switch {
	case n.kind == alias:
		return &fault{n.Start, "is the alias *" + n.text + " of what is written elsewhere"}
	case strings.Contains(n.props, "&"):
		return &fault{n.Start, "has the anchor " + n.props + ", so that what is written here counts elsewhere too"}
	case n.props != "" && n.props != "!!str" && n.props != "!":
		return &fault{n.Start, "has the tag " + n.props}
	}
	return nil
}

func (d *doc) scalarJSON(b *bytes.Buffer, n *node) error {
	switch n.tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		b.WriteString(strings.ToLower(n.text))
	case "!!int", "!!float":
		b.WriteString(number(n))
	case "!!timestamp":
		b.WriteString(`{"$datetime":` + string(leaf.Quote(n.text)) + `}`)
	case "!!str":
		b.Write(leaf.Quote(n.text))
	default: // a merge key as a value, or binary
		return &fault{n.Start, fmt.Sprintf("has the type %s", n.tag)}
	}
	return nil
}

func number(n *node) string {
	if jsonNumber().MatchString(n.text) {
		return n.text
	}
	var x any
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Value: n.text}
	if node.Decode(&x) != nil {
		return string(leaf.Quote(n.text))
	}
	if f, ok := x.(float64); ok {
		switch {
		case math.IsNaN(f):
			return `{"$float":"nan"}`
		case math.IsInf(f, 0):
			return `{"$float":"` + strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+") + `"}`
		}
	}
	out, err := json.Marshal(x)
	if err != nil {
		return string(leaf.Quote(n.text))
	}
	return string(out)
}

// outline is all of n with what cannot be said in JSON spelled as it is
// written: two documents of equal outline say the same.
func (d *doc) outline(n *node) any {
	if n == nil {
		return nil
	}
	if n.kind == alias || n.props != "" {
		return "\x00" + n.props + " " + string(d.src[n.Start:n.End])
	}
	switch n.kind {
	case mapping:
		m := map[string]any{}
		for _, e := range n.entries {
			name := e.key
			if e.odd {
				name = "\x00" + string(d.src[e.Start:e.keyEnd])
			}
			m[name] = d.outline(e.value)
		}
		return m
	case sequence:
		a := make([]any, len(n.items))
		for i, it := range n.items {
			a[i] = d.outline(it.value)
		}
		return a
	}
	var b bytes.Buffer
	if d.scalarJSON(&b, n) != nil {
		return "\x00" + string(d.src[n.Start:n.End])
	}
	return b.String()
}
