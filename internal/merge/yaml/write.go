package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/merge/leaf"
)

// style is how a document is laid out.
type style struct {
	nl   string // line end
	unit int    // by how much a mapping in a mapping is indented
	dash int    // by how much a sequence in a mapping is indented
}

// style takes after what d holds; two spaces where it shows no habit.
func (d *doc) style() style {
	s := style{nl: "\n", unit: -1, dash: -1}
	if i := bytes.IndexByte(d.src, '\n'); i > 0 && d.src[i-1] == '\r' {
		s.nl = "\r\n"
	}
	if d.root != nil {
		s.learn(d.root)
	}
	if s.unit <= 0 {
		s.unit = 2
	}
	if s.dash < 0 {
		s.dash = s.unit
	}
	return s
}

func (s *style) learn(n *node) {
	for _, e := range n.entries {
		v := e.value
		switch {
		case n.flow || v.flow || e.odd:
		case v.kind == mapping && s.unit < 0:
			s.unit = v.column - n.column
		case v.kind == sequence && s.dash < 0:
			s.dash = v.column - n.column
		}
		s.learn(v)
	}
	for _, it := range n.items {
		s.learn(it.value)
	}
}

// after writes what follows the colon of a key that stands at column.
func (s style) after(v leaf.Value, column int) (string, error) {
	if ps, ok := leaf.Pairs(v); ok && len(ps) > 0 {
		text, err := s.mapping(ps, column+s.unit)
		return s.nl + strings.Repeat(" ", column+s.unit) + text, err
	}
	if items, ok := leaf.Elements(v); ok && len(items) > 0 {
		text, err := s.sequence(items, column+s.dash)
		return s.nl + strings.Repeat(" ", column+s.dash) + text, err
	}
	text, err := inlineText(v)
	return " " + text, err
}

// item writes an element with its dash, which stands at column.
func (s style) item(v leaf.Value, column int) (string, error) {
	return s.sequence([]leaf.Value{v}, column)
}

// entry writes a key with its value; the key stands at column.
func (s style) entry(name string, v leaf.Value, column int) (string, error) {
	return s.mapping([]leaf.Pair{{Name: name, Value: v}}, column)
}

func (s style) mapping(ps []leaf.Pair, column int) (string, error) {
	var lines []string
	for _, p := range ps {
		k, err := keyText(p.Name)
		if err != nil {
			return "", err
		}
		after, err := s.after(p.Value, column)
		if err != nil {
			return "", err
		}
		lines = append(lines, k+":"+after)
	}
	return strings.Join(lines, s.nl+strings.Repeat(" ", column)), nil
}

func (s style) sequence(items []leaf.Value, column int) (string, error) {
	var lines []string
	for _, it := range items {
		var text string
		var err error
		if ps, ok := leaf.Pairs(it); ok && len(ps) > 0 {
			text, err = s.mapping(ps, column+2)
		} else {
			text, err = inlineText(it)
		}
		if err != nil {
			return "", err
		}
		lines = append(lines, "- "+text)
	}
	return strings.Join(lines, s.nl+strings.Repeat(" ", column)), nil
}

// inlineText writes v in one line.
func inlineText(v leaf.Value) (string, error) {
	var texts []string
	if ps, ok := leaf.Pairs(v); ok {
		for _, p := range ps {
			k, err := keyText(p.Name)
			if err != nil {
				return "", err
			}
			text, err := inlineText(p.Value)
			if err != nil {
				return "", err
			}
			texts = append(texts, k+": "+text)
		}
		return "{" + strings.Join(texts, ", ") + "}", nil
	}
	items, ok := leaf.Elements(v)
	if !ok {
		return scalarText(v)
	}
	for _, it := range items {
		text, err := inlineText(it)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return "[" + strings.Join(texts, ", ") + "]", nil
}

// keyText writes the name of an entry.
func keyText(name string) (string, error) {
	k := stringText(name)
	if len(k) > 1000 {
		return "", fmt.Errorf("write yaml name %.40q…: names have up to 1000 characters", name)
	}
	return k, nil
}

// plainText matches what every YAML reads as the text that it is, in any
// place, unless it is one of words.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@+-]*( [A-Za-z0-9_/@+][A-Za-z0-9_./@+-]*)*$`)
})

// words are texts that some YAML reads as null, a boolean or a number.
var words = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"}

// stringText writes a text, plain where no reader of any YAML takes it for
// something else.
func stringText(s string) string {
	if plainText().MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// scalarText writes a JSON scalar, or the object that stands for a date or float.
func scalarText(v leaf.Value) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil && err != io.EOF {
		return "", fmt.Errorf("write yaml value %s: %w", v, err)
	}
	switch x := x.(type) {
	case nil:
		return "null", nil
	case bool:
		return fmt.Sprint(x), nil
	case string:
		return stringText(x), nil
	case json.Number:
		return numberText(string(x)), nil
	case map[string]any:
		if s, ok := x["$datetime"].(string); ok && strings.Trim(s, "0123456789-+:.TZtz ") == "" {
			return s, nil
		}
		switch x["$float"] {
		case "inf", "nan":
			return "." + x["$float"].(string), nil
		case "-inf":
			return "-.inf", nil
		}
	}
	return "", fmt.Errorf("write yaml value %s: not a date, time or float", v)
}

// numberText spells a number with an exponent so that YAML 1.1 takes it for one
// too.
func numberText(s string) string {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s
	}
	mant, exp := s[:i], s[i+1:]
	if !strings.Contains(mant, ".") {
		mant += ".0"
	}
	if exp[0] != '-' && exp[0] != '+' {
		exp = "+" + exp
	}
	return mant + "e" + exp
}
