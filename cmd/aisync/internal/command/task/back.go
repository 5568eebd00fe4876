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

// backFlags say what a Gitea server hears of a task that was done.
type backFlags struct {
	giteaFlags
	comment, pull bool
}

func (b *backFlags) in(f *pflag.FlagSet) {
	b.giteaFlags.in(f)
	f.BoolVar(&b.comment, "comment", false, "write the report below the issue that the task is from")
	f.BoolVar(&b.pull, "pull-request", false, "ask for the branch to be taken over, once it is pushed (--push)")
}

// taskAfter is what is done after each task: nil where nobody is to hear of it.
// The server is asked before any task is begun, so that a wrong address or
// token does not show at the end of a night.
func taskAfter(ctx context.Context, a *cli.App, b backFlags, push string) (func(context.Context, spec.Task, *task.Report) error, error) {
	if !b.comment && !b.pull {
		return nil, nil
	}
	if b.pull && push == "" {
		return nil, cli.Usagef("--pull-request is for a branch that is pushed: say where to, --push REMOTE")
	}
	if _, err := giteaClient(ctx, a, b.giteaFlags); err != nil {
		return nil, err
	}
	return func(ctx context.Context, t spec.Task, r *task.Report) error {
		repo, number, ok := gitea.ParseSource(t.Source)
		if !ok {
			r.Notes = append(r.Notes, "It is from no issue of a Gitea server, so none hears of it.")
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, backPatience)
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

// backPatience is how long a server may take to hear of one task.
const backPatience = 2 * time.Minute

// pullTitle is the task and the first line of what it is for.
func pullTitle(t spec.Task) string {
	goal, _, _ := strings.Cut(strings.TrimSpace(t.Goal), "\n")
	return termtext.Safe(t.ID + ": " + termtext.Clip(goal, 101))
}

// pullText leads to the issue, without closing it: that is for who merges.
func pullText(r *task.Report, number int64) string {
	return fmt.Sprintf("For #%d. Done by an executor on its own; read all of it before you take it over.\n\n%s", number, r.Markdown())
}
