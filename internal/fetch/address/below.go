package address

import (
	"path"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"
)

// Below is the address of a folder within a fetched source.
func Below(src, folder string) string {
	root, sub := getter.SourceDirSubdir(src)
	if folder = path.Join(sub, folder); folder == "." || folder == "" {
		return src
	}
	root, query, asks := strings.Cut(root, "?")
	if asks {
		query = "?" + query
	}
	return root + "//" + folder + query
}

// Split cuts src into the address of all of it, and the folder in it.
func Split(src string) (root, folder string) { return getter.SourceDirSubdir(src) }

// Join is the reverse of Split for an address without parameters.
func Join(root, folder string) string {
	if folder == "" {
		return root
	}
	return root + "//" + folder
}

// Folder is the folder of a fetched source that src names; "" is all of it.
func Folder(src string) string {
	_, sub := getter.SourceDirSubdir(src)
	return sub
}

// Short is the shortest text that Parse reads as src.
func Short(src string) string {
	root, sub := getter.SourceDirSubdir(src)
	root, query, _ := strings.Cut(root, "?")
	ref, only := strings.CutPrefix(query, "ref=")
	for host, words := range hosts {
		repo, ok := strings.CutPrefix(root, "git::https://"+host+"/")
		if !ok || query != "" && (!only || strings.ContainsAny(ref, "&%/")) {
			continue
		}
		out := words[0] + ":" + strings.TrimSuffix(repo, ".git")
		if ref != "" {
			out += "@" + ref
		}
		if sub != "" {
			out += "//" + sub
		}
		if back, err := Parse(out, func(string) bool { return false }); err == nil && back == src {
			return out
		}
	}
	return src
}
