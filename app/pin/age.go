package pin

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/regular"
)

// CommitDate returns when the commit was made that lies in dir, a folder of the cache.
// It is an error for what came from an archive.
func CommitDate(ctx context.Context, dir string) (time.Time, error) { return git.Date(ctx, dir) }

// licence matches the names of files with a licence's text.
var licence = regexp.MustCompile(`(?i)^(un)?licen[cs]e(\.(md|txt|rst))?$|^copying(\.(md|txt))?$`)

// LicenceText returns the file with the licence of a source in dir: at its top, or at
// the top of the repository whose history came along. No name: there is none.
func LicenceText(ctx context.Context, dir string) (name string, text []byte) {
	entries, _ := os.ReadDir(dir) // what cannot be read has none
	for _, e := range entries {
		if !licence.MatchString(e.Name()) {
			continue
		}
		if text, err := regular.Read(filepath.Join(dir, e.Name()), regular.MaxSpec); err == nil {
			return e.Name(), text
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return "", nil
	}
	return git.TopFile(ctx, dir, licence.MatchString)
}
