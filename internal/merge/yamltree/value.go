package yamltree

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
)

// jsonNumber matches what JSON and YAML spell alike. It is compiled when it is
// first needed: this program starts many times a minute.
var jsonNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
})

// JSON returns n as JSON. Numbers keep all their digits. What JSON has no form
// for becomes {"$datetime":"…"} or {"$float":"inf"}. An alias, an anchor, a tag
// of somebody's own or a key that is no text is a *Fault: what is shared or
// typed by a program cannot be said in other words.
func (d *Doc) JSON(n *Node) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := d.write(&b, n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (d *Doc) write(b *bytes.Buffer, n *Node) error {
	if err := d.Shared(n); err != nil {
		return err
	}
	switch n.Kind {
	case Map:
		b.WriteByte('{')
		for i, e := range n.Entries {
			if e.Odd {
				return &Fault{e.Start, "has a key that is no plain text"}
			}
			if e.Key == "<<" {
				return &Fault{e.Start, "merges another mapping with <<"}
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(e.Key))
			b.WriteByte(':')
			if err := d.write(b, e.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case Seq:
		b.WriteByte('[')
		for i, it := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := d.write(b, it.Value); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return d.scalarJSON(b, n)
	}
	return nil
}

// Shared says why n cannot be owned: it is an alias, or carries an anchor or a
// tag.
func (d *Doc) Shared(n *Node) error {
	switch {
	case n.Kind == Alias:
		return &Fault{n.Start, "is the alias *" + n.text + " of what is written elsewhere"}
	case strings.Contains(n.Props, "&"):
		return &Fault{n.Start, "has the anchor " + n.Props + ", so that what is written here counts elsewhere too"}
	case n.Props != "" && n.Props != "!!str" && n.Props != "!":
		return &Fault{n.Start, "has the tag " + n.Props}
	}
	return nil
}

func (d *Doc) scalarJSON(b *bytes.Buffer, n *Node) error {
	switch n.tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		b.WriteString(strings.ToLower(n.text))
	case "!!int", "!!float":
		b.WriteString(number(n))
	case "!!timestamp":
		b.WriteString(`{"$datetime":` + string(quote(n.text)) + `}`)
	case "!!str":
		b.Write(quote(n.text))
	default: // a merge key as a value, or binary
		return &Fault{n.Start, fmt.Sprintf("has the type %s", n.tag)}
	}
	return nil
}

func number(n *Node) string {
	if jsonNumber().MatchString(n.text) {
		return n.text
	}
	var x any
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Value: n.text}
	if node.Decode(&x) != nil {
		return string(quote(n.text))
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
		return string(quote(n.text))
	}
	return string(out)
}

// quote writes a JSON string without the escapes that only HTML needs.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string and a buffer: cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Outline is all of n with what cannot be said in JSON spelled as it is
// written: two documents of equal outline say the same.
func (d *Doc) Outline(n *Node) any {
	if n == nil {
		return nil
	}
	if n.Kind == Alias || n.Props != "" {
		return "\x00" + n.Props + " " + string(d.Src[n.Start:n.End])
	}
	switch n.Kind {
	case Map:
		m := map[string]any{}
		for _, e := range n.Entries {
			name := e.Key
			if e.Odd {
				name = "\x00" + string(d.Src[e.Start:e.KeyEnd])
			}
			m[name] = d.Outline(e.Value)
		}
		return m
	case Seq:
		a := make([]any, len(n.Items))
		for i, it := range n.Items {
			a[i] = d.Outline(it.Value)
		}
		return a
	}
	var b bytes.Buffer
	if d.scalarJSON(&b, n) != nil {
		return "\x00" + string(d.Src[n.Start:n.End])
	}
	return b.String()
}
