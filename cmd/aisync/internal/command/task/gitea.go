package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/gitea"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// giteaFlags holds the address of a Gitea server and where its token is. The token is
// not a flag: flags show in the process list.
type giteaFlags struct {
	url, tokenFile string
	tokenEnv       string // the variable that the host's spec names, or ""
}

func (g *giteaFlags) in(f *pflag.FlagSet) {
	f.StringVar(&g.url, "gitea", "", "use the Gitea server at `URL` (default: $GITEA_URL)")
	f.StringVar(&g.tokenFile, "token-file", "", "read its token from `FILE` (default: $GITEA_TOKEN, $GITEA_TOKEN_FILE)")
}

// giteaClient connects to the server. Address and token come from flags, the
// environment or the host's spec, never from a project.
func giteaClient(ctx context.Context, a *cli.App, g giteaFlags) (*gitea.Server, error) {
	at := cmp.Or(g.url, a.Env.Get("GITEA_URL"))
	if at == "" {
		return nil, advice.Command(errors.New("missing Gitea server: neither --gitea nor GITEA_URL is set"), "export GITEA_URL=https://…")
	}
	if a.Flags.Offline && !endpoint.Loopback(at) {
		return nil, fmt.Errorf("connect to a remote Gitea server: %w", reconcile.ErrOffline)
	}
	token, err := giteaToken(a, g)
	if err != nil {
		return nil, err
	}
	return gitea.Open(ctx, at, token)
}

func giteaToken(a *cli.App, g giteaFlags) (string, error) {
	file := g.tokenFile
	if g.tokenEnv != "" {
		if token := a.Env.Get(g.tokenEnv); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("the host's spec reads the token for Gitea from the variable %s, which is not set", g.tokenEnv)
	}
	if file == "" {
		if token := a.Env.Get("GITEA_TOKEN"); token != "" {
			return token, nil
		}
		if file = a.Env.Get("GITEA_TOKEN_FILE"); file == "" {
			return "", nil
		}
	}
	return readToken(file)
}

// readToken reads a file that contains only a token. It refuses a file that other
// users may read.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the token for Gitea: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the token for Gitea: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o044 != 0 {
		return "", fmt.Errorf("%s contains a token for Gitea, and other users may read it (mode %03o); run: chmod 600 %s", file, mode, shellquote.Terminal(file))
	}
	text, err := io.ReadAll(io.LimitReader(f, 64<<10)) // far more than any token has
	if err != nil {
		return "", fmt.Errorf("read the token for Gitea: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s contains no token for Gitea: want one word", file)
	}
	return token, nil
}

func taskImportGitea(a *cli.App) *cobra.Command {
	var p taskPlace
	var g giteaFlags
	var label string
	cmd := &cobra.Command{
		Use:   "gitea OWNER/REPO[#N]",
		Short: "turn issues of a Gitea server into tasks for you to read and approve",
		Long: `Reads an issue, or with --label all open issues with that label, and writes a
task file for each into tasks/inbox. The sections of the issue become the task:
Goal, Tasks, Acceptance Criteria and Verify; Files, Read, Scope and Constraints,
which bound it; and Depends on; see docs/tasks.md. An issue without Tasks becomes
one step with all of its text. It prints, and writes into the file, what of an
issue the task does not have. Anyone who may write issues there writes these
files: read them before you approve them.

It reads the token from GITEA_TOKEN, or from a file that only you may read, and
writes it nowhere.`,
		Example: `  $ aisync task import gitea me/chiffon#42
  $ aisync task import gitea me/chiffon --label chiffon:queue`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "a repository, OWNER/REPO, or an issue of it, OWNER/REPO#N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, number, err := gitea.ParseIssue(args[0])
			switch {
			case err != nil:
				return cli.Usagef("%s", termtext.Safe(err.Error()))
			case number == 0 && label == "":
				return cli.Usagef("missing issue of %s: name one, %s#N, or a label: --label chiffon:queue", repo, repo)
			case number != 0 && label != "":
				return cli.Usagef("--label and the issue %s exclude each other", args[0])
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			server, err := giteaClient(cmd.Context(), a, g)
			if err != nil {
				return err
			}
			ids, err := issueIDs(q, repo)
			if err != nil {
				return err
			}
			if number != 0 {
				issue, err := server.Issue(repo, number)
				if err != nil {
					return err
				}
				return taskOfIssue(a, q, issue, ids)
			}
			issues, err := server.Labelled(repo, label)
			if err != nil {
				return err
			}
			return tasksOfIssues(a, q, issues, label, ids)
		},
	}
	p.inRepo(cmd)
	g.in(cmd.Flags())
	cmd.Flags().StringVar(&label, "label", "", "import all open issues with the label `NAME`")
	return cmd
}

// taskOfIssue puts the task of an issue into the inbox, and prints what of the issue
// is not in it.
func taskOfIssue(a *cli.App, q task.Queue, issue gitea.Issue, ids map[int64]string) error {
	draft, err := issue.Draft(func(n int64) string { return ids[n] })
	if err != nil {
		return err
	}
	i, err := q.Add(fmt.Sprintf("issue %s#%d", issue.Repo, issue.Number), draft.Text)
	if err != nil {
		return err
	}
	printPath(a, i)
	for _, n := range draft.Notes {
		a.Say("%s", termtext.Safe(fmt.Sprintf("not in %s: %s", i.Task.ID, n)))
	}
	if len(draft.Notes) > 0 {
		a.Hint("add to it what matters, then: aisync task approve %s", i.Task.ID)
	} else {
		a.Hint("read it, then: aisync task approve %s", i.Task.ID)
	}
	return nil
}

// issueIDs returns the ids of the tasks of a repository's issues.
func issueIDs(q task.Queue, repo gitea.Repo) (map[int64]string, error) {
	all, err := q.List()
	ids := map[int64]string{}
	for _, i := range all {
		if from, n := issueOf(i.Task); i.Err == nil && n != 0 && (from == repo || from == gitea.Repo{}) {
			ids[n] = i.Task.ID
		}
	}
	return ids, err
}

// tasksOfIssues creates tasks for the issues that have none yet.
func tasksOfIssues(a *cli.App, q task.Queue, issues []gitea.Issue, label string, ids map[int64]string) error {
	if len(issues) == 0 {
		a.Say("no open issues with the label %s", termtext.Safe(label))
	}
	var errs []error
	for _, issue := range issues {
		if i, err := q.Find(cmp.Or(ids[issue.Number], issue.ID())); err == nil && ids[issue.Number] != "" {
			a.Say("%s is %s already: %s", i.Task.ID, i.State.Text(), termtext.Safe(i.Path))
			continue
		}
		errs = append(errs, taskOfIssue(a, q, issue, ids))
	}
	return errors.Join(errs...)
}
