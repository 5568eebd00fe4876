package everyproject

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/app/gitcommit"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// CommitFlags are --commit and what goes with it.
type CommitFlags struct {
	commit  bool
	message string
}

// Register adds the flags to cmd.
func (f *CommitFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.commit, "commit", false, "with --all: commit what was written, one commit a project, and push nothing")
	fs.StringVarP(&f.message, "message", "m", "", "with --commit: the `TEXT` of the commits (default: it names the files)")
}

// Commits makes the commits that --commit asks for.
type Commits struct {
	CommitFlags
	env []string
}

// Commits returns what makes the commits that f asks for.
func (r *Run) Commits(f CommitFlags) (Commits, error) {
	if f.message != "" && !f.commit {
		return Commits{}, cli.Usagef("--message needs --commit")
	}
	return Commits{f, r.App.Env.List()}, nil
}

// Commit is the commit of one project: to be made, made, or not made.
type Commit struct {
	ID  string // of the commit; "" if none was made
	Why string // no commit was made though it was asked for

	repo  *gitcommit.Repo
	files []string
}

// Before looks at the projects in which a command is about to write files, by the
// folder of the project. No commit is made where the person has changes in them, in
// the spec or in the lock.
func (c Commits) Before(ctx context.Context, files map[string][]string) map[string]*Commit {
	out := map[string]*Commit{}
	var g errgroup.Group
	g.SetLimit(Parallel())
	for dir, list := range files {
		made := &Commit{files: append(slices.Clone(list), place.LockFile)}
		out[dir] = made
		if !c.commit {
			continue
		}
		g.Go(func() error {
			var err error
			if made.repo, err = gitcommit.Look(ctx, c.env, dir, append(slices.Clone(made.files), place.SpecFile)); err != nil {
				made.Why = err.Error()
			}
			return nil
		})
	}
	_ = g.Wait() // each commit has its error
	return out
}

// After commits what the command wrote.
func (c Commits) After(ctx context.Context, made *Commit) {
	if made.repo == nil {
		return
	}
	var err error
	if made.ID, err = made.repo.Commit(ctx, made.files, c.message); err != nil {
		made.Why = err.Error()
	}
}

// Text says what became of the commit, after what became of the rest.
func (c *Commit) Text() string {
	switch {
	case c.Why != "":
		return "; not committed: " + cli.OneMessage(c.Why)
	case c.ID != "":
		return "; committed as " + c.ID
	}
	return ""
}

// Files returns the files of the project that p writes.
func (p *Planned) Files() []string {
	var out []string
	for _, c := range p.Changes {
		if c.Address.IsPath() && c.Address.InProject() && c.Kind != "dir" {
			out = append(out, string(c.Address.Path("")))
		}
	}
	return out
}
