package run

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/report"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

func runListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the runs of this workspace",
		Long: `Lists the runs and marks the active one with a star. A run with damaged events
is listed as damaged. It writes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE:        func(*cobra.Command, []string) error { return listRuns(a) },
	}
}

// runRow is one run of run list --json.
type runRow struct {
	ID        string         `json:"run"`
	Active    bool           `json:"active"`
	Status    string         `json:"status"` // or "damaged"
	Goal      string         `json:"goal,omitempty"`
	CreatedAt string         `json:"created_at,omitempty"`
	Tasks     map[string]int `json:"tasks,omitempty"`
	Error     string         `json:"error,omitempty"`
}

func listRuns(a *cli.App) error {
	store, err := openRuns(a)
	if err != nil {
		return err
	}
	active, warnings := report.Active(store)
	ids, odd, err := store.Runs()
	if err != nil {
		return err
	}
	rows := []runRow{}
	for _, id := range ids {
		row, err := rowOf(store, id)
		if err != nil {
			row.Status, row.Error = "damaged", err.Error()
		}
		row.Active = id == active
		rows = append(rows, row)
	}
	for _, name := range odd {
		warnings = append(warnings, fmt.Sprintf("%s/runs/%s is not a run: ignored", store.Path, name))
	}
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string   `json:"format_version"`
			Workspace     string   `json:"workspace"`
			Runs          []runRow `json:"runs"`
			Warnings      []string `json:"warnings"`
		}{cli.ViewVersion, store.Workspace, rows, cli.OrEmpty(warnings)})
	}
	w := a.Table()
	for _, row := range rows {
		mark := " "
		if row.Active {
			mark = "*"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\n", mark, row.ID, row.Status, taskCounts(row.Tasks), termtext.Safe(cmp.Or(row.Error, row.Goal)))
	}
	w.Flush()
	for _, text := range warnings {
		a.Say("warning: %s", termtext.Safe(text))
	}
	if len(rows) == 0 {
		a.Say("no runs in %s", termtext.Safe(store.Workspace))
	}
	return nil
}

// rowOf returns the row of a run; beside an error, only its id.
func rowOf(store *runs.Store, id string) (runRow, error) {
	row := runRow{ID: id}
	r, err := store.Run(id)
	if err != nil {
		return row, err
	}
	defer r.Close()
	s, err := r.State()
	if err != nil {
		return row, err
	}
	row.Status, row.Goal, row.CreatedAt, row.Tasks = s.Contract.Status, s.Contract.Goal, s.Contract.CreatedAt, s.Counts()
	return row, nil
}
