package clone

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Upstream is the branch of a remote that a clone follows.
type Upstream struct {
	Remote string `json:"remote"`
	URL    string `json:"url"` // without a password
	Branch string `json:"branch"`

	local string // the local branch
	ref   string // refs/remotes/…
}

// Name is the branch as git names it, such as origin/main.
func (u Upstream) Name() string { return u.Remote + "/" + u.Branch }

// Loose says why a clone follows no branch, and what would make it.
type Loose struct {
	Why, Next string
	Remote    bool // there is a remote
}

// Follows returns the branch that c follows, or why it follows none.
func (c *Clone) Follows(ctx context.Context) (Upstream, *Loose, error) {
	remotes, err := c.line(ctx, "remote")
	if err != nil {
		return Upstream{}, nil, err
	}
	git := "git -C " + c.Dir
	if remotes == "" {
		return Upstream{}, &Loose{"has no remote", git + " remote add origin URL && " + git + " push -u origin HEAD", false}, nil
	}
	first, _, _ := strings.Cut(remotes, "\n")
	branch, err := c.line(ctx, "symbolic-ref", "--short", "--quiet", "HEAD")
	if err != nil || branch == "" {
		return Upstream{}, &Loose{"is at a fixed commit or tag, not on a branch", git + " switch BRANCH", true}, nil
	}
	out, err := c.line(ctx, "for-each-ref", "--format=%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)", "refs/heads/"+branch)
	if err != nil {
		return Upstream{}, nil, err
	}
	f := strings.Split(out, "\x00")
	if len(f) != 3 || f[0] == "" || f[1] == "" || f[1] == "." {
		return Upstream{}, &Loose{"has a branch " + branch + " that follows no branch of " + first, git + " push -u " + first + " " + branch, true}, nil
	}
	url, err := c.line(ctx, "config", "--get", "remote."+f[1]+".url")
	if err != nil {
		return Upstream{}, nil, err
	}
	return Upstream{Remote: f[1], URL: Shown(url), Branch: strings.TrimPrefix(f[2], "refs/heads/"), local: branch, ref: f[0]}, nil, nil
}

// Fetch fetches the branch that c follows.
func (c *Clone) Fetch(ctx context.Context, u Upstream) error {
	err := dial(ctx, c.Options, c.Dir, c.settings, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", u.Remote, "+refs/heads/"+u.Branch+":"+u.ref)
	if err != nil {
		return err
	}
	return c.give(c.Dir)
}

// Commit is one commit.
type Commit struct {
	ID      string    `json:"id"`
	Date    time.Time `json:"date"`
	Author  string    `json:"author"`
	Subject string    `json:"subject"`
}

// Edit is a file that differs from the last commit here.
type Edit struct {
	File  string `json:"file"`
	State string `json:"state"` // "changed", "new", "deleted", "in conflict"
}

// Standing is how a clone stands to the branch that it follows, as last fetched.
type Standing struct {
	Head, Upstream string
	Behind, Ahead  []Commit // that the clone lacks; that the branch lacks; newest first
	Dropped        []Commit // that the branch had, and that this clone still has: its history was rewritten
	Unrelated      bool     // no commit is common
	Merging        bool     // a merge that the person began is not finished
	Edits          []Edit   // not committed

	base string
}

// Compare compares the clone with the branch.
func (c *Clone) Compare(ctx context.Context, u Upstream) (*Standing, error) {
	s := new(Standing)
	var err error
	if s.Head, err = c.line(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return nil, err
	}
	if s.Upstream, err = c.line(ctx, "rev-parse", "--verify", u.ref+"^{commit}"); err != nil {
		return nil, err
	}
	if s.Edits, err = c.Edits(ctx); err != nil {
		return nil, err
	}
	for _, ref := range []string{"MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD"} {
		if _, err := c.line(ctx, "rev-parse", "--verify", "--quiet", ref); err == nil {
			s.Merging = true
		}
	}
	if s.base, err = c.line(ctx, "merge-base", s.Head, s.Upstream); err != nil {
		if err = ctx.Err(); err != nil {
			return nil, err
		}
		s.Unrelated = true
	}
	if s.Behind, err = c.commits(ctx, s.Head+".."+s.Upstream); err != nil {
		return nil, err
	}
	if s.Ahead, err = c.commits(ctx, s.Upstream+".."+s.Head); err != nil {
		return nil, err
	}
	if s.Unrelated {
		return s, nil
	}
	// Where HEAD left what the branch has been, by the branch's own log.
	fork, err := c.line(ctx, "merge-base", "--fork-point", u.ref, s.Head)
	if err == nil && fork != "" && fork != s.base {
		s.Dropped, err = c.commits(ctx, s.Upstream+".."+fork)
	} else {
		err = ctx.Err()
	}
	return s, err
}

func (c *Clone) commits(ctx context.Context, which string) ([]Commit, error) {
	out, err := c.run(ctx, c.Dir, "log", "--no-show-signature", "--format=%H%x00%at%x00%an%x00%s%x1e", which)
	if err != nil {
		return nil, err
	}
	list := []Commit{}
	for _, record := range strings.Split(out, "\x1e") {
		f := strings.Split(strings.TrimPrefix(record, "\n"), "\x00")
		if len(f) != 4 {
			continue
		}
		seconds, _ := strconv.ParseInt(f[1], 10, 64) // git writes digits
		list = append(list, Commit{f[0], time.Unix(seconds, 0).UTC(), f[2], f[3]})
	}
	return list, nil
}

// Newest asks the remote which commit its branch is at, and whether the clone has it.
// It fetches nothing and writes nothing.
func (c *Clone) Newest(ctx context.Context, u Upstream) (id string, has bool, err error) {
	out, err := dialed(ctx, c.Options, c.Dir, c.settings, "ls-remote", "--exit-code", u.Remote, "refs/heads/"+u.Branch)
	if err != nil {
		return "", false, err
	}
	id, _, _ = strings.Cut(out, "\t")
	_, err = c.line(ctx, "merge-base", "--is-ancestor", id, "HEAD") // fails for a commit that is not here
	return id, err == nil, ctx.Err()
}

// Last returns the last commit here.
func (c *Clone) Last(ctx context.Context) (Commit, error) {
	list, err := c.commits(ctx, "-1")
	if err != nil || len(list) == 0 {
		return Commit{}, errors.Join(err, ErrEmpty)
	}
	return list[0], nil
}

// Edits lists what is not committed, without the schema that init writes.
func (c *Clone) Edits(ctx context.Context) ([]Edit, error) {
	out, err := c.run(ctx, c.Dir, "--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	list := []Edit{}
	for _, entry := range strings.Split(out, "\x00") {
		if len(entry) < 4 || strings.HasPrefix(entry[3:], "cue.mod/pkg/aisync.dev/") {
			continue
		}
		state := "changed"
		switch code := entry[:2]; {
		case strings.Contains(code, "U") || code == "AA" || code == "DD":
			state = "in conflict"
		case code == "??" || strings.Contains(code, "A"):
			state = "new"
		case strings.Contains(code, "D"):
			state = "deleted"
		}
		list = append(list, Edit{entry[3:], state})
	}
	return list, nil
}

// Edited reports whether file is among the edits.
func (s *Standing) Edited(file string) bool {
	return slices.ContainsFunc(s.Edits, func(e Edit) bool { return e.File == file })
}

// Push sends the commits that the branch lacks. It never forces.
func (c *Clone) Push(ctx context.Context, u Upstream) error {
	if err := dial(ctx, c.Options, c.Dir, c.settings, "push", "--quiet", "--no-recurse-submodules", u.Remote, "HEAD:refs/heads/"+u.Branch); err != nil {
		return err
	}
	return c.give(c.Dir)
}

// Moved reports whether a push was refused because the branch has moved.
func Moved(err error) bool { return said(err, "[rejected]", "fetch first", "non-fast-forward") }
