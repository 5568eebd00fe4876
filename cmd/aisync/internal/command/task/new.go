package task

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func taskNew(a *cli.App) *cobra.Command {
	var p taskPlace
	d := task.Draft{Priority: spec.TaskPriority}
	cmd := &cobra.Command{
		Use:   "new ID",
		Short: "begin a task file in the inbox",
		Long: `Writes tasks/inbox/ID.yaml and prints its path. Each --file becomes a step that
edits it, with the goal as its instructions, and may be written; each --run a
step that runs a command. Without either, the file says what steps there are, to
be filled in. It is yours to edit until you approve it.`,
		Example:     "  $ aisync task new fix-typos --goal \"Correct the spelling.\" --file README.md --verify \"test -s README.md\"",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the id of the new task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.ID = args[0]
			if !task.ValidID(d.ID) {
				return cli.Usagef("%q cannot be the id of a task: want letters, digits, dots, underscores and hyphens, at most 80, with no .. and no dot or .lock at the end", termtext.Safe(d.ID))
			}
			if strings.TrimSpace(d.Goal) == "" {
				return cli.Usagef("say what the task is for: --goal TEXT")
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			d.At, d.By = cli.Now(), cmp.Or(a.Env.Get("USER"), a.Env.Get("LOGNAME"))
			i, err := q.Begin(d)
			var unready *task.Unready
			if err != nil && !errors.As(err, &unready) {
				return err
			}
			a.Printf("%s\n", termtext.Safe(i.Path))
			if unready != nil {
				a.Hint("fill in what is missing, then: aisync task validate %s", d.ID)
			} else {
				a.Hint("look at it, then: aisync task approve %s", d.ID)
			}
			return nil
		},
	}
	p.inRepo(cmd)
	f := cmd.Flags()
	f.StringVar(&d.Goal, "goal", "", "what it is for, precisely: `TEXT`")
	f.IntVar(&d.Priority, "priority", d.Priority, "1 (critical) to 4 (low) `N`")
	f.StringVar(&d.Tier, "tier", "", "how hard it is `TIER`: trivial, simple, moderate, complex")
	f.StringArrayVar(&d.Requires, "requires", nil, "a task that must be done before `ID`")
	f.StringArrayVar(&d.Files, "file", nil, "a file to edit `FILE`")
	f.StringArrayVar(&d.Commands, "run", nil, "a command to run after the edits `COMMAND`")
	f.StringArrayVar(&d.Write, "write", nil, "where it may write `GLOB` (default: the files)")
	f.StringArrayVar(&d.Read, "read", nil, "what the model may read `GLOB` (default: the files)")
	f.StringArrayVar(&d.Verify, "verify", nil, "a command that proves it done `COMMAND`")
	return cmd
}
