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
		Short: "create a task file in the inbox",
		Long: `Writes tasks/inbox/ID.yaml and prints its path. Each --file becomes a step that
edits that file with the goal as its instructions; each --run becomes a step
that runs a command. Without them the file contains examples of steps to fill
in. Edit it until you approve it.`,
		Example:     "  $ aisync task new fix-typos --goal \"Correct the spelling.\" --file README.md --verify \"test -s README.md\"",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the id of the new task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.ID = args[0]
			if !task.ValidID(d.ID) {
				return cli.Usagef("invalid task id %q: want letters, digits, dots, underscores and hyphens, at most 80, with no .. and no dot or .lock at the end", termtext.Safe(d.ID))
			}
			if strings.TrimSpace(d.Goal) == "" {
				return cli.Usagef("missing --goal TEXT")
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
				a.Hint("read it, then: aisync task approve %s", d.ID)
			}
			return nil
		},
	}
	p.inRepo(cmd)
	f := cmd.Flags()
	f.StringVar(&d.Goal, "goal", "", "describe the goal precisely in `TEXT`")
	f.IntVar(&d.Priority, "priority", d.Priority, "priority `N`: 1 (critical) to 4 (low)")
	f.StringVar(&d.Tier, "tier", "", "difficulty `TIER`: trivial, simple, moderate, complex")
	f.StringArrayVar(&d.Requires, "requires", nil, "wait for the task `ID`; may be repeated")
	f.StringArrayVar(&d.Files, "file", nil, "edit `FILE`; may be repeated")
	f.StringArrayVar(&d.Commands, "run", nil, "run `COMMAND` after the edits; may be repeated")
	f.StringArrayVar(&d.Write, "write", nil, "allow writing `GLOB` (default: the files); may be repeated")
	f.StringArrayVar(&d.Read, "read", nil, "allow the model to read `GLOB` (default: the files); may be repeated")
	f.StringArrayVar(&d.Verify, "verify", nil, "verify the result with `COMMAND`; may be repeated")
	return cmd
}
