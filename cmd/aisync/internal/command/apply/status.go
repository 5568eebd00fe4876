package apply

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/app/converge"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// statusDoc is status --json; see docs/json.md.
type statusDoc struct {
	FormatVersion string            `json:"format_version"`
	Resources     []statusRow       `json:"resources"`
	Effects       []effects.Effect  `json:"undecided_effects"`
	NotTrusted    []trust.Row       `json:"not_trusted"`
	Summary       reconcile.Summary `json:"summary"`
	Converge      *converge.Report  `json:"converge"` // the last run; null: none, or the spec does not ask for it
}

type statusRow struct {
	Address reconcile.Address `json:"address"`
	Drift   string            `json:"drift"`   // "", "A", "M", "D", "?"
	Pending string            `json:"pending"` // "", "A", "M", "D", "=", ".", "!", "?"
}

// StatusCommand builds the command status.
func StatusCommand(a *cli.App) *cobra.Command {
	s := stack.ScopeAll
	all := false
	cmd := &cobra.Command{
		Use:   "status [ADDRESS...]",
		Short: "list what was edited, and what an apply would do",
		Long: `Prints two letters before each resource that is not in order.

The first is drift, what happened to it since aisync made it:
  M edited, D deleted.
The second is pending, what the spec asks for and apply would do:
  A add, M change, D delete, = adopt as it is, . forget and leave,
  ! undecided: apply leaves it alone until you decide;
  T written, but the program loads it only after you allow it there;
  E obeyed by a program or git, and waits for your yes: aisync apply asks.
? in both places: it cannot be observed.

With an ADDRESS or pattern it lists that resource alone, also where it is in order.

It writes nothing and exits 0 whatever it reports; for CI, see aisync drift.`,
		Example:           "  $ aisync status\n  M  file:.claude/settings.json\n   A file:.claude/rules/elisp.md",
		Annotations:       map[string]string{"effect": "read-only"},
		ValidArgsFunction: a.Addresses,
		RunE: func(cmd *cobra.Command, addresses []string) error {
			w, err := a.Loaded(cmd.Context(), s, stack.Open)
			if err != nil {
				return err
			}
			p, err := w.Plan(cmd.Context(), stack.Request{Scope: s, Targets: addresses})
			if err != nil {
				return err
			}
			_, undecided := w.Effects(p)
			doc := statusDoc{FormatVersion: cli.ViewVersion, Effects: cli.OrEmpty(undecided), Resources: []statusRow{}, NotTrusted: cli.OrEmpty(w.NotTrusted(p)), Summary: p.Summary()}
			for _, c := range p.Changes {
				if r := statusOf(c); all || len(addresses) > 0 || a.Flags.Verbose || r.Drift+r.Pending != "" {
					doc.Resources = append(doc.Resources, r)
				}
			}
			asked := w.Spec.Host != nil && w.Spec.Host.Converge != nil && w.Has(reconcile.HostOwner)
			if asked {
				if doc.Converge, err = converge.ReadReport(w.Places); err != nil {
					return err
				}
			}
			if a.Flags.JSON {
				return a.WriteJSON(doc)
			}
			printStatus(a, doc, p)
			switch {
			case asked && doc.Converge != nil:
				printConverge(a, doc.Converge, "converge, "+session.Ago(time.Since(doc.Converge.Ended))+" ago: ")
			case asked:
				a.Printf("converge has not run yet.\n")
			}
			return nil
		},
	}
	cli.ScopeFlag(&s, cmd)
	cmd.Flags().BoolVar(&all, "all", false, "list unchanged resources too, as with --verbose")
	return cmd
}

// statusOf returns the two letters of c.
func statusOf(c reconcile.Change) statusRow {
	r := statusRow{Address: c.Target.Resource.Address}
	switch {
	case c.Action == reconcile.Unclear:
		return statusRow{r.Address, "?", "?"}
	case c.Drift() && c.Before.Presence == reconcile.Absent:
		r.Drift = "D"
	case c.Drift():
		r.Drift = "M"
	}
	switch c.Action {
	case reconcile.None:
	case reconcile.Create:
		r.Pending = "A"
	case reconcile.Update, reconcile.PutBack:
		r.Pending = "M"
	case reconcile.Delete:
		r.Pending = "D"
	default:
		r.Pending = string(c.Action)
	}
	if r.Drift != "" && !c.Pending() {
		r.Pending = "" // what an apply would do about drift is not pending
	}
	return r
}

func printStatus(a *cli.App, doc statusDoc, p *reconcile.Plan) {
	paint := a.Paint()
	for _, r := range doc.Resources {
		a.Printf("%s%s %s\n", paint.Red(fmt.Sprintf("%1s", r.Drift)), paint.Yellow(fmt.Sprintf("%1s", r.Pending)), termtext.Safe(string(r.Address)))
	}
	for _, c := range p.Conflicts {
		a.Printf("%s %s  %s\n", paint.Red(" !"), termtext.Safe(string(c.Address)), termtext.Safe(c.Reason))
	}
	for _, r := range doc.NotTrusted {
		a.Printf("%s %s  %s → %s\n", paint.Yellow(" T"), termtext.Safe(r.Runtime), termtext.Safe(stack.TrustText(r)), termtext.Safe(r.Do))
	}
	for _, e := range doc.Effects {
		a.Printf("%s %s %s, in %s\n", paint.Yellow(" E"), termtext.Safe(e.Program), termtext.Safe(e.Text), termtext.Safe(e.File))
	}
	s := doc.Summary
	if len(doc.Effects)+len(doc.NotTrusted)+s.Drift+s.Pending+s.Conflict+s.Unknown+s.Create+s.Update+s.Delete+s.Accept+s.Release == 0 {
		a.Printf("Everything is in order: %s.\n", quantity.Count(s.Unchanged, "resource"))
		return
	}
	parts := []string{fmt.Sprintf("%d in order", s.Unchanged)}
	for _, x := range []struct {
		n    int
		word string
	}{{s.Drift, "drifted"}, {s.Pending, "pending"}, {s.Conflict, "undecided"}, {s.Unknown, "unknown"}, {s.Unsupported, "unsupported"}, {len(doc.NotTrusted), "not trusted"}, {len(doc.Effects), "waiting for your yes"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	a.Printf("%s.\n", strings.Join(parts, ", "))
	a.Hint("\nfirst letter, drift: M edited, D deleted; second, pending: A add, M change, D delete, = adopt, . forget, ! undecided, T not trusted, E waits for your yes; ? unknown")
}
