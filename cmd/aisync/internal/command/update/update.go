package update

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// flags are the flags of update.
type flags struct {
	scope    stack.Scope
	registry string
	diff     string
	yes      bool
	dryRun   bool
	accept   []string
	to       []string // NAME=PIN
}

// updateDoc is update --json; see docs/json.md.
type updateDoc struct {
	FormatVersion string  `json:"format_version"`
	DryRun        bool    `json:"dry_run"`
	Updates       []*move `json:"updates"`
}

// UpdateCommand builds the command update.
func UpdateCommand(a *cli.App) *cobra.Command {
	f := flags{scope: stack.ScopeAll}
	cmd := &cobra.Command{
		Use:   "update [NAME...]",
		Short: "review newer versions of sources and MCP servers, and move their pins",
		Long: `Fetches what is newer than the pins of bundle sources, skills, plugins and MCP
servers, shows how it differs, and asks for each of them: item by item the texts,
what programs would run or call because of it, and text that attacks the agent that
reads it. At a yes it moves the pin in aisync.lock and, of a plugin that its
marketplace pins elsewhere and of an MCP server, the address or version in the spec.
It changes nothing else: aisync plan shows what follows, aisync apply does it.

--yes answers for all but flagged text, which --accept ID answers, as in aisync
apply. What fails or is refused stays as it is; the others are moved.`,
		Example:     "  $ aisync update --dry-run\n  $ aisync update tools\n  $ aisync update --yes --accept 0f1e2d3c4b5a",
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return update(cmd.Context(), a, f, args)
		},
		ValidArgsFunction: completePinned(a, newer.KindSource, newer.KindServer),
	}
	cli.ScopeFlag(&f.scope, cmd)
	edit.RegisterRegistry(cmd, &f.registry)
	cmd.Flags().StringVar(&f.diff, "diff", string(cli.DiffShort), "`HOW` much of each difference to show: short, full, none")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "move the pins without asking")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the changes without writing them")
	cmd.Flags().StringSliceVar(&f.accept, "accept", nil, "approve the flagged text with this `ID`, which the review shows")
	cmd.Flags().StringArrayVar(&f.to, "to", nil, "`NAME=PIN`: move NAME only if PIN is what the review shows as its newest")
	var commit everyproject.CommitFlags
	commit.Register(cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error { return updateAll(ctx, r, f, commit) })
	return cmd
}

func update(ctx context.Context, a *cli.App, f flags, names []string) error {
	mode, err := cli.ParseDiffMode(f.diff)
	if err != nil {
		return err
	}
	s, err := a.Held(ctx, f.scope, 0, "aisync update", stack.HoldLoaded)
	if err != nil {
		return err
	}
	defer s.Release()
	if s.Locked {
		return cli.Usagef("update moves pins, and --locked keeps them; leave it out")
	}
	list, err := pinnedOf(s.View, names)
	if err != nil {
		return err
	}
	asker := askerOf(s.View, s.Resolver(pin.Look))
	defer asker.Close()
	finder := &finder{app: a, session: s, asker: asker, registry: f.registry}
	var moves []*move
	var failed []error
	unpinned := false
	for _, p := range list {
		m, err := finder.find(ctx, p)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = append(failed, err)
			continue
		case m == nil:
			continue
		case m.To == "": // nothing to move
			if len(names) > 0 || m.row.State == newer.Unpinned || m.row.Newest != m.From {
				a.Say("aisync: %s: %s", termtext.Safe(p.Name), termtext.Safe(m.Note))
			}
			unpinned = unpinned || m.row.State == newer.Unpinned
			continue
		}
		if err := f.reviewed(m); err != nil {
			failed = append(failed, err)
			continue
		}
		moves = append(moves, m)
		if !a.Flags.JSON {
			m.print(a, mode)
		}
		if err := decide(a, f, m); err != nil {
			return err
		}
	}
	unknownIDs(a, f.accept, moves)
	chosen := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.Moved })
	if len(chosen) > 0 {
		if err := finder.write(ctx, chosen); err != nil {
			return err
		}
	}
	if a.Flags.JSON {
		if err := a.WriteJSON(updateDoc{cli.ViewVersion, f.dryRun, append([]*move{}, moves...)}); err != nil {
			return err
		}
	} else {
		conclude(a, f, moves, chosen, len(failed) == 0 && !unpinned)
	}
	return outcome(a, moves, chosen, failed)
}

// reviewed returns an error if --to names another pin than that which m moves to.
func (f flags) reviewed(m *move) error {
	for _, to := range f.to {
		if name, pin, ok := strings.Cut(to, "="); !ok || pin == "" {
			return cli.Usagef("--to %q: want NAME=PIN", termtext.Safe(to))
		} else if name == m.Name && pin != m.To {
			return advice.Command(fmt.Errorf("%s %s of the %s's spec stays as it is: its newest is %s now, and --to names %s", m.Kind, m.Name, m.Scope, m.To, termtext.Safe(pin)), "aisync update "+m.Name)
		}
	}
	return nil
}

// decide sets whether m is moved. Flagged text has its own question, which --yes does
// not answer.
func decide(a *cli.App, f flags, m *move) error {
	for _, t := range m.Review.Flagged {
		if slices.Contains(f.accept, t.ID) {
			m.accepted = append(m.accepted, t.Digest)
		} else {
			m.open = append(m.open, t)
		}
	}
	if f.dryRun {
		m.open = nil
		return nil
	}
	terminal := a.Terminal() && !a.Flags.JSON // which is printed at the end: a person would not have seen the review
	ask := !f.yes && terminal
	if len(m.open) > 0 && ask {
		answer, err := a.Choose(flagged.Waiting(len(m.open))+" for your yes (see above). Read them first.", "yes", "no")
		if err != nil {
			return err
		}
		if answer != "yes" {
			m.open = nil
			return nil
		}
		for _, t := range m.open {
			m.accepted = append(m.accepted, t.Digest)
		}
		m.open = nil
	}
	switch {
	case len(m.open) > 0:
		return nil
	case f.yes:
		m.Moved = true
		return nil
	case !terminal:
		m.unasked = true
		return nil
	}
	yes, err := a.Ask(fmt.Sprintf("Move %s of the %s's spec to %s?", termtext.Safe(m.Name), m.Scope, short(m.To)))
	m.Moved = yes
	return err
}

// unknownIDs names the IDs of --accept that no review has.
func unknownIDs(a *cli.App, accept []string, moves []*move) {
	for _, id := range accept {
		if !slices.ContainsFunc(moves, func(m *move) bool {
			return slices.ContainsFunc(m.Review.Flagged, func(t flagged.Text) bool { return t.ID == id })
		}) {
			a.Say("aisync: --accept %s: no review has flagged text with that ID that you have not accepted", termtext.Safe(id))
		}
	}
}

// conclude says what was done. known means that the state of each source is known.
func conclude(a *cli.App, f flags, moves, chosen []*move, known bool) {
	switch {
	case len(moves) == 0 && known:
		a.Printf("Everything is current.\n")
	case f.dryRun:
		a.Hint("nothing was written (--dry-run)")
	case len(chosen) > 0:
		var names []string
		for _, m := range chosen {
			names = append(names, m.Name)
		}
		a.Printf("Moved %s.\n", termtext.Safe(strings.Join(names, ", ")))
		a.Hint("next: aisync plan")
	case !slices.ContainsFunc(moves, func(m *move) bool { return m.unasked || len(m.open) > 0 }):
		a.Printf("Nothing was moved.\n")
	}
}

// outcome returns what failed, and what waits for an answer, as an error.
func outcome(a *cli.App, moves, chosen []*move, failed []error) error {
	var accept strings.Builder
	n, unasked := 0, false
	for _, m := range moves {
		n += len(m.open)
		unasked = unasked || m.unasked
		for _, t := range m.open {
			accept.WriteString(" --accept " + t.ID)
		}
	}
	var waiting error
	switch {
	case n > 0:
		waiting = advice.Command(waits(flagged.Waiting(n)+" for your yes (listed above); what has it was not moved"), "aisync update --yes"+accept.String()+", after reading them")
	case unasked:
		waiting = advice.Command(errors.New("confirmation required, but stdin is not a terminal, or --json was given; nothing was moved"), "the same command with --yes")
	}
	err := errors.Join(append(failed, waiting)...)
	if err != nil && len(chosen) > 0 {
		a.Report(err)
		return cli.Exit(cli.ExitPartial)
	}
	return err
}

// waits says what needs an answer of a person.
type waits string

func (w waits) Error() string        { return string(w) }
func (w waits) Is(target error) bool { return target == reconcile.ErrUndecided }
