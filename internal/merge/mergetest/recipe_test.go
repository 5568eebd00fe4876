package mergetest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

// This file follows docs/recipes/merge-format.md for INI files: sections of
// key = value, in which every value is a string.

var ini = leaf.Format{
	Name:  "ini",
	Holds: []leaf.Kind{leaf.KindValue},
	Parse: func(src []byte) (leaf.Document, error) { return parseINI(src) },
}

const blanks = " \t\r\n"

// iniDoc is a parsed document.
type iniDoc struct {
	src   []byte
	lines []iniLine // headers and keys, in order
}

// iniLine is a header, whose key is "", or a key with its value.
type iniLine struct {
	leaf.Span // of the line, without its line end
	section   string
	key       string
	value     leaf.Span
}

func parseINI(src []byte) (*iniDoc, error) {
	d := &iniDoc{src: src}
	section, seen := "", map[string]bool{}
	for at := 0; at < len(src); at++ {
		start := at
		at = leaf.LineEnd(src, at)
		line := iniLine{Span: leaf.Span{Start: start, End: at}, section: section}
		at += max(0, len(leaf.LineBreak(src[at:]))-1)
		text := string(bytes.Trim(src[line.Start:line.End], blanks))
		if i := bytes.IndexByte(src[start:line.End], '\r'); i >= 0 {
			return nil, leaf.ErrorAt(src, start+i, "", "invalid INI: no line feed follows the carriage return")
		}
		name, isHeader := strings.CutPrefix(text, "[")
		if text == "" || text[0] == ';' || text[0] == '#' {
			continue
		}
		if isHeader {
			if section, isHeader = strings.CutSuffix(name, "]"); !isHeader {
				return nil, leaf.ErrorAt(src, start, "", "invalid INI: a header ends with ]")
			}
			line.section = section
		} else {
			key, value, ok := strings.Cut(text, "=")
			if line.key = strings.Trim(key, blanks); !ok || line.key == "" {
				return nil, leaf.ErrorAt(src, start, "", "invalid INI: want key = value")
			}
			end := start + len(bytes.TrimRight(src[start:line.End], blanks))
			line.value = leaf.Span{Start: end - len(strings.Trim(value, blanks)), End: end}
		}
		if id := leaf.Pointer(line.section, line.key); seen[id] {
			return nil, leaf.ErrorAt(src, start, "", fmt.Sprintf("%q stands twice", text))
		} else {
			seen[id] = true
		}
		d.lines = append(d.lines, line)
	}
	return d, nil
}

func (*iniDoc) Reparse(src []byte) (leaf.Document, error) { return parseINI(src) }

// find returns the line of key, and the last line of its section; -1 where
// there is none.
func (d *iniDoc) find(k leaf.Key) (line, last int, section, key string, err error) {
	switch len(k.Path) {
	case 1:
		key = k.Path[0]
	case 2:
		section, key = k.Path[0], k.Path[1]
	default:
		return 0, 0, "", "", leaf.ErrorAt(d.src, 0, k.Name, "lies too deep: INI has sections and keys")
	}
	for _, name := range k.Path {
		if strings.Trim(name, blanks) != name || strings.ContainsAny(name, "=[]\r\n\x00") || strings.HasPrefix(key, ";") || strings.HasPrefix(key, "#") || key == "" {
			return 0, 0, "", "", leaf.ErrorAt(d.src, 0, k.Name, "has a name that INI cannot write")
		}
	}
	line, last = -1, -1
	for i, l := range d.lines {
		if l.section == section {
			last = i
			if l.key == key {
				line = i
			}
		}
	}
	return line, last, section, key, nil
}

func (d *iniDoc) Leaf(k leaf.Key) (leaf.Leaf, bool, error) {
	i, _, _, _, err := d.find(k)
	if i < 0 || err != nil {
		return leaf.Leaf{}, false, err
	}
	l := d.lines[i]
	raw := string(d.src[l.value.Start:l.value.End])
	line, _ := leaf.Position(d.src, l.Start)
	return leaf.Leaf{Value: leaf.Quote(raw), Line: line, Raw: raw}, true, nil
}

func (d *iniDoc) Set(k leaf.Key, op leaf.Op, notes *leaf.Notes) ([]byte, error) {
	i, last, section, key, err := d.find(k)
	if err != nil {
		return nil, err
	}
	value := leaf.Leaf{Value: op.Value}.Text()
	if !leaf.Equal(leaf.Quote(value), op.Value) || strings.Trim(value, blanks) != value || strings.ContainsAny(value, "\r\n") {
		return nil, fmt.Errorf("write ini value %s: want a string in one line", op.Value)
	}
	text, nl := key+" = "+value, leaf.Newline(d.src)
	end := leaf.LineEnd(d.src, len(bytes.TrimRight(d.src, blanks)))
	switch {
	case i >= 0:
		l := d.lines[i]
		return leaf.Apply(d.src, leaf.Put(l.value.Start, l.value.End, value)), nil
	case last >= 0:
		l := d.lines[last]
		indent := d.src[l.Start : l.End-len(bytes.TrimLeft(d.src[l.Start:l.End], " \t"))]
		return leaf.Apply(d.src, leaf.Insert(l.End, nl+string(indent)+text)), nil
	case section != "":
		notes.Add(leaf.Note{At: leaf.Pointer(section)})
		text = "[" + section + "]" + nl + text
	}
	switch {
	case len(bytes.Trim(d.src, blanks)) == 0:
		notes.Add(leaf.Note{Word: leaf.DocumentNote, Text: string(d.src)})
		return []byte(text + nl), nil
	case section != "":
		return leaf.Apply(d.src, leaf.Insert(end, nl+nl+text)), nil
	}
	return leaf.Apply(d.src, leaf.Insert(0, text+nl)), nil
}

func (d *iniDoc) Remove(k leaf.Key, notes *leaf.Notes) ([]byte, error) {
	i, last, section, _, err := d.find(k)
	if i < 0 || err != nil {
		return d.src, err
	}
	l := d.lines[i]
	cut := leaf.Cut(l.Start, l.End)
	before := d.src[:l.Start]
	if section != "" && i == last && d.lines[i-1].key == "" && notes.Made(leaf.Pointer(section)) &&
		len(bytes.Trim(d.src[d.lines[i-1].End:l.Start], blanks)) == 0 { // the section was made, and holds nothing else
		cut.Start = d.lines[i-1].Start
		before = bytes.TrimRight(d.src[:cut.Start], blanks)
	} else {
		before = before[:max(0, len(before)-len(leaf.Newline(d.src)))]
	}
	if cut.Start == 0 {
		cut.End += len(leaf.LineBreak(d.src[cut.End:]))
	} else {
		cut.Start = leaf.LineEnd(d.src, len(before))
	}
	src := leaf.Apply(d.src, cut)
	if tail, made := notes.Text(leaf.DocumentNote, ""); made && len(bytes.Trim(src, blanks)) == 0 {
		return []byte(tail), nil
	}
	return src, nil
}

var iniSuite = mergetest.Suite{
	Format: ini,
	Docs: []string{
		"", "\n\n", "; only a comment", "# only a comment\n\n\n", "[user]\n\tname = me\n", "top=1\n\n[core]\n; why\neditor = vi ; no comment\n",
		"[core]\n[user]\n\n; end", "[other \"x\"]\r\nurl = a=b\r\n", "top =\n[user]\n",
	},
	Ops: []leaf.Op{
		mergetest.Set("/user/name", `"Some One"`), mergetest.Set("/user/email", `""`), mergetest.Set("/core/editor", `"vi"`),
		mergetest.Set("/core/pager", `"less = more"`), mergetest.Set("/new/key", `"é"`), mergetest.Set("/top", `"1"`), mergetest.Set("/first", `"x"`),
	},
	Edits: []mergetest.Edit{
		{Name: "new section", Doc: "a = 1\n", Want: "a = 1\n\n[s]\nb = 2\n", Op: mergetest.Set("/s/b", `"2"`)},
		{Name: "indentation", Doc: "[s]\n\ta = 1\n[t]\n", Want: "[s]\n\ta = 1\n\tb = 2\n[t]\n", Op: mergetest.Set("/s/b", `"2"`)},
		{Name: "only the value", Doc: "a =  1 \n", Want: "a =  2 \n", Op: mergetest.Set("/a", `"2"`)},
	},
	Removals: []mergetest.Removal{
		{Name: "a comment in our section", Doc: "a = 1\n", Op: mergetest.Set("/s/b", `"2"`),
			Person: func(s string) string { return strings.Replace(s, "[s]\n", "[s]\n; mine\n", 1) }, Want: "a = 1\n\n[s]\n; mine\n"},
	},
	Reads: []mergetest.Read{{Doc: "; c\n[s]\n a = b = c \n", Key: "/s/a", Want: `"b = c"`, Line: 3}},
	Faults: []mergetest.Fault{
		{Doc: "a = 1\n[s\n", Op: mergetest.Set("/b", `"2"`), Want: "2:1: invalid INI"},
		{Doc: "just text\n", Op: mergetest.Set("/b", `"2"`), Want: "1:1: invalid INI: want key = value"},
		{Doc: "[s]\na = 1\na = 2\n", Op: mergetest.Set("/b", `"2"`), Want: "3:1:"},
		{Doc: "a = 1\n", Op: mergetest.Set("/s/t/b", `"2"`), Want: "/s/t/b lies too deep"},
	},
	Priors: []mergetest.Prior{{Doc: "a =  1 \n", Key: "/a", Other: `"2"`}},
}

func TestRecipeForAMergeFormat(t *testing.T) { mergetest.Run(t, iniSuite) }

func FuzzRecipeForAMergeFormat(f *testing.F) { mergetest.Fuzz(f, iniSuite) }

// The recipe must not name what has moved.
func TestRecipeNamesWhatExists(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	recipe, err := os.ReadFile(filepath.Join(root, "docs", "recipes", "merge-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile("`((?:internal|schema|docs)/[\\w./-]+)`").FindAllSubmatch(recipe, -1)
	if len(paths) < 6 {
		t.Fatalf("the recipe names only %d paths", len(paths))
	}
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join(root, string(p[1]))); err != nil {
			t.Error(err)
		}
	}
}
