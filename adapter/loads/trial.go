package loads

import (
	"maps"
	"path"
	"path/filepath"

	"aisync.dev/aisync/schema/spec"
)

// Trial is a project that holds nothing but some files, to ask what a program would
// load of them.
type Trial struct{ tree *Planned }

// trialRoot is the folder of a Trial.
const trialRoot = "/p"

// NewTrial returns the project with files and links, by their paths below it. A
// link out of the project is left out.
func NewTrial(files map[string][]byte, links map[string]string) Trial {
	t := &Planned{Files: map[string][]byte{trialRoot + "/.git/HEAD": nil}, Links: map[string]string{}}
	for name, text := range files {
		t.Files[path.Join(trialRoot, name)] = text
	}
	for name, to := range links {
		if filepath.IsLocal(path.Join(path.Dir(name), to)) {
			t.Links[path.Join(trialRoot, name)] = to
		}
	}
	return Trial{t}
}

// WithFile is the same project with a file more, in place of what is there.
func (t Trial) WithFile(name, text string) Trial {
	next := t.Without(name)
	next.tree.Files[path.Join(trialRoot, name)] = []byte(text)
	return next
}

// WithLink is the same project with a link more, in place of what is there.
func (t Trial) WithLink(name, to string) Trial {
	next := t.Without(name)
	next.tree.Links[path.Join(trialRoot, name)] = to
	return next
}

// Without is the same project without a file or link.
func (t Trial) Without(name string) Trial {
	at := path.Join(trialRoot, name)
	next := &Planned{Files: maps.Clone(t.tree.Files), Links: maps.Clone(t.tree.Links)}
	delete(next.Files, at)
	delete(next.Links, at)
	return Trial{next}
}

// Copies returns how often a program that is started in a folder of the project,
// "" for its root, has a text at its start; -1 if the catalog does not say what it
// loads.
func (t Trial) Copies(rt *spec.Runtime, folder string, text []byte) int {
	r, err := Loads(*rt, Machine{Tree: t.tree, Home: "/h", Trust: Granted}, path.Join(trialRoot, folder))
	if err != nil {
		return -1
	}
	n, _ := r.Count(text)
	return n
}
