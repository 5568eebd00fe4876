package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/gitea"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// backFlags holds the flags for reporting tasks to a Gitea server.
type backFlags struct {
	giteaFlags
	comment, pull bool
	repo          string // OWNER/REPO; "": what the remote's URL says
	setting       string // how to set repo
}

func (b *backFlags) in(f *pflag.FlagSet) {
	b.giteaFlags.in(f)
	b.setting = "add --gitea-repo OWNER/REPO"
	f.BoolVar(&b.comment, "comment", false, "comment the report on the issue that the task came from")
	f.BoolVar(&b.pull, "pull-request", false, "open a pull request for the pushed branch (needs --push)")
	f.StringVar(&b.repo, "gitea-repo", "", "report tasks that name no repository to `OWNER/REPO` (default: the one that --push, or origin, leads to)")
}

// reporter reports finished tasks of one folder to a Gitea server.
type reporter struct {
	backFlags
	app  *cli.App
	push string // the remote, or ""
	dir  string // the repository
}

// taskAfter returns the function that reports a finished task to the Gitea server, or
// nil without --comment and --pull-request. It connects once before the first task, so
// that a wrong address or token fails at once.
func taskAfter(ctx context.Context, a *cli.App, b backFlags, push, dir string) (func(context.Context, spec.Task, *task.Report) error, error) {
	if !b.comment && !b.pull {
		return nil, nil
	}
	if b.pull && push == "" {
		return nil, cli.Usagef("--pull-request needs --push REMOTE")
	}
	if b.repo != "" {
		if _, err := gitea.ParseRepo(b.repo); err != nil {
			return nil, cli.Usagef("--gitea-repo: %s", termtext.Safe(err.Error()))
		}
	}
	if _, err := giteaClient(ctx, a, b.giteaFlags); err != nil {
		return nil, err
	}
	return reporter{b, a, push, dir}.report, nil
}

// report opens the pull request of a task and comments on its issue, as far as the
// flags ask for it. Its error says what the server did not hear of, and what to set.
func (b reporter) report(ctx context.Context, t spec.Task, r *task.Report) error {
	pull := b.pull && r.Status == string(task.Done) && r.Pushed != ""
	repo, number := issueOf(t)
	comment := b.comment && number != 0
	if !pull && !comment {
		if b.comment {
			return noIssue(t)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	server, err := giteaClient(ctx, b.app, b.giteaFlags)
	if err != nil {
		return err
	}
	if repo == (gitea.Repo{}) {
		if repo, err = b.repository(ctx, server); err != nil {
			return fmt.Errorf("not reported to Gitea: the task names no repository, and %w; %s", err, b.setting)
		}
	}
	var errs []error
	if pull {
		at, err := server.Pull(repo, r.Branch, strings.TrimPrefix(r.Base, r.Pushed+"/"), pullTitle(t), pullText(r, number))
		r.PullRequest = at
		errs = append(errs, err)
	}
	switch {
	case comment:
		_, err := server.Comment(repo, number, r.Markdown())
		errs = append(errs, err)
	case b.comment && r.PullRequest == "":
		errs = append(errs, noIssue(t))
	case b.comment:
		r.Notes = append(r.Notes, "No comment: the task names no issue. The pull request contains the report.")
	}
	return errors.Join(errs...)
}

// issueOf returns the repository and the issue that a task names; either may be
// missing.
func issueOf(t spec.Task) (gitea.Repo, int64) {
	repo, number, ok := gitea.ParseSource(t.Source)
	switch {
	case !ok && strings.HasPrefix(t.Source, "gitea:"): // of neither form
	case t.Issue != 0: // that of gitea_issue where a flat task has both
		number = int64(t.Issue)
	}
	return repo, number
}

func noIssue(t spec.Task) error {
	why := "the task names no issue"
	if t.Source != "" {
		why = fmt.Sprintf("the task's source %q names no issue", t.Source)
	}
	return fmt.Errorf("not reported to Gitea: %s; set its source to \"gitea:OWNER/REPO:NUMBER\", or ask for a pull request of the pushed branch", why)
}

// repository returns the repository of tasks that name none.
func (b reporter) repository(ctx context.Context, server *gitea.Server) (gitea.Repo, error) {
	if b.repo != "" {
		return gitea.ParseRepo(b.repo)
	}
	r, err := worktree.Open(ctx, b.dir)
	if err != nil {
		return gitea.Repo{}, err
	}
	name := cmp.Or(b.push, "origin")
	urls, err := r.RemoteURLs(ctx, name)
	if err != nil {
		return gitea.Repo{}, err
	}
	var elsewhere error
	for _, at := range urls {
		repo, err := server.RepoAt(at)
		if err == nil {
			return repo, nil
		}
		elsewhere = cmp.Or(elsewhere, err)
	}
	return gitea.Repo{}, fmt.Errorf("the remote %s leads to %w", termtext.Safe(name), elsewhere)
}

// reportTimeout limits the report of one task to the server.
const reportTimeout = 2 * time.Minute

// pullTitle returns the task's id and the first line of its goal.
func pullTitle(t spec.Task) string {
	goal, _, _ := strings.Cut(strings.TrimSpace(t.Goal), "\n")
	return termtext.Safe(t.ID + ": " + termtext.Clip(goal, 101))
}

// pullText returns the text of a pull request. It refers to the issue without closing
// it, which is up to the person who merges.
func pullText(r *task.Report, number int64) string {
	text := "Made by an executor without supervision; review all of it before merging.\n\n" + r.Markdown()
	if number != 0 {
		text = fmt.Sprintf("For #%d. ", number) + text
	}
	return text
}
