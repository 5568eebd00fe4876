package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/internal/gitrepo"
)

// patience bounds the time for reading a history.
const patience = 20 * time.Second

// Version is a file in one or more commits.
type Version struct {
	Path string // relative to the repository's top, or to the requested folder
	Blob string
}

// History lists every version of every file below dir on any branch or tag,
// newest first, once for each path. dir lies in a work tree, which may be
// untrusted: nothing of it is run, and nothing is fetched. A folder outside git
// is an error.
func History(ctx context.Context, dir string) ([]Version, error) {
	out, err := look(ctx, gitrepo.Place{Dir: dir}, nil, "log", "--all", "HEAD", "--date-order", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-filter=AM", "--relative", "--no-mailmap", "--format=", "--", ".")
	if err != nil {
		return nil, err
	}
	var all []Version
	seen := map[Version]bool{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i++ {
		// :100644 100755 <old> <new> M, and then the path
		meta := strings.Fields(strings.TrimLeft(fields[i], "\n"))
		if len(meta) != 5 || !strings.HasPrefix(meta[0], ":") {
			continue
		}
		i++
		v := Version{fields[i], meta[3]}
		if regular := strings.HasPrefix(meta[1], "100"); regular && !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return all, nil
}

// Texts returns the contents of versions, in their order.
func Texts(ctx context.Context, dir string, versions []Version) ([][]byte, error) {
	var in bytes.Buffer
	for _, v := range versions {
		fmt.Fprintln(&in, v.Blob)
	}
	out, err := look(ctx, gitrepo.Place{Dir: dir}, &in, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(out))
	var texts [][]byte
	for range versions {
		head, err := r.ReadString('\n')
		f := strings.Fields(head)
		if err != nil || len(f) != 3 {
			return nil, fmt.Errorf("git cat-file: %q", head)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %q", head)
		}
		text := make([]byte, size+1) // and the newline
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		texts = append(texts, text[:size])
	}
	return texts, nil
}

// Head is the commit of the work tree whose top is dir.
func Head(ctx context.Context, dir string) (string, error) {
	out, err := look(ctx, gitrepo.Place{Dir: dir, GitDir: ".git"}, nil, "rev-parse", "--verify", "-q", "HEAD")
	return strings.TrimSpace(string(out)), err
}

// look runs a read-only git command.
func look(ctx context.Context, at gitrepo.Place, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := gitrepo.Look(ctx, os.Environ(), at, args...)
	cmd.Stdin = in
	inGroup(cmd)
	cmd.WaitDelay = time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	switch text := said(complaint.String()); {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	case text != "":
		return nil, fmt.Errorf("git in %s: %s", at.Dir, text)
	}
	return nil, fmt.Errorf("git in %s: %w", at.Dir, err)
}
