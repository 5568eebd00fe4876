package effects

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/gitrepo"
)

// Carried returns a function that reports whether a file of the project dir may
// have come with it: one in git's HEAD, behind a link, in a submodule or in
// another repository, or any file if git cannot tell. env is git's environment.
func Carried(env []string, dir string) func(name string) bool {
	look := func(args ...string) (string, error) {
		out, err := gitrepo.Look(context.Background(), env, gitrepo.Place{Dir: dir}, args...).Output()
		return string(out), err
	}
	return func(name string) bool {
		for at := path.Clean(name); at != "."; at = path.Dir(at) {
			if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(at))); err != nil || info.Mode()&fs.ModeSymlink != 0 {
				return true
			}
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path.Dir(at)), ".git")); err == nil && path.Dir(at) != "." {
				return true
			}
			out, err := look("ls-tree", "-z", "HEAD", "--", at)
			if err != nil {
				_, noRepository := look("rev-parse", "--git-dir")
				_, noCommit := look("rev-parse", "--verify", "-q", "HEAD")
				return noRepository != nil || noCommit == nil
			}
			if out != "" && !strings.HasPrefix(out, "040000 ") { // not a folder: the file itself, a link, a submodule
				return true
			}
		}
		return false
	}
}
