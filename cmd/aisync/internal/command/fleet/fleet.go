package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/fleet"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// fleetDoc is fleet --json; see docs/json.md.
type fleetDoc struct {
	FormatVersion string         `json:"format_version"`
	OK            bool           `json:"ok"`
	Counts        map[string]int `json:"counts"` // of reports, by their states
	Reports       []fleet.Row    `json:"reports"`
}

// Command builds the command fleet.
func Command(a *cli.App) *cobra.Command {
	days := 7
	cmd := &cobra.Command{
		Use:   "fleet FOLDER",
		Short: "show the reports of many machines, a row each",
		Long: `Reads the reports that aisync report --to FOLDER wrote, of any number of
machines, and shows a row for each: problems first. A file that is damaged or
half written, or of another format, is a row that says so, as is a report that
is old, or dated in the future.

Exit code 0: all is in order; 2: resources differ somewhere; 1: something fails,
or a report cannot be read, is old, or is of the future.`,
		Example:     "  $ aisync fleet /mnt/fleet\n  $ aisync fleet /mnt/fleet --json --stale-days 2",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the folder of reports"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 1 {
				return cli.Usagef("--stale-days %d: want 1 or more", days)
			}
			rows, err := fleet.Read(args[0], fleet.Options{Now: time.Now(), Stale: time.Duration(days) * 24 * time.Hour})
			if errors.Is(err, fleet.ErrNoReports) {
				return advice.Command(fmt.Errorf("%s: %w", termtext.Safe(args[0]), err), "aisync report --to "+shellquote.Terminal(args[0])+" on each machine")
			}
			if err != nil {
				return fmt.Errorf("read reports: %w", err)
			}
			return show(a, rows)
		},
	}
	cmd.Flags().IntVar(&days, "stale-days", days, "call a report old after `DAYS`")
	return cmd
}

// show prints rows and returns the exit code as an error.
func show(a *cli.App, rows []fleet.Row) error {
	count := map[string]int{}
	for _, r := range rows {
		count[r.State]++
	}
	ok := count[fleet.InOrder] == len(rows)
	if a.Flags.JSON {
		if err := a.WriteJSON(fleetDoc{cli.ViewVersion, ok, count, rows}); err != nil {
			return err
		}
	} else {
		printRows(a, rows)
		a.Printf("\n%s: %d in order%s.\n", quantity.Count(len(rows), "report"), count[fleet.InOrder], others(count))
	}
	switch {
	case ok:
		return nil
	case count[fleet.InOrder]+count[fleet.Differs] == len(rows):
		return cli.Exit(cli.ExitDiff)
	}
	return cli.Exit(cli.ExitError)
}

// others counts the rows with problems, in words.
func others(count map[string]int) (text string) {
	for _, s := range [][2]string{{fleet.Differs, "with differences"}, {fleet.Failing, "failing"}, {fleet.Stale, "old or of the future"}, {fleet.Foreign, "of another format"}, {fleet.Damaged, "damaged"}} {
		if n := count[s[0]]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s[1])
		}
	}
	return text
}

// mostProblems is how many problems of a row are shown without --verbose.
const mostProblems = 3

func printRows(a *cli.App, rows []fleet.Row) {
	t := a.Table()
	fmt.Fprintf(t, "HOST\tAISYNC\tREPORT\tSPEC\tBASE\tDRIFT\tFAILED\tSTATE\n")
	for _, r := range rows {
		report := "-"
		switch age := time.Duration(r.Age) * time.Second; {
		case r.Made.IsZero():
		case age < 0:
			report = "in " + fleet.Ago(-age)
		default:
			report = fleet.Ago(age) + " ago"
		}
		var bases []string
		for _, b := range r.Bases {
			bases = append(bases, short(b.Pin))
		}
		state := r.State
		if list := slices.Clone(r.Problems); len(list) > 0 {
			if n := len(list) - mostProblems; n > 0 && !a.Flags.Verbose {
				list = append(list[:mostProblems], fmt.Sprintf("%d more (--verbose)", n))
			}
			state = strings.Join(list, "; ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", termtext.Safe(r.Name()), orDash(r.Aisync), report, orDash(short(r.Spec)),
			orDash(strings.Join(bases, ",")), number(r.Drift+r.Pending+r.Unknown), number(r.Failures), termtext.Safe(termtext.OneLine(state)))
	}
	_ = t.Flush() // a closed output is reported at the end
}

func orDash(text string) string { return termtext.Safe(cmp.Or(text, "-")) }

func short(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 12)]
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
