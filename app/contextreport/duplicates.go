package contextreport

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/schema/spec"
)

// Search is where FindDuplicates looks. All paths are absolute.
type Search struct {
	Programs []spec.Runtime
	Machine  loads.Machine // its tree may have, or lack, the whole files of Own
	Start    string        // the folder in which programs are started
	Own      map[string]Own

	Text   func(path string) ([]byte, error)                         // of a whole file of Own
	Titles func() map[string][]string                                // the whole files of Own that are rules, by their heading, such as "# Testing"
	Known  func(kind loads.Kind, path string, text []byte) KnownFile // what sources of bundles say of a file that aisync does not write
}

// Own is a file that aisync writes: the whole of it, or the keys of it that are
// listed, as package merge spells them.
type Own struct {
	Whole  bool
	Digest string // of a whole file's bytes
	Keys   []string
	Only   bool // there is nothing in the file but Keys
}

// KnownFile is what sources of bundles say of a file: its bytes are those of a
// file there, or were, and whether there is one of its name at all.
type KnownFile struct {
	Now, Earlier, Gone bool
	Texts              [][]byte // what files of its name hold now
}

// Relation is what the extra copy of a Duplicate is.
type Relation string

const (
	Copied   Relation = "copy"     // the bytes of a source's file, which aisync did not write
	Earlier  Relation = "earlier"  // those of an earlier version
	Gone     Relation = "gone"     // those of a rule that its source no longer has
	Edited   Relation = "edited"   // an edited copy of a rule
	Same     Relation = "same"     // the same text, from no source
	Within   Relation = "within"   // a longer text with that text in it
	Differs  Relation = "differs"  // of the same name, with another content
	Imported Relation = "imported" // the same file, by a line of another that imports it
)

// Place is where a copy comes from.
type Place struct {
	Path string `json:"path"`
	Real string `json:"links_to,omitempty"` // where links lead to
	By   string `json:"imported_by,omitempty"`
	Ours bool   `json:"ours"` // aisync writes it; with By, the line that imports it
}

func placeOf(f loads.File, ours bool) Place {
	p := Place{Path: f.Path, Ours: ours}
	switch {
	case ours: // a link to it may be a person's
		p.Path = f.Real
	case f.Real != f.Path:
		p.Real = f.Real
	}
	return p
}

// Duplicate is something that programs have twice, or, with the relation Gone,
// once too often.
type Duplicate struct {
	Programs []string   `json:"runtimes"`
	Kind     loads.Kind `json:"kind"`
	Name     string     `json:"name"`
	Kept     Place      `json:"kept"` // the copy of ours, where one is; without a path for Gone
	Extra    Place      `json:"extra"`
	Is       Relation   `json:"is"`
	Digest   string     `json:"-"` // of the extra copy's bytes, where Is was found out from these
}

// Removable reports whether aisync may remove the extra copy: no word of it would
// be lost, and it is no link.
func (d Duplicate) Removable() bool {
	known := d.Is == Gone || d.Kept.Ours && (d.Is == Copied || d.Is == Earlier)
	return known && !d.Extra.Ours && d.Extra.Real == ""
}

// shortest is the length in bytes from which on a text within another counts as
// a second copy of it.
const shortest = 32

// FindDuplicates returns what programs have twice at their start or, of rules for
// paths, once they read such a path. Whole files of Own are read only where a
// file that aisync does not write may repeat one.
func FindDuplicates(s Search) ([]Duplicate, error) {
	shown := s.equalSkills()
	results, err := s.load(shown, true)
	if err != nil {
		return nil, err
	}
	if s.reveal(shown, results) {
		if results, err = s.load(shown, false); err != nil {
			return nil, err
		}
	}
	var out []Duplicate
	for _, r := range results {
		f := finder{Search: s, program: r.Program, copies: s.copies(r)}
		f.imported()
		f.texts()
		f.parts(r)
		for _, d := range f.found {
			same := func(o Duplicate) bool {
				return o.Kind == d.Kind && o.Name == d.Name && o.Kept == d.Kept && o.Extra == d.Extra && o.Is == d.Is
			}
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i].Programs = append(out[i].Programs, r.Program)
			} else {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// load asks the programs, of a tree that has of the whole files of Own only those
// that are shown and, with others, nothing that aisync alone writes to. A program
// of which nothing is known has nothing.
func (s Search) load(shown map[string]bool, others bool) ([]loads.Result, error) {
	m := s.Machine
	tree := &loads.Planned{Base: &hider{m.Tree, s.Own, others}, Files: map[string][]byte{}}
	for p := range shown {
		if text, err := s.Text(p); err == nil { // applying it reports the error
			tree.Files[p] = text
		}
	}
	m.Tree = tree
	var out []loads.Result
	for _, rt := range s.Programs {
		if rt.Loads == nil {
			continue
		}
		r, err := loads.Loads(rt, m, s.Start)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// equalSkills are those of one name in several folders.
func (s Search) equalSkills() map[string]bool {
	first, out := map[string]string{}, map[string]bool{}
	for p := range s.Own {
		if path.Base(p) != "SKILL.md" {
			continue
		}
		name := path.Base(path.Dir(p))
		if other, twice := first[name]; twice {
			out[p], out[other] = true, true
		} else {
			first[name] = p
		}
	}
	return out
}

// reveal adds to shown the files that others may repeat: those of the same name or
// content, and those whose heading stands in another text. It reports whether
// there is anything that aisync does not write.
func (s Search) reveal(shown map[string]bool, results []loads.Result) bool {
	stems, digests, headings := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range results {
		for _, c := range s.copies(r) {
			if c.ours {
				continue
			}
			stems[stem(c.file.Real)], digests[c.digest()] = true, true
			for line := range bytes.Lines(c.text) {
				if line[0] == '#' {
					headings[string(bytes.TrimSpace(line))] = true
				}
			}
		}
		for _, i := range r.Items {
			for _, f := range i.From {
				if i.Kind != loads.Note && i.Kind != loads.Rule && !s.ours(i, f) {
					stems[stem(f.Real)] = true
				}
			}
		}
	}
	if len(stems) == 0 {
		return false
	}
	for p, own := range s.Own {
		if own.Whole && (stems[stem(p)] || digests[own.Digest]) {
			shown[p] = true
		}
	}
	if len(headings) == 0 || s.Titles == nil {
		return true
	}
	for title, files := range s.Titles() {
		for _, p := range files {
			if headings[title] {
				shown[p] = true
			}
		}
	}
	return true
}

// stem is what the files of a rule are called in every form, and the folder of a
// skill.
func stem(p string) string {
	base := path.Base(p)
	if base == "SKILL.md" {
		return path.Base(path.Dir(p)) + "/" + base
	}
	for _, suffix := range []string{".instructions.md", ".mdc", ".md", ".toml"} {
		if name, ok := strings.CutSuffix(base, suffix); ok {
			return name
		}
	}
	return base
}

// ours reports whether aisync writes an item at that place.
func (s Search) ours(i loads.Item, f loads.File) bool {
	own, ok := s.Own[f.Real]
	if !ok {
		own, ok = s.Own[f.Path]
	}
	return ok && (own.Whole || slices.ContainsFunc(own.Keys, func(key string) bool {
		name, isBlock := strings.CutPrefix(key, "block:")
		return isBlock && (name == i.Name || len(i.From) > 1 && bytes.Equal(s.block(f.Real, name), plain(i.Text))) || i.Kind == loads.MCPServer && strings.HasSuffix(key, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(i.Name))
	}))
}

// block is the text of a block of ours: equal texts are one item, under the name
// of the first.
func (s Search) block(file, name string) []byte {
	doc, _ := s.Machine.Tree.ReadFile(strings.TrimPrefix(file, "/")) // loads has read it
	_, rest, _ := bytes.Cut(doc, []byte("<!-- aisync:begin "+name+" -->"))
	text, _, _ := bytes.Cut(rest, []byte("<!-- aisync:end "+name+" -->"))
	return plain(text)
}

// textCopy is one copy of a note or a rule that a program has.
type textCopy struct {
	item loads.Item
	file loads.File
	text []byte
	ours bool
	read func() []byte // the bytes of the whole file
}

func (c textCopy) place() Place { return placeOf(c.file, c.ours) }

// copies are the texts that a program has, or will have once it reads a path.
func (s Search) copies(r loads.Result) []textCopy {
	var out []textCopy
	for _, i := range r.Items {
		if i.Kind != loads.Note && i.Kind != loads.Rule || i.Total == 0 && i.When != loads.OnPath {
			continue
		}
		text := plain(i.Text)
		if len(text) == 0 {
			continue
		}
		for _, f := range i.From {
			out = append(out, textCopy{item: i, file: f, text: text, ours: s.ours(i, f), read: func() []byte {
				raw, _ := s.Machine.Tree.ReadFile(strings.TrimPrefix(f.Real, "/")) // loads has read it
				return raw
			}})
		}
	}
	return out
}

func (c textCopy) digest() string { return bytesDigest(c.read()) }

// plain is a text as it is compared.
func plain(text []byte) []byte {
	return bytes.TrimSpace(bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n")))
}

// contains reports whether text stands in long, as whole lines.
func contains(long, text []byte) bool {
	if len(text) < shortest || len(text) > len(long) {
		return false
	}
	for at := 0; ; {
		n := bytes.Index(long[at:], text)
		if n < 0 {
			return false
		}
		from, to := at+n, at+n+len(text)
		if (from == 0 || long[from-1] == '\n') && (to == len(long) || long[to] == '\n') {
			return true
		}
		at = from + 1
	}
}

// inLongerText is a rule as it stands in an instruction file.
func inLongerText(rule []byte) []byte { return plain([]byte(render.RuleText(rule))) }
