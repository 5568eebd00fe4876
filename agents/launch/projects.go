package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/agents/project"
)

// Depth is how far below a root Projects searches.
const Depth = 4

// Project is a folder with .ai/protocols.org.
type Project struct {
	Name string `json:"name"`
	Dir  string `json:"dir"` // without links
}

// Projects finds the projects in and below roots, sorted by name and folder. It
// skips the insides of projects, folders whose name begins with a dot, and
// node_modules. A missing root has none.
func Projects(roots []string) ([]Project, error) {
	var out []Project
	for _, root := range roots {
		root, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for projects: %w", err)
		}
		out = append(out, below(root, Depth)...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name+"\x00"+out[i].Dir < out[j].Name+"\x00"+out[j].Dir })
	return slices.Compact(out), nil
}

// below searches dir. An unreadable folder holds none.
func below(dir string, depth int) []Project {
	if project.Is(dir) {
		return []Project{{project.Name(dir), dir}}
	}
	if depth == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []Project
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			out = append(out, below(filepath.Join(dir, e.Name()), depth-1)...)
		}
	}
	return out
}

// IsPath reports whether a word names a folder rather than a project: it
// contains a slash, is . or .., or names an existing folder.
func IsPath(word string) bool {
	if word == "." || word == ".." || strings.Contains(word, "/") {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.IsDir()
}

// Named returns the project with a name.
func Named(projects []Project, name string) (Project, error) {
	var found []Project
	var names, dirs []string
	for _, p := range projects {
		names = append(names, p.Name)
		if p.Name == name {
			found, dirs = append(found, p), append(dirs, p.Dir)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Project{}, fmt.Errorf("unknown project %q: %s", name, orNone(names, "none found"))
	}
	return Project{}, fmt.Errorf("%d projects are called %q; name the folder: %s", len(found), name, strings.Join(dirs, ", "))
}

func orNone(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return "there are " + strings.Join(names, ", ")
}
