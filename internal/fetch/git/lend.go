package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/gitrepo"
)

// origin is the file in .git with the digest of the URL that a clone is of. A URL may
// hold a password.
const origin = "aisync-origin"

// digest names a repository in origin.
func (s Source) digest() string {
	sum := sha256.Sum256([]byte(s.URL))
	return hex.EncodeToString(sum[:])
}

// lender returns the top of the clone in s.Beside that was fetched last from the URL of
// s, "" if there is none. Clones with a part of the history lend nothing.
func (s Source) lender() (top string) {
	if s.Beside == "" || s.Depth > 0 {
		return ""
	}
	var last time.Time
	for _, pattern := range []string{"*/.git", ".*/*/.git"} { // whole ones, and those of a fetch that goes on
		found, _ := filepath.Glob(filepath.Join(s.Beside, pattern))
		for _, dir := range found {
			text, err := os.ReadFile(filepath.Join(dir, origin))
			if err != nil || string(text) != s.digest() {
				continue
			}
			if _, err := os.Lstat(filepath.Join(dir, "shallow")); err == nil {
				continue
			}
			if info, err := os.Stat(filepath.Join(dir, "FETCH_HEAD")); err == nil && info.ModTime().After(last) {
				top, last = filepath.Dir(dir), info.ModTime()
			}
		}
	}
	return top
}

// borrow gives the empty repository g what the clone at top has: its objects, and its
// refs, which tell the host what need not be sent again.
func (g git) borrow(ctx context.Context, top string) error {
	refs, err := look(ctx, gitrepo.Place{Dir: top, GitDir: ".git"}, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return err
	}
	from, to := filepath.Join(top, ".git", "objects"), filepath.Join(g.dir, ".git", "objects")
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "tmp_") {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err = os.Link(path, at); errors.Is(err, syscall.EXDEV) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			err = copyFile(path, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.dir, ".git", "packed-refs"), refs, 0o644)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
