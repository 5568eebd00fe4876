package loads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// maxImports ends imports that multiply: no person writes that many.
const maxImports = 10000

// chain is the way from a text to what it imports.
type chain struct {
	paths  []string // as the lines name them, the text itself first
	reals  []string
	seen   map[string]bool // all that the text imports, where each comes once
	budget *int
}

// takeFile takes a text, with what it imports. c.text says how, of what is
// imported too.
func (s *session) takeFile(c candidate, r scoped, via *chain) {
	body, real, err := s.files.read(c.path)
	if err != nil {
		s.unreadable(Kind(c.text.Kind), c.path, err)
		return
	}
	whole, class := body, "import"
	if via == nil {
		class, body = c.text.Kind, r.body
		via = &chain{seen: map[string]bool{real: true}, budget: new(int)}
	}
	if same := s.takenBefore(class, c.path, real, body); same != "" {
		s.skip(Kind(c.text.Kind), c.path, Same, "its content is that of "+s.relative(same))
		return
	}
	cut, line := 0, 0
	if class != "import" && c.text.Limited && s.left >= 0 {
		if s.left == 0 && len(body) > 0 {
			s.skip(Kind(c.text.Kind), c.path, Cut, fmt.Sprintf("the texts before it fill the %d bytes that the program takes of such texts", s.limit()))
			return
		}
		if n := int64(len(body)); n > s.left {
			cut, body = int(n-s.left), body[:s.left]
			line = 1 + bytes.Count(whole[:len(whole)-cut], []byte("\n"))
		}
		s.left -= int64(len(body))
	}
	from := File{Path: c.path, Real: real, Via: slices.Clone(via.paths)}
	parts := blocks(body)
	last := -1
	for n, p := range parts {
		if !empty(p.text) {
			last = n
		}
	}
	for n, p := range parts {
		i := s.item(c, r, p.text)
		if i.Bytes == 0 || empty(p.text) {
			continue
		}
		if p.name != "" {
			i.Kind, i.Name = Rule, p.name
		}
		if n == last {
			i.Cut, i.CutLine = cut, line
		}
		s.take(i, from)
	}
	if c.text.Imports && s.data.Imports != nil {
		s.imports(c, body, chain{append(via.paths, c.path), append(via.reals, real), via.seen, via.budget})
	}
}

// takenBefore names the file that has brought in a text already, where the
// program takes such texts once; else it notes this one.
func (s *session) takenBefore(class, p, real string, body []byte) string {
	var keys []string
	for _, o := range s.data.Once {
		if !slices.Contains(o.Among, class) {
			continue
		}
		key := "path " + p
		switch o.By {
		case "file":
			key = "file " + real
		case "content":
			key = "content " + Digest(body)
		}
		if had, ok := s.once[key]; ok {
			return had
		}
		keys = append(keys, key)
	}
	for _, k := range keys {
		s.once[k] = p
	}
	return ""
}

// item is a text, or a part of it, as the program gives it to the model.
func (s *session) item(c candidate, r scoped, raw []byte) Item {
	own := raw
	if c.text.Imports && s.data.Imports != nil {
		own = withoutImportLines(raw)
	}
	text := own
	if c.text.DropsComments {
		text = withoutComments(text)
	}
	i := Item{Kind: Kind(c.text.Kind), Name: path.Base(c.path), Digest: Digest(raw), When: r.when, Paths: r.paths, Text: text, Broken: r.broken}
	if i.Kind == Rule {
		i.Name = ruleName(c.path)
	}
	if len(normal(text)) > 0 {
		i.Bytes = len(text)
	}
	return i
}

// Digest is the same for texts that say the same: line ends, blank lines at both
// ends, and lines that only import count for nothing, nor do front matter and
// the markers of blocks, which are no part of an item's text.
func Digest(text []byte) string {
	sum := sha256.Sum256(normal(withoutImportLines(text)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// normal is text without a byte order mark, carriage returns, and blanks at its
// ends.
func normal(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return bytes.TrimSpace(text)
}

// empty reports whether a text holds nothing but import lines: these are no item
// of a program, whether it follows them or not.
func empty(text []byte) bool { return len(normal(withoutImportLines(text))) == 0 }

// part is what stands in a block of ours, or between blocks.
type part struct {
	name string // "" between blocks
	text []byte
}

const markerStart = "<!-- aisync:"

var marker = regexp.MustCompile(`^<!-- aisync:(begin|end) (\S+) -->[ \t\r]*\n?`)

// markers returns the indices of each marker and its parts, as a regexp does.
func markers(text []byte) (all [][]int) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(markerStart))
		if i < 0 {
			return all
		}
		at += i
		line := text[at:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		m := marker.FindSubmatchIndex(line)
		if m == nil || at > 0 && text[at-1] != '\n' {
			at += len(markerStart)
			continue
		}
		for i := range m {
			m[i] += at
		}
		all, at = append(all, m), m[1]
	}
}

// blocks cuts a text into what is the person's and the blocks that aisync writes.
// The person's part is one, as it would be without the blocks.
func blocks(text []byte) []part {
	if !bytes.Contains(text, []byte(markerStart)) {
		return []part{{"", text}}
	}
	var own []byte
	var out []part
	name, at := "", 0
	for _, m := range markers(text) {
		inner, begins, block := text[at:m[0]], string(text[m[2]:m[3]]) == "begin", string(text[m[4]:m[5]])
		switch {
		case begins && name == "":
			own, name, at = append(own, inner...), block, m[1]
		case !begins && name == block:
			out, name, at = append(out, part{name, inner}), "", m[1]
		}
	}
	if name != "" {
		out = append(out, part{name, text[at:]})
	} else {
		own = append(own, text[at:]...)
	}
	return append([]part{{"", own}}, out...)
}

// imports follows the lines @path of a text.
func (s *session) imports(c candidate, body []byte, way chain) {
	rule := s.data.Imports
	if c.text.DropsComments {
		body = withoutComments(body)
	}
	for _, named := range importsOf(body) {
		p := path.Join(path.Dir(c.path), named)
		switch {
		case strings.HasPrefix(named, "~/"):
			p = path.Join(s.m.Home, named[2:])
		case path.IsAbs(named):
			p = path.Clean(named)
		}
		real, mode, err := s.files.resolve(p)
		if err != nil || !mode.IsRegular() {
			if strings.Contains(path.Base(named), ".") && (strings.Contains(named, "/") || path.Ext(named) == ".md") {
				s.skip(Kind(c.text.Kind), p, Missing, "no such file; "+s.relative(c.path)+" imports it")
			}
			continue
		}
		if slices.Contains(way.reals, real) || !rule.PerLine && way.seen[real] {
			continue // it is there
		}
		if !s.allows(c, p) {
			s.skip(Kind(c.text.Kind), p, Outside, s.relative(c.path)+" imports it from outside "+s.relative(s.border()))
			continue
		}
		if s.excluded(Kind(c.text.Kind), p) {
			continue
		}
		*way.budget++
		if rule.Depth > 0 && len(way.paths) > rule.Depth || *way.budget > maxImports {
			s.skip(Kind(c.text.Kind), p, TooDeep, s.relative(c.path)+" imports it at the end of a chain that is too long")
			continue
		}
		way.seen[real] = true
		s.takeFile(candidate{c.text, p, c.dir}, scoped{when: AtStart}, &way)
	}
}

// border is the folder that imports may not leave; "" is none.
func (s *session) border() string {
	switch s.data.Imports.Within {
	case "start":
		return s.start
	case "project":
		return s.top
	}
	return ""
}

// allows reports whether c may import p.
func (s *session) allows(c candidate, p string) bool {
	border := s.border()
	if c.text.Walk == spec.WalkUser {
		if s.data.Imports.UserAnywhere {
			return true
		}
		border = path.Dir(c.path)
	}
	if border == "" || inside(border, p) {
		return true
	}
	return slices.ContainsFunc(s.data.Imports.Approval, func(r spec.Reference) bool { return s.record(r, s.top) })
}

// Unblocked returns a text without the blocks that aisync writes.
func Unblocked(text []byte) []byte { return blocks(text)[0].text }

// Own returns what is the person's of a text: what is outside of blocks, without
// import lines.
func Own(text []byte) []byte { return normal(withoutImportLines(Unblocked(text))) }
