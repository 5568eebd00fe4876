package git

import (
	"context"
	"strings"

	"aisync.dev/aisync/internal/gitrepo"
)

// TopFile returns the first file at the top of the repository of the work tree dir
// whose name is one of those that want accepts, as it is committed. dir may be a folder
// of the repository that took its history along. No name: there is none.
func TopFile(ctx context.Context, dir string, want func(name string) bool) (name string, text []byte) {
	at := gitrepo.Place{Dir: dir, GitDir: ".git"}
	out, err := look(ctx, at, nil, "ls-tree", "-z", "HEAD")
	if err != nil {
		return "", nil
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		// <mode> blob <id>\t<path>
		meta, path, _ := strings.Cut(entry, "\t")
		f := strings.Fields(meta)
		if len(f) != 3 || !strings.HasPrefix(f[0], "100") || !want(path) {
			continue
		}
		if text, err = look(ctx, at, nil, "cat-file", "blob", f[2]); err == nil {
			return path, text
		}
	}
	return "", nil
}
