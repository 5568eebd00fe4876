package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/internal/gitrepo"
)

// Checkout is a folder in a work tree.
type Checkout struct {
	Top    string    // of the work tree
	Commit string    // the last one that changed something in the folder
	Date   time.Time // the committer's, of Commit
}

// LastChange describes the folder dir. It is an error if git carries nothing of
// dir.
func LastChange(ctx context.Context, dir string) (Checkout, error) {
	if !below(dir) { // no git needs to start
		return Checkout{}, fmt.Errorf("git carries nothing of %s", dir)
	}
	top, err := look(ctx, gitrepo.Place{Dir: dir}, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return Checkout{}, err
	}
	out, err := look(ctx, gitrepo.Place{Dir: dir}, nil, "log", "-1", "--no-mailmap", "--format=%H %ct", "--", ".")
	if err != nil {
		return Checkout{}, err
	}
	c := Checkout{Top: strings.TrimSuffix(string(top), "\n")}
	var seconds int64
	if n, _ := fmt.Sscan(string(out), &c.Commit, &seconds); n != 2 {
		return Checkout{}, fmt.Errorf("git carries nothing of %s", dir)
	}
	c.Date = time.Unix(seconds, 0).UTC()
	return c, nil
}

// below reports whether dir, or a folder above it, has a .git.
func below(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	for at := real; err == nil; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
	return true // git says what is wrong
}

// Order is how a checkout relates to a commit.
type Order int

const (
	Contains Order = iota // the commit is part of the checkout's history
	Before                // the checkout is part of the commit's history, or of an earlier date than a commit that it does not know
	Beside                // the commit is on another branch or tag of the repository
	After                 // the commit was on a branch that was rewritten: the checkout is of a later date
	Unknown               // the repository does not have the commit, and the checkout is of a later date
)

// Compare relates the checkout c of the folder dir to a commit and its date.
func (c Checkout) Compare(ctx context.Context, dir, id string, date time.Time) (Order, error) {
	ask := func(args ...string) (string, error) {
		out, err := look(ctx, gitrepo.Place{Dir: dir}, nil, args...)
		return string(out), err
	}
	known := false
	if commit.MatchString(id) {
		_, err := ask("cat-file", "-e", id+"^{commit}")
		known = err == nil
	}
	if !known {
		if c.Date.Before(date) {
			return Before, ctx.Err()
		}
		return Unknown, ctx.Err()
	}
	if missing, err := ask("rev-list", "-n", "1", id, "^HEAD"); err != nil || missing == "" {
		return Contains, err
	}
	if missing, err := ask("rev-list", "-n", "1", c.Commit, "^"+id); err != nil || missing == "" {
		return Before, err
	}
	switch refs, err := ask("for-each-ref", "--count=1", "--contains", id); {
	case err != nil:
		return Unknown, err
	case refs != "":
		return Beside, nil
	case c.Date.Before(date):
		return Before, nil
	}
	return After, nil
}

// Dirty reports whether the files, slash paths in dir, differ from those of HEAD,
// or a file of HEAD is missing in dir. A file that git's filters change counts
// as different.
func Dirty(ctx context.Context, dir string, files []string) (bool, error) {
	out, err := look(ctx, gitrepo.Place{Dir: dir}, nil, "ls-tree", "-r", "-z", "HEAD", "--", ".")
	if err != nil {
		return false, err
	}
	blobs := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		// <mode> blob <id>\t<path>
		meta, path, ok := strings.Cut(entry, "\t")
		if !ok {
			continue
		}
		if f := strings.Fields(meta); len(f) == 3 && strings.HasPrefix(f[0], "100") {
			blobs[path] = f[2]
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err != nil {
			return true, ignoreMissing(err)
		}
	}
	for _, name := range files {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return true, ignoreMissing(err)
		}
		if rel, err := filepath.Rel(dir, path); err == nil {
			name = filepath.ToSlash(rel)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return true, ignoreMissing(err)
		}
		if id := blobs[name]; id != blobID(text, len(id)) && id != blobID(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), len(id)) {
			return true, nil
		}
	}
	return false, nil
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// blobID is the id of a blob with text, of length hexadecimal digits.
func blobID(text []byte, length int) string {
	var h hash.Hash = sha1.New() // git's name of the text, no protection
	if length == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
