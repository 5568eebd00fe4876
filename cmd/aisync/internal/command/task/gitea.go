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

// giteaFlags say which Gitea server, and who one is there. A token is no flag:
// others could see it among the processes of the machine.
type giteaFlags struct {
	url, tokenFile string
	tokenEnv       string // the variable that a spec names; "" where none does
}

func (g *giteaFlags) in(f *pflag.FlagSet) {
	f.StringVar(&g.url, "gitea", "", "the Gitea server `URL` (default: $GITEA_URL)")
	f.StringVar(&g.tokenFile, "token-file", "", "the file that holds the token for it `FILE` (default: $GITEA_TOKEN, $GITEA_TOKEN_FILE)")
}

// giteaClient connects to the server. Nothing in a project says which that is, nor
// whose token goes there: that is the person's word alone.
func giteaClient(ctx context.Context, a *cli.App, g giteaFlags) (*gitea.Server, error) {
	at := cmp.Or(g.url, a.Env.Get("GITEA_URL"))
	if at == "" {
		return nil, advice.Command(errors.New("which Gitea server? neither --gitea nor GITEA_URL names one"), "export GITEA_URL=https://…")
	}
	if a.Flags.Offline && !endpoint.Loopback(at) {
		return nil, fmt.Errorf("asking a Gitea server elsewhere %w", reconcile.ErrOffline)
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
		return "", fmt.Errorf("the token for Gitea is in the variable %s, by the host's spec, and that is not set", g.tokenEnv)
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

// readToken reads a file that holds a token and nothing else. One that others
// may read is refused: it is no longer the person's alone.
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
		return "", fmt.Errorf("%s holds a token for Gitea, and others may read it (mode %03o); make it yours alone: chmod 600 %s", file, mode, shellquote.Terminal(file))
	}
	text, err := io.ReadAll(io.LimitReader(f, 64<<10)) // far more than any token has
	if err != nil {
		return "", fmt.Errorf("read the token for Gitea: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s holds no token for Gitea: want one word", file)
	}
	return token, nil
}

func taskImportGitea(a *cli.App) *cobra.Command {
	var p taskPlace
	var g giteaFlags
	var label string
	cmd := &cobra.Command{
		Use:   "gitea OWNER/REPO[#N]",
		Short: "make tasks of issues of a Gitea server, for you to read and approve",
		Long: `Reads an issue, or with --label all open issues of that label, and writes a task
file of each into tasks/inbox, by the sections of the issue's text: Goal, Tasks,
Acceptance Criteria, Verify, and Files and Read for what may be written and read.
docs/tasks.md says how such an issue is written. Whoever may write issues there
writes these files: read them before you approve them.

The token is read from the variable GITEA_TOKEN or from a file that you alone may
read, and written nowhere.`,
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
				return cli.Usagef("which issues of %s? name one, %s#N, or a label: --label chiffon:queue", repo, repo)
			case number != 0 && label != "":
				return cli.Usagef("--label is for all issues of a label, and %s is one", args[0])
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			server, err := giteaClient(cmd.Context(), a, g)
			if err != nil {
				return err
			}
			if number != 0 {
				issue, err := server.Issue(repo, number)
				if err != nil {
					return err
				}
				return taskOfIssue(a, q, issue)
			}
			issues, err := server.Labelled(repo, label)
			if err != nil {
				return err
			}
			return tasksOfIssues(a, q, issues, label)
		},
	}
	p.inRepo(cmd)
	g.in(cmd.Flags())
	cmd.Flags().StringVar(&label, "label", "", "all open issues with the label `NAME`")
	return cmd
}

func taskOfIssue(a *cli.App, q task.Queue, issue gitea.Issue) error {
	text, err := issue.Task()
	if err != nil {
		return err
	}
	i, err := q.Add(fmt.Sprintf("issue %s#%d", issue.Repo, issue.Number), text)
	if err != nil {
		return err
	}
	sayWhere(a, i)
	a.Hint("read it, then: aisync task approve %s", i.Task.ID)
	return nil
}

// tasksOfIssues makes tasks of the issues of which there is none yet.
func tasksOfIssues(a *cli.App, q task.Queue, issues []gitea.Issue, label string) error {
	if len(issues) == 0 {
		a.Say("no open issue is labelled %s", termtext.Safe(label))
	}
	var errs []error
	for _, issue := range issues {
		if i, err := q.Find(issue.ID()); err == nil && i.Task.Source == issue.Source() {
			a.Say("%s is %s already: %s", issue.ID(), i.State.Text(), termtext.Safe(i.Path))
			continue
		}
		errs = append(errs, taskOfIssue(a, q, issue))
	}
	return errors.Join(errs...)
}
