package bundle

import (
	"context"
	"path"
	"strings"

	"aisync.dev/aisync/providers/fetch/git"
)

// history is every version of every file of a tree, as git has it. The zero
// value is that of a tree without one.
type history struct {
	dir      string
	versions map[string][]git.Version // by the last part of their path
}

// readHistory asks git once. A tree that git knows nothing of has no history,
// and neither has what came out of an archive.
func (t *Tree) readHistory() history {
	if t.noHistory {
		return history{}
	}
	all, err := git.History(context.Background(), t.real)
	if err != nil {
		return history{} // what was before is a comfort: without it a file is somebody's
	}
	h := history{t.real, map[string][]git.Version{}}
	for _, v := range all {
		base := path.Base(v.Path)
		h.versions[base] = append(h.versions[base], v)
	}
	return h
}

// past returns what the file src held in all versions of its source, newest
// first. A file counts under every name that it may have had:
// rules and settings have moved between layouts, so that of those the last part
// of the name is enough; others must have lain in a folder of the same name.
func (t *Tree) past(src string) [][]byte {
	if texts, ok := t.texts.Load(src); ok {
		return texts.([][]byte)
	}
	h := t.history()
	var same []git.Version
	for _, v := range h.versions[path.Base(src)] {
		if alike(v.Path, src) {
			same = append(same, v)
		}
	}
	var texts [][]byte
	if len(same) > 0 {
		texts, _ = git.Texts(context.Background(), h.dir, same) // as without a history
	}
	t.texts.Store(src, texts)
	return texts
}

// alike reports whether a file at was, in some version, may be the one at is.
func alike(was, is string) bool {
	if was == is {
		return true
	}
	folder := path.Base(path.Dir(is))
	if strings.HasSuffix(is, "-rules/"+path.Base(is)) || folder == "rules" {
		from := path.Base(path.Dir(was))
		return from == "rules" || strings.HasSuffix(from, "-rules")
	}
	return folder == path.Base(path.Dir(was))
}
