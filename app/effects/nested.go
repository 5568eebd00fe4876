package effects

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// maxFolders bounds the folders that are searched for settings.
const maxFolders = 20_000

// nested is list with the files of the folders below the root, which a program
// reads when started there. all is false if there are too many folders to
// examine.
func (t *tree) nested(list []spec.Obeyed) (out []spec.Obeyed, all bool) {
	first := map[string]bool{} // first path segments
	for _, o := range list {
		for _, pattern := range o.Files {
			name, _, _ := strings.Cut(pattern, "/")
			first[name] = true
		}
	}
	var dirs []string
	folders, all := 0, true
	err := fs.WalkDir(os.DirFS(t.root), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // a program cannot read it either
		case d.IsDir() && leftOut(d.Name()):
			return fs.SkipDir
		case d.IsDir():
			if folders++; folders > maxFolders {
				all = false
				return fs.SkipAll
			}
		}
		if dir := path.Dir(at); dir != "." && first[d.Name()] && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	out = slices.Clone(list)
	for i, o := range out {
		out[i].Files = slices.Clone(o.Files)
		for _, dir := range dirs {
			for _, pattern := range o.Files {
				out[i].Files = append(out[i].Files, path.Join(literal(dir), pattern))
			}
		}
	}
	return out, all && err == nil
}

// literal is a pattern that matches only name.
func literal(name string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[", "{", "\\{").Replace(name)
}
