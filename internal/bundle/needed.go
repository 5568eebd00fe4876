package bundle

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle/plugin"
)

var (
	pathInText = regexp.MustCompile(`[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*`)
	variable   = regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^{}]*\})/`) // what stands for a folder
	moduleUse  = regexp.MustCompile(`(?m)^\s*(?:from|import)\s+([A-Za-z0-9_]+)`)
)

// needed are the files of a plugin that its hooks may use: the folders of the files
// that a hook's command names, then of those that a program or data there names,
// and so on. Texts for people and models name much that no hook uses, so they do
// not count. A command that names the plugin's folder alone may use everything.
func (t *Tree) needed(hooks []plugin.Hook) ([]File, error) {
	var all []File
	if err := t.add(&all, ".", plain, nil, nil); err != nil {
		return nil, err
	}
	n := needs{taken: map[string]bool{}, folders: map[string]bool{}, files: map[string]bool{}}
	for _, f := range all {
		n.files[f.Rel] = true
		for dir := path.Dir(f.Rel); dir != "."; dir = path.Dir(dir) {
			n.folders[dir] = true
		}
	}
	for _, h := range hooks {
		if plugin.NamesRootAlone(h.Command) {
			return all, nil
		}
		n.read(".", []byte(h.Command))
	}
	read := map[string]bool{}
	for more := true; more; {
		more = false
		for _, f := range all {
			if read[f.Rel] || !n.has(f.Rel) || strings.HasSuffix(f.Rel, ".md") {
				continue
			}
			text, err := t.readFile(f.Src)
			if err != nil {
				return nil, err
			}
			if read[f.Rel], more = true, true; bytes.IndexByte(text, 0) < 0 {
				n.read(path.Dir(f.Rel), text)
			}
		}
	}
	return slices.DeleteFunc(all, func(f File) bool { return !n.has(f.Rel) }), nil
}

// needs are the files and folders of a plugin, and those of them that are taken.
type needs struct{ files, folders, taken map[string]bool }

// has reports whether a file is taken, by itself or with a folder.
func (n needs) has(file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		if n.taken[at] {
			return true
		}
	}
	return false
}

// read takes what a text of the folder dir names.
func (n needs) read(dir string, text []byte) {
	for _, word := range pathInText.FindAll(variable.ReplaceAll(text, []byte(" ")), -1) {
		name := strings.TrimLeft(string(word), "./")
		for _, at := range []string{path.Join(dir, string(word)), name, path.Join(dir, name)} {
			switch {
			case n.files[at] && strings.Contains(at, "/"):
				n.taken[path.Dir(at)] = true
			case n.files[at], n.folders[at] && strings.Contains(name, "/"):
				n.taken[at] = true
			}
		}
	}
	for _, m := range moduleUse.FindAllSubmatch(text, -1) {
		if n.folders[string(m[1])] {
			n.taken[string(m[1])] = true
		}
	}
}
