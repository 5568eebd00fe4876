package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Style is how a document is laid out.
type Style struct {
	NL   string // line end
	Unit int    // by how much a mapping in a mapping is indented
	Dash int    // by how much a sequence in a mapping is indented
}

// Style takes after what d holds; two spaces where it shows no habit.
func (d *Doc) Style() Style {
	s := Style{NL: "\n", Unit: -1, Dash: -1}
	if i := bytes.IndexByte(d.Src, '\n'); i > 0 && d.Src[i-1] == '\r' {
		s.NL = "\r\n"
	}
	if d.Root != nil {
		s.learn(d.Root)
	}
	if s.Unit <= 0 {
		s.Unit = 2
	}
	if s.Dash < 0 {
		s.Dash = s.Unit
	}
	return s
}

func (s *Style) learn(n *Node) {
	for _, e := range n.Entries {
		v := e.Value
		switch {
		case n.Flow || v.Flow || e.Odd:
		case v.Kind == Map && s.Unit < 0:
			s.Unit = v.column - n.column
		case v.Kind == Seq && s.Dash < 0:
			s.Dash = v.column - n.column
		}
		s.learn(v)
	}
	for _, it := range n.Items {
		s.learn(it.Value)
	}
}

// After writes what follows the colon of a key that stands at column.
func (s Style) After(v json.RawMessage, column int) (string, error) {
	ps, items, kind, err := parts(v)
	switch {
	case err != nil:
		return "", err
	case kind == '{' && len(ps) > 0:
		text, err := s.mapping(ps, column+s.Unit)
		return s.NL + strings.Repeat(" ", column+s.Unit) + text, err
	case kind == '[' && len(items) > 0:
		text, err := s.sequence(items, column+s.Dash)
		return s.NL + strings.Repeat(" ", column+s.Dash) + text, err
	}
	text, err := Inline(v)
	return " " + text, err
}

// Item writes an element with its dash, which stands at column.
func (s Style) Item(v json.RawMessage, column int) (string, error) {
	return s.sequence([]json.RawMessage{v}, column)
}

// Entry writes a key with its value; the key stands at column.
func (s Style) Entry(name string, v json.RawMessage, column int) (string, error) {
	return s.mapping([]pair{{name, v}}, column)
}

func (s Style) mapping(ps []pair, column int) (string, error) {
	var lines []string
	for _, p := range ps {
		k, err := Key(p.name)
		if err != nil {
			return "", err
		}
		after, err := s.After(p.value, column)
		if err != nil {
			return "", err
		}
		lines = append(lines, k+":"+after)
	}
	return strings.Join(lines, s.NL+strings.Repeat(" ", column)), nil
}

func (s Style) sequence(items []json.RawMessage, column int) (string, error) {
	var lines []string
	for _, it := range items {
		ps, _, kind, err := parts(it)
		if err != nil {
			return "", err
		}
		var text string
		if kind == '{' && len(ps) > 0 {
			text, err = s.mapping(ps, column+2)
		} else {
			text, err = Inline(it)
		}
		if err != nil {
			return "", err
		}
		lines = append(lines, "- "+text)
	}
	return strings.Join(lines, s.NL+strings.Repeat(" ", column)), nil
}

// Inline writes v in one line.
func Inline(v json.RawMessage) (string, error) {
	ps, items, kind, err := parts(v)
	if err != nil {
		return "", err
	}
	var texts []string
	switch kind {
	case '{':
		for _, p := range ps {
			k, err := Key(p.name)
			if err != nil {
				return "", err
			}
			text, err := Inline(p.value)
			if err != nil {
				return "", err
			}
			texts = append(texts, k+": "+text)
		}
		return "{" + strings.Join(texts, ", ") + "}", nil
	case '[':
		for _, it := range items {
			text, err := Inline(it)
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
		}
		return "[" + strings.Join(texts, ", ") + "]", nil
	}
	return scalarText(v)
}

// Key writes the name of an entry.
func Key(name string) (string, error) {
	k := String(name)
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

// String writes a text, plain where no reader of any YAML takes it for something else.
func String(s string) string {
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
func scalarText(v json.RawMessage) (string, error) {
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
		return String(x), nil
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
	return "", fmt.Errorf("write yaml value %s: it is no date, time or float", v)
}

// numberText spells a number with an exponent so that YAML 1.1 takes it for one too.
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

// pair is a name with its value, in the order of the source.
type pair struct {
	name  string
	value json.RawMessage
}

// parts takes a JSON value apart: kind is '{', '[' or 0 for a scalar. An object
// that stands for a date or a float is a scalar.
func parts(v json.RawMessage) (ps []pair, items []json.RawMessage, kind byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	t, err := dec.Token()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("write yaml value %s: %w", v, err)
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil, nil, 0, nil
	}
	for dec.More() {
		var p pair
		if open == '{' {
			t, err := dec.Token()
			if err != nil {
				return nil, nil, 0, fmt.Errorf("write yaml value %s: %w", v, err)
			}
			p.name, _ = t.(string)
		}
		if err := dec.Decode(&p.value); err != nil {
			return nil, nil, 0, fmt.Errorf("write yaml value %s: %w", v, err)
		}
		ps, items = append(ps, p), append(items, p.value)
	}
	if open == '{' {
		if len(ps) == 1 && (ps[0].name == "$datetime" || ps[0].name == "$float") {
			return nil, nil, 0, nil
		}
		return ps, nil, '{', nil
	}
	return nil, items, '[', nil
}
