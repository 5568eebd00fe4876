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
	applycmd "aisync.dev/aisync/cmd/aisync/internal/command/apply"
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
	spec     bool // only the spec, no pins
	push     bool
	accept   []string
	to       []string // NAME=PIN
}

// updateDoc is update --json; see docs/json.md.
type updateDoc struct {
	FormatVersion string    `json:"format_version"`
	DryRun        bool      `json:"dry_run"`
	Spec          *specMove `json:"spec"` // null: its folder follows no repository, or was not asked for
	Updates       []*move   `json:"updates"`
}

// UpdateCommand builds the command update.
func UpdateCommand(a *cli.App) *cobra.Command {
	f := flags{scope: stack.ScopeAll}
	cmd := &cobra.Command{
		Use:   "update [NAME...]",
		Short: "review newer versions of the spec, sources and servers; take them",
		Long: `Where the folder of the host specs is a git clone, as after aisync init --from
URL, fetches the branch that it follows and shows what it changes: commits, files,
pins, what programs would run or call because of it, and what is here alone. At a
yes it takes the commits, and merges them with those made here. If both sides
changed the same lines, or the spec would be invalid, the spec stays as it is.
Edits that are not committed are kept; to commit them is yours. --push sends the
commits made here.

Then it fetches what is newer than the pins of what the spec extends, of bundle
sources, skills, plugins and MCP servers, shows how it differs, and asks for
each of them: item by item the texts, what programs would run or call because of
it, and text that attacks the agent that reads it. At a yes it moves the pin in
aisync.lock and, of a plugin that its marketplace pins elsewhere and of an MCP
server, the address or version in the spec. With NAME it looks at these alone,
with --spec at the spec alone.

At the end it shows the plan; aisync apply makes the changes.

--yes answers for all but flagged text, which --accept ID answers, as in aisync
apply. What fails or is refused stays as it is; the others are moved.`,
		Example:     "  $ aisync update --dry-run\n  $ aisync update --spec --push\n  $ aisync update tools\n  $ aisync update --yes --accept 0f1e2d3c4b5a",
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (f.spec || f.push) {
				return cli.Usagef("update: --spec and --push are about the spec; leave out the names")
			}
			if f.scope == stack.ScopeProject && (f.spec || f.push) {
				return cli.Usagef("update: --spec and --push are about the host's spec; leave out --scope")
			}
			return update(cmd.Context(), a, f, args)
		},
		ValidArgsFunction: completePinned(a, newer.KindSource, newer.KindServer, newer.KindBase),
	}
	cli.ScopeFlag(&f.scope, cmd)
	edit.RegisterRegistry(cmd, &f.registry)
	cmd.Flags().StringVar(&f.diff, "diff", string(cli.DiffShort), "`HOW` much of each difference to show: short, full, none")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "move the pins without asking")
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "show the changes without writing them")
	cmd.Flags().BoolVar(&f.spec, "spec", false, "take the newest spec, and leave the pins as it has them")
	cmd.Flags().BoolVar(&f.push, "push", false, "push the commits of the spec that were made here")
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
	if a.Flags.Locked {
		return cli.Usagef("update moves pins, and --locked keeps them; leave it out")
	}
	doc := updateDoc{FormatVersion: cli.ViewVersion, DryRun: f.dryRun, Updates: []*move{}}
	if len(names) == 0 && f.scope != stack.ScopeProject {
		if doc.Spec, err = follow(ctx, a, f, mode); err != nil {
			if a.Flags.JSON && doc.Spec != nil {
				err = errors.Join(a.WriteJSON(doc), err)
			}
			return err
		}
	}
	var result error
	moved := doc.Spec != nil && doc.Spec.Moved
	if !f.spec {
		chosen := 0
		chosen, result = f.pins(ctx, a, mode, names, &doc)
		moved = moved || chosen > 0
	} else if !a.Flags.JSON && len(doc.Spec.Behind) == 0 && !f.push {
		a.Printf("The spec is current.\n")
	}
	if a.Flags.JSON {
		return errors.Join(a.WriteJSON(doc), result)
	}
	if !moved {
		return result
	}
	if result != nil {
		a.Report(result)
		result = cli.Exit(cli.ExitPartial)
	}
	var code cli.ExitWith // of a plan with rows that cannot be observed: the update is done
	if err := applycmd.ShowPlan(ctx, a, f.scope); err != nil && !errors.As(err, &code) {
		return err
	}
	return result
}

// pins reviews and moves the pins that names name, all without one. It returns how
// many it moved.
func (f flags) pins(ctx context.Context, a *cli.App, mode cli.DiffMode, names []string, doc *updateDoc) (int, error) {
	s, err := a.Held(ctx, f.scope, 0, "aisync update", stack.HoldLoaded)
	if err != nil {
		return 0, err
	}
	defer s.Release()
	list, err := pinnedOf(s.View, names)
	if err != nil {
		return 0, err
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
			return 0, ctx.Err()
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
			return 0, err
		}
	}
	unknownIDs(a, f.accept, moves)
	chosen := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.Moved })
	if len(chosen) > 0 {
		if err := finder.write(ctx, chosen); err != nil {
			return 0, err
		}
	}
	doc.Updates = append(doc.Updates, moves...)
	if !a.Flags.JSON {
		conclude(a, f, doc.Spec, moves, chosen, len(failed) == 0 && !unpinned)
	}
	return len(chosen), outcome(a, moves, chosen, failed)
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
func conclude(a *cli.App, f flags, spec *specMove, moves, chosen []*move, known bool) {
	behind := spec != nil && len(spec.Behind) > 0
	switch {
	case len(moves) == 0 && known && behind && !f.dryRun:
		a.Printf("Its sources are current.\n")
	case len(moves) == 0 && known && !behind:
		a.Printf("Everything is current.\n")
	case f.dryRun:
		a.Hint("nothing was written (--dry-run)")
	case len(chosen) > 0:
		var names []string
		for _, m := range chosen {
			names = append(names, m.Name)
		}
		a.Printf("Moved %s.\n", termtext.Safe(strings.Join(names, ", ")))
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
