package bundle

import (
	"context"
	"path"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/fetch/git"
)

// history is every version in git of every file of a tree. The zero value is
// empty.
type history struct {
	dir      string
	versions map[string][]git.Version // by the last part of their path
}

// versions finds the former contents of files. It holds nothing else of its
// tree, so that a body which may ask later does not retain thousands of texts.
type versions struct {
	dir     string // of the tree, links resolved
	none    bool   // do not trust git's data there
	history func() history
	texts   sync.Map // of past, by src
}

func newVersions(dir string) *versions {
	v := &versions{dir: dir}
	v.history = sync.OnceValue(v.read)
	return v
}

// read asks git once. A tree outside git has no history, nor has one from an
// archive.
func (t *versions) read() history {
	if t.none {
		return history{}
	}
	all, err := git.History(context.Background(), t.dir)
	if err != nil {
		return history{} // history is optional: without it a file counts as another writer's
	}
	h := history{t.dir, map[string][]git.Version{}}
	for _, v := range all {
		base := path.Base(v.Path)
		h.versions[base] = append(h.versions[base], v)
	}
	return h
}

// past returns the contents of the file src in all versions of its source,
// newest first. A file counts under every former name: rules and settings have
// moved between layouts, so the last part of their name suffices; others must
// have been in a folder with the same name.
func (t *versions) past(src string) [][]byte {
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

// alike reports whether the file at was, in some version, may be the one at is.
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
