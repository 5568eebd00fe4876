package gitrepo

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Excludes is the file in which one clone keeps patterns that git ignores there and
// does not carry, and in it the patterns of one folder, between two marks. All work
// trees of a clone share the file.
// https://git-scm.com/docs/gitrepository-layout, "info/exclude"
type Excludes struct {
	File   string
	dir    string // whose patterns they are
	prefix string // of dir in its work tree, with a slash at the end; "" at its top
	text   []byte
	had    []string
}

// ReadExcludes returns the patterns for dir; ok is false where dir lies in no work
// tree.
func ReadExcludes(dir string) (e Excludes, ok bool) {
	top := filepath.Clean(dir)
	for !exists(filepath.Join(top, ".git")) {
		if top == filepath.Dir(top) {
			return Excludes{}, false
		}
		top = filepath.Dir(top)
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return Excludes{}, false
	}
	e.dir = dir
	if rel != "." {
		e.prefix = filepath.ToSlash(rel) + "/"
	}
	git := filepath.Join(top, ".git")
	if to, linked := pointer(git, "gitdir: "); linked {
		git = to
	}
	if common, linked := pointer(filepath.Join(git, "commondir"), ""); linked {
		git = common
	}
	if info, err := os.Stat(git); err != nil || !info.IsDir() {
		return Excludes{}, false
	}
	e.File = filepath.Join(git, "info", "exclude")
	e.text = readSmall(e.File)
	_, e.had, _ = cut(e.text, dir)
	return e, true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Missing returns those of files, paths below the folder, that have no pattern.
func (e Excludes) Missing(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(e.had, e.pattern(f)) })
}

// With returns the file's text with patterns for files, and for those that had one:
// all, or, once gone counts, those that are still there. changed is false if that
// is its text already. All else in it keeps its bytes.
func (e Excludes) With(files []string, gone bool) (text []byte, changed bool) {
	var patterns []string
	for _, f := range files {
		patterns = append(patterns, e.pattern(f))
	}
	for _, p := range e.had {
		name := strings.TrimPrefix(unescape.Replace(p), "/"+e.prefix)
		if !gone || exists(filepath.Join(e.dir, filepath.FromSlash(name))) {
			patterns = append(patterns, p)
		}
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	if slices.Equal(e.had, patterns) {
		return e.text, false
	}
	out, _, after := cut(e.text, e.dir)
	if len(patterns) > 0 {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		begin, end := marks(e.dir)
		out += begin + "\n" + strings.Join(patterns, "\n") + "\n" + end + "\n"
	}
	return []byte(out + after), true
}

// pattern matches one path below the folder and nothing else.
// https://git-scm.com/docs/gitignore, "Pattern format"
func (e Excludes) pattern(name string) string { return "/" + escape.Replace(e.prefix+name) }

var (
	escape   = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	unescape = strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?", `\[`, "[", `\ `, " ")
)

// pointer reads a file that names a folder after word.
func pointer(file, word string) (string, bool) {
	text := readSmall(file)
	if len(text) == 0 || !strings.HasPrefix(string(text), word) {
		return "", false
	}
	to := strings.TrimSpace(strings.TrimPrefix(string(text), word))
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return to, to != ""
}

// readSmall returns the text of a regular file of a size that git itself would
// write; nil for anything else, such as a pipe.
func readSmall(file string) []byte {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
		return nil
	}
	text, _ := os.ReadFile(file)
	return text
}

// marks are the lines around the patterns of owner, a work tree's folder.
func marks(owner string) (begin, end string) {
	return "# aisync BEGIN " + strconv.Quote(owner), "# aisync END " + strconv.Quote(owner)
}

// cut splits text at the patterns of owner.
func cut(text []byte, owner string) (before string, patterns []string, after string) {
	begin, end := marks(owner)
	lines := strings.SplitAfter(string(text), "\n")
	bare := func(l string) string { return strings.TrimRight(l, "\r\n") }
	from := slices.IndexFunc(lines, func(l string) bool { return bare(l) == begin })
	if from < 0 {
		return string(text), nil, ""
	}
	n := slices.IndexFunc(lines[from:], func(l string) bool { return bare(l) == end })
	if n < 0 { // cut off by hand: the patterns count as the person's
		return strings.Join(slices.Delete(lines, from, from+1), ""), nil, ""
	}
	for _, l := range lines[from+1 : from+n] {
		patterns = append(patterns, bare(l))
	}
	return strings.Join(lines[:from], ""), patterns, strings.Join(lines[from+n+1:], "")
}
