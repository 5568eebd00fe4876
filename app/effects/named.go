package effects

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// contains reports whether name, links resolved, lies in the project or nowhere.
func (t *tree) contains(name string) bool {
	root, err := filepath.EvalSymlinks(t.root)
	if err != nil {
		return false
	}
	for at := filepath.Join(root, filepath.FromSlash(name)); ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return real == root || strings.HasPrefix(real, root+string(os.PathSeparator))
		}
		if _, err := os.Lstat(at); err == nil || at == root || at == filepath.Dir(at) {
			return false // a dangling link, so far
		}
	}
}

// named returns the files of the project that texts of a file in dir name:
// commands, arguments and paths, resolved as shells and programs do, from each
// folder that another of the texts names too. It prefers one file too many to
// one too few, except for patterns: what they match is a command's input.
func (t *tree) named(dir string, texts []string) []string {
	var words []string
	for _, text := range texts {
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;|&()<>=,{}", r) })...)
	}
	bases := []string{"."}
	if dir != "." {
		bases = append(bases, dir)
		if name := path.Base(dir); name == ".claude-plugin" || name == "hooks" || name == "monitors" {
			bases = append(bases, path.Dir(dir)) // of a plugin, whose paths begin at its root
		}
	}
	for _, word := range words {
		for _, name := range t.candidates(bases[:min(3, len(bases))], word) {
			if name = t.within(name); name != "" && name != "." && len(bases) < 8 && !slices.Contains(bases, name) && t.folder(name) {
				bases = append(bases, name)
			}
		}
	}
	n := namer{t: t, seen: map[string]bool{}}
	module := false // the previous word was python's -m
	for _, word := range words {
		joined, isJoined := strings.CutPrefix(word, "-m")
		if module || isJoined && joined != "" {
			if !module {
				word = joined
			}
			for _, base := range bases {
				p := path.Join(base, strings.ReplaceAll(word, ".", "/"))
				n.add(p + ".py")
				n.add(p + "/__init__.py")
				n.add(p + "/__main__.py")
			}
		}
		module = word == "-m"
		for _, name := range t.candidates(bases, word) {
			if !n.add(name) && (strings.Contains(word, "/") || t.folder(t.within(name))) {
				n.entry(name)
			}
		}
	}
	slices.Sort(n.out)
	return n.out
}

// namer collects the files of a project that texts name.
type namer struct {
	t    *tree
	seen map[string]bool
	out  []string
}

// add reports whether name is a file of the project.
func (n *namer) add(name string) bool {
	if name = n.t.within(name); name == "" || name == "." {
		return false
	}
	if is, ok := n.seen[name]; ok {
		return is
	}
	_, n.seen[name] = n.t.digest(name)
	if n.seen[name] {
		n.out = append(n.out, name)
	}
	return n.seen[name]
}

// entry adds what a program loads when given a folder, or a file without its
// extension.
func (n *namer) entry(name string) {
	for _, more := range []string{".js", ".ts", ".mjs", ".cjs", "/index.js", "/index.ts", "/index.mjs", "/index.cjs", "/__main__.py", "/plugin.json"} {
		n.add(name + more)
	}
	if !n.add(name + "/package.json") {
		return
	}
	doc, _, err := n.t.read(n.t.within(name + "/package.json"))
	if err != nil {
		return
	}
	list, _ := settings("json", doc)
	for _, s := range list {
		if v, ok := s.value.(string); ok && len(s.path) > 0 && slices.Contains([]string{"main", "module", "exports", "bin"}, s.path[0]) {
			for _, end := range []string{"", ".js", "/index.js"} {
				n.add(path.Join(name, v) + end)
			}
		}
	}
}

// within is name as a clean path of the project, "" if it leads out of it.
func (t *tree) within(name string) string {
	root := filepath.ToSlash(t.root)
	whole := path.Join(root, name)
	if whole == root {
		return "."
	}
	inside, ok := strings.CutPrefix(whole, root+"/")
	if !ok {
		return ""
	}
	return inside
}

// folder reports whether name is a folder of the project.
func (t *tree) folder(name string) bool {
	if name == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(name)))
	if err == nil {
		return info.IsDir()
	}
	return len(t.below(name)) > 0
}

// candidates are the project paths that word may stand for, relative to each of
// bases.
func (t *tree) candidates(bases []string, word string) []string {
	word = strings.TrimPrefix(word, "file://")
	if strings.Contains(word, "://") || strings.ContainsAny(word, "*?") {
		return nil
	}
	if strings.HasPrefix(word, "-") { // -r./x.js; the text after = is a separate word
		if len(word) < 3 || word[1] == '-' {
			return nil
		}
		word = word[2:]
	}
	if rest, ok := strings.CutPrefix(word, "$"); ok { // most likely after a variable with the project's path
		_, word, ok = strings.Cut(rest, "/")
		if !ok {
			return nil
		}
	}
	if inside, ok := strings.CutPrefix(word, t.root+"/"); ok {
		return []string{inside}
	}
	if strings.HasPrefix(word, "/") { // after $(git rev-parse --show-toplevel), or a variable in braces
		word = strings.TrimLeft(word, "/")
	}
	if word == "" {
		return nil
	}
	var out []string
	for _, base := range bases {
		out = append(out, path.Join(base, word))
	}
	return out
}
