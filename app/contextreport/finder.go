package contextreport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/internal/secret"
)

// finder finds what one program has twice.
type finder struct {
	Search
	program string
	copies  []textCopy
	found   []Duplicate
}

func (f *finder) add(kind loads.Kind, name string, kept, extra Place, is Relation, raw []byte) {
	f.found = append(f.found, Duplicate{[]string{f.program}, kind, secret.Show(name), kept, extra, is, bytesDigest(raw)})
}

// imported finds files that the program takes by themselves and by an import.
func (f *finder) imported() {
	for n, c := range f.copies {
		if len(c.file.Via) == 0 {
			continue
		}
		other := func(o textCopy) bool {
			return o.file.Real == c.file.Real && o.item.Digest == c.item.Digest
		}
		if i := slices.IndexFunc(f.copies, other); i >= 0 && i != n {
			kept, extra := c.place(), c.place()
			extra.By = c.file.Via[len(c.file.Via)-1]
			extra.Ours = slices.ContainsFunc(f.Own[extra.By].Keys, func(key string) bool { return strings.HasPrefix(key, "line:@") })
			f.add(loads.Note, path.Base(c.file.Real), kept, extra, Imported, nil)
		}
	}
	same := func(a, b Duplicate) bool { return a.Extra == b.Extra }
	f.found = slices.CompactFunc(f.found, same) // one, however many blocks the file has
}

// texts finds the copies that aisync does not write and that repeat another, or
// an earlier version of it.
func (f *finder) texts() {
	for n, c := range f.copies {
		if c.ours || slices.ContainsFunc(f.copies[:n], func(o textCopy) bool { return o.file.Real == c.file.Real && o.item.Digest == c.item.Digest }) {
			continue
		}
		raw := c.read()
		texts := [][]byte{c.text}
		if c.item.Kind == loads.Rule {
			texts = append(texts, inLongerText(raw))
		}
		twin, within := f.twin(n, texts)
		switch {
		case twin >= 0 && within:
			f.add(f.copies[twin].item.Kind, f.copies[twin].item.Name, f.copies[twin].place(), c.place(), Within, raw)
		case twin >= 0:
			is := Same
			if c.item.Kind == loads.Rule {
				is = f.known(c.item.Kind, c.file.Real, raw).relation(Same)
			}
			f.add(c.item.Kind, c.item.Name, f.copies[twin].place(), c.place(), is, raw)
		case c.item.Kind == loads.Rule:
			f.stale(c, raw)
		}
	}
}

// relation is that of a copy of what sources know.
func (k KnownFile) relation(otherwise Relation) Relation {
	switch {
	case k.Now:
		return Copied
	case k.Earlier:
		return Earlier
	}
	return otherwise
}

func (f *finder) known(kind loads.Kind, p string, text []byte) KnownFile {
	if f.Known == nil {
		return KnownFile{}
	}
	return f.Known(kind, p, text)
}

// twin is the index of the copy that says what copy n says, one of ours if there
// is one, and whether n says more than that; -1 is none. Of two that aisync does
// not write, the first has no twin.
func (f *finder) twin(n int, texts [][]byte) (at int, within bool) {
	at = -1
	for i, o := range f.copies {
		if i == n || o.file.Real == f.copies[n].file.Real || !o.ours && i > n {
			continue
		}
		for _, text := range texts {
			if o.item.Digest == f.copies[n].item.Digest || bytes.Equal(o.text, text) || contains(o.text, text) {
				if o.ours {
					return i, false
				}
				at, within = i, false
			}
		}
		if at < 0 && o.ours && contains(texts[0], o.text) {
			at, within = i, true
		}
	}
	return at, within
}

// stale finds an earlier or edited version of a rule whose text of today the
// program has from elsewhere, and a rule that its source no longer has.
func (f *finder) stale(c textCopy, raw []byte) {
	k := f.known(c.item.Kind, c.file.Real, raw)
	if k.Earlier && k.Gone {
		f.add(c.item.Kind, c.item.Name, Place{}, c.place(), Gone, raw)
		return
	}
	for _, now := range k.Texts {
		i := slices.IndexFunc(f.copies, func(o textCopy) bool {
			return o.ours && o.file.Real != c.file.Real && (contains(o.text, inLongerText(now)) || bytes.Equal(o.text, inLongerText(now)))
		})
		if i < 0 {
			continue
		}
		kept := f.copies[i].place()
		switch {
		case k.Earlier:
			f.add(c.item.Kind, c.item.Name, kept, c.place(), Earlier, raw)
			return
		case heading(now) != "" && heading(now) == heading(raw):
			f.add(c.item.Kind, c.item.Name, kept, c.place(), Edited, raw)
			return
		}
	}
}

// heading is the first heading of a text, such as "# Testing".
func heading(text []byte) string {
	for line := range bytes.Lines(inLongerText(text)) {
		if line[0] == '#' {
			return string(bytes.TrimSpace(line))
		}
	}
	return ""
}

// parts finds skills, commands, subagents and MCP servers of one name.
func (f *finder) parts(r loads.Result) {
	type found struct {
		item  loads.Item
		place Place
		real  string
	}
	byName := map[string][]found{}
	var order []string
	for _, i := range r.Items {
		if i.Kind == loads.Note || i.Kind == loads.Rule || i.Kind == loads.Hook || i.Total == 0 {
			continue
		}
		key := string(i.Kind) + " " + i.Name
		if byName[key] == nil {
			order = append(order, key)
		}
		for _, from := range i.From {
			byName[key] = append(byName[key], found{i, placeOf(from, f.ours(i, from)), from.Real})
		}
	}
	for _, key := range order {
		list := byName[key]
		sort.SliceStable(list, func(i, j int) bool { return rank(list[i].place) < rank(list[j].place) })
		for _, extra := range list[1:] {
			is := Differs
			if extra.item.Digest == list[0].item.Digest {
				is = Same
			}
			var raw []byte
			if !extra.place.Ours && extra.item.Kind != loads.MCPServer && f.alone(extra.item.Kind, extra.real) {
				raw, _ = f.Machine.Tree.ReadFile(strings.TrimPrefix(extra.real, "/")) // loads has read it
				is = f.known(extra.item.Kind, extra.place.Path, raw).relation(is)
			}
			f.add(extra.item.Kind, extra.item.Name, list[0].place, extra.place, is, raw)
		}
	}
}

// alone reports whether a file is all of its item: a skill may have others beside
// it, which would be left without it.
func (f *finder) alone(kind loads.Kind, p string) bool {
	list, err := f.Machine.Tree.ReadDir(strings.TrimPrefix(path.Dir(p), "/"))
	return kind != loads.Skill || err == nil && len(list) == 1
}

// rank puts what aisync writes first.
func rank(p Place) int {
	if p.Ours {
		return 0
	}
	return 1
}

func bytesDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hider is a tree without the whole files that aisync writes.
type hider struct {
	loads.Tree
	own    map[string]Own
	others bool // nor those of which nothing is another's
}

func (h *hider) hides(p string) bool {
	own := h.own[p]
	return own.Whole || h.others && own.Only
}

func (h *hider) missing(op, name string) error {
	if h.hides("/" + name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (h *hider) Lstat(name string) (fs.FileInfo, error) {
	if err := h.missing("lstat", name); err != nil {
		return nil, err
	}
	return h.Tree.Lstat(name)
}

func (h *hider) ReadLink(name string) (string, error) {
	if err := h.missing("readlink", name); err != nil {
		return "", err
	}
	return h.Tree.ReadLink(name)
}

func (h *hider) ReadFile(name string) ([]byte, error) {
	if err := h.missing("read", name); err != nil {
		return nil, err
	}
	return h.Tree.ReadFile(name)
}

func (h *hider) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := h.Tree.ReadDir(name)
	dir := "/" + name
	if name == "." {
		dir = ""
	}
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return h.hides(dir + "/" + e.Name()) }), err
}
