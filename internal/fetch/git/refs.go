package git

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/internal/gitrepo"
)

// Refs are the branches and tags of a repository as its host lists them, each with
// its commit.
type Refs struct {
	Head           string // of the branch that the repository shows
	Branches, Tags map[string]string
}

// List asks the host of s for its refs. It fetches no content.
func List(ctx context.Context, s Source) (Refs, error) {
	// In an empty repository no configuration of another one counts.
	dir, err := os.MkdirTemp("", "aisync-refs-")
	if err != nil {
		return Refs{}, err
	}
	defer os.RemoveAll(dir)
	g := git{dir: dir, url: s.URL, stall: s.Stall}
	if g.stall <= 0 {
		g.stall = time.Minute
	}
	if _, err := g.run(ctx, "init", "-q", "--template="); err != nil {
		return Refs{}, err
	}
	out, err := g.run(ctx, "ls-remote", "--", s.URL, "HEAD", "refs/heads/*", "refs/tags/*")
	if err != nil {
		return Refs{}, err
	}
	return parseRefs(string(out)), nil
}

// parseRefs reads what ls-remote prints. The commit of an annotated tag stands in a
// line by itself, whose name ends in ^{}.
func parseRefs(text string) Refs {
	r := Refs{Branches: map[string]string{}, Tags: map[string]string{}}
	for line := range strings.Lines(text) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || !commit.MatchString(id) {
			continue
		}
		branch, isBranch := strings.CutPrefix(name, "refs/heads/")
		tag, isTag := strings.CutPrefix(name, tags)
		tag, peeled := strings.CutSuffix(tag, "^{}")
		switch {
		case name == "HEAD":
			r.Head = id
		case isBranch:
			r.Branches[branch] = id
		case isTag && (peeled || r.Tags[tag] == ""):
			r.Tags[tag] = id
		}
	}
	return r
}

// Date returns when the commit of the work tree whose top is dir was made.
func Date(ctx context.Context, dir string) (time.Time, error) {
	out, err := look(ctx, gitrepo.Place{Dir: dir, GitDir: ".git"}, nil, "log", "-1", "--no-mailmap", "--format=%ct", "HEAD")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// IsCommit reports whether ref is a full commit id.
func IsCommit(ref string) bool { return commit.MatchString(ref) }
