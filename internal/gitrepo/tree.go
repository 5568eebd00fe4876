package gitrepo

import (
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// IsTop reports whether dir is the root of a git work tree: a repository, a
// linked work tree or a submodule.
func IsTop(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil && (info.IsDir() || info.Mode().IsRegular())
}

// noLinks finds the setting by which git says that a work tree holds no links.
var noLinks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^\s*symlinks\s*=\s*false\s*$`) })

// NoLinks reports whether git keeps links below dir as plain files: what is a
// link for others would be a text there.
func NoLinks(dir string) bool {
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	return err == nil && noLinks().Match(config)
}
