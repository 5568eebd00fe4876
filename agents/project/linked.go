package project

import (
	"io"
	"os"
	"path"
	"strings"
)

// MainTree returns the top of the main work tree of a repository, of which dir is
// the top of a linked one; "" if it is none, or if the repository does not know it.
func MainTree(dir string) string {
	link := path.Join(dir, ".git")
	admin := pointer(link, "gitdir: ", dir)
	if admin == "" {
		return ""
	}
	back := pointer(path.Join(admin, "gitdir"), "", admin)
	common := pointer(path.Join(admin, "commondir"), "", admin)
	if back == "" || path.Base(common) != ".git" {
		return "" // a submodule, or a repository without a main work tree
	}
	one, err1 := os.Stat(link)
	two, err2 := os.Stat(back)
	if err1 != nil || err2 != nil || !os.SameFile(one, two) {
		return ""
	}
	return path.Dir(common)
}

// pointer returns the absolute path in a small regular file, after the prefix and
// below dir if it is relative; "" if there is none.
func pointer(file, prefix, dir string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 8<<10))
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if err != nil || !ok || to == "" {
		return ""
	}
	if !path.IsAbs(to) {
		to = path.Join(dir, to)
	}
	return path.Clean(to)
}
