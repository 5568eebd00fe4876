package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/gitea"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// backFlags holds the flags for reporting tasks to a Gitea server.
type backFlags struct {
	giteaFlags
	comment, pull bool
}

func (b *backFlags) in(f *pflag.FlagSet) {
	b.giteaFlags.in(f)
	f.BoolVar(&b.comment, "comment", false, "comment the report on the issue that the task came from")
	f.BoolVar(&b.pull, "pull-request", false, "open a pull request for the pushed branch (needs --push)")
}

// taskAfter returns the function that reports a finished task to the Gitea server, or
// nil without --comment and --pull-request. It connects once before the first task, so
// that a wrong address or token fails at once.
func taskAfter(ctx context.Context, a *cli.App, b backFlags, push string) (func(context.Context, spec.Task, *task.Report) error, error) {
	if !b.comment && !b.pull {
		return nil, nil
	}
	if b.pull && push == "" {
		return nil, cli.Usagef("--pull-request needs --push REMOTE")
	}
	if _, err := giteaClient(ctx, a, b.giteaFlags); err != nil {
		return nil, err
	}
	return func(ctx context.Context, t spec.Task, r *task.Report) error {
		repo, number, ok := gitea.ParseSource(t.Source)
		if !ok {
			r.Notes = append(r.Notes, "Not reported to Gitea: the task came from no issue.")
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, reportTimeout)
		defer cancel()
		server, err := giteaClient(ctx, a, b.giteaFlags)
		if err != nil {
			return err
		}
		var errs []error
		if b.pull && r.Status == string(task.Done) && r.Pushed != "" {
			at, err := server.Pull(repo, r.Branch, strings.TrimPrefix(r.Base, r.Pushed+"/"), pullTitle(t), pullText(r, number))
			r.PullRequest = at
			errs = append(errs, err)
		}
		if b.comment {
			_, err := server.Comment(repo, number, r.Markdown())
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
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
	return fmt.Sprintf("For #%d. Made by an executor without supervision; review all of it before merging.\n\n%s", number, r.Markdown())
}
