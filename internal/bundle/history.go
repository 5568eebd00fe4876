package bundle

import (
	"context"
	"path"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/fetch/git"
)

// history is every version of every file of a tree, as git has it. The zero
// value is that of a tree without one.
type history struct {
	dir      string
	versions map[string][]git.Version // by the last part of their path
}

// versions answers what files were before. It knows nothing else of its tree,
// so that who may ask later does not keep the texts of thousands of files.
type versions struct {
	dir     string // of the tree, links resolved
	none    bool   // what git says there is a stranger's word
	history func() history
	texts   sync.Map // of past, by src
}

func newVersions(dir string) *versions {
	v := &versions{dir: dir}
	v.history = sync.OnceValue(v.read)
	return v
}

// read asks git once. A tree that git knows nothing of has no history, and
// neither has what came out of an archive.
func (t *versions) read() history {
	if t.none {
		return history{}
	}
	all, err := git.History(context.Background(), t.dir)
	if err != nil {
		return history{} // what was before is a comfort: without it a file is somebody's
	}
	h := history{t.dir, map[string][]git.Version{}}
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
