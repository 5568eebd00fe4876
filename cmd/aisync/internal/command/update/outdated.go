package update

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// outdatedDoc is outdated --json; see docs/json.md.
type outdatedDoc struct {
	FormatVersion string       `json:"format_version"`
	Pinned        []*newer.Row `json:"pinned"`
}

// OutdatedCommand builds the command outdated.
func OutdatedCommand(a *cli.App) *cobra.Command {
	scope := stack.ScopeAll
	var registry string
	var detailed bool
	cmd := &cobra.Command{
		Use:   "outdated [NAME...]",
		Short: "list what is newer than the spec here, and than its pins",
		Long: `Asks the repository of the host's spec, if its folder is a git clone, whether it has
commits that are not here. For each bundle source, skill, plugin and MCP server of
the specs it says what it is pinned to, how old that is, and what its branch,
marketplace or registry offers now. A source whose spec names a commit or a tag
stays; of a tag that is a version it says which newer one there is. What cannot be
asked is listed as unknown, never as current, and makes the exit code 1, or 7 with
--offline.

It asks the addresses that the specs name. An archive has to be fetched for that,
a git repository does not. It writes nothing; aisync update moves the pins.`,
		Example:     "  $ aisync outdated\n  $ aisync outdated tools --json",
		Annotations: map[string]string{"effect": "read-only"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return outdated(cmd.Context(), a, scope, registry, detailed, args)
		},
		ValidArgsFunction: completePinned(a, newer.KindSource, newer.KindServer, newer.KindBase),
	}
	cli.ScopeFlag(&scope, cmd)
	edit.RegisterRegistry(cmd, &registry)
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if something is newer")
	return cmd
}

func outdated(ctx context.Context, a *cli.App, scope stack.Scope, address string, detailed bool, names []string) error {
	w, err := a.Loaded(ctx, scope, stack.Look)
	if err != nil {
		return err
	}
	list, err := pinnedOf(w, names)
	if err != nil {
		return err
	}
	asker := askerOf(w, w.Resolver(pin.Look))
	defer asker.Close()
	rows := make([]*newer.Row, len(list), len(list)+1)
	var g errgroup.Group
	g.SetLimit(8)
	for i, p := range list {
		g.Go(func() error {
			rows[i] = ask(ctx, a, w, asker, p, address)
			return nil
		})
	}
	_ = g.Wait() // each row has its error
	if len(names) == 0 && w.Has(reconcile.HostOwner) {
		row, err := specRow(ctx, a, w)
		if err != nil {
			return err
		}
		if row != nil {
			rows = append([]*newer.Row{row}, rows...)
		}
	}
	if a.Flags.JSON {
		err = a.WriteJSON(outdatedDoc{cli.ViewVersion, rows})
	} else {
		err = printRows(a, rows)
	}
	return cmp.Or(err, codeOf(rows, detailed))
}

// kindSpec is the kind of the row of the host's spec itself.
const kindSpec = "spec"

// specRow returns the row of the host's spec; nil if its folder follows no repository.
func specRow(ctx context.Context, a *cli.App, w *stack.View) (*newer.Row, error) {
	c, err := openClone(ctx, a, w.Places)
	if errors.Is(err, clone.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	up, loose, err := c.Follows(ctx)
	if err != nil || loose != nil {
		return nil, err
	}
	last, err := c.Last(ctx)
	if err != nil {
		return nil, err
	}
	r := &newer.Row{Kind: kindSpec, Name: "(the spec)", Scope: "host", Address: up.URL, State: newer.Current, Pin: last.ID, PinnedDate: &last.Date, NewestName: up.Name(), At: w.Places.Config}
	if w.Offline {
		err = reconcile.ErrOffline
	} else {
		var has bool
		if r.Newest, has, err = c.Newest(ctx, up); err == nil && !has {
			r.State = newer.Newer
		}
	}
	if err != nil {
		r.State, r.Err = newer.Unknown, fmt.Errorf("ask %s: %w", up.URL, err)
		r.Why = r.Err.Error()
	}
	return r, nil
}

// ask returns the row of p.
func ask(ctx context.Context, a *cli.App, w *stack.View, asker *newer.Asker, p *newer.Pinned, address string) *newer.Row {
	if p.Kind != newer.KindServer {
		return asker.Source(ctx, p)
	}
	registry, err := registryFor(a, w, p, address)
	if err != nil {
		return p.Failed(err)
	}
	r, _ := asker.Server(ctx, p, registry)
	return r
}

// codeOf returns the exit code of a list as an error.
func codeOf(rows []*newer.Row, detailed bool) error {
	var unknown []error
	some := false
	for _, r := range rows {
		unknown = append(unknown, r.Err)
		some = some || r.State == newer.Newer
	}
	switch err := errors.Join(unknown...); {
	case err != nil:
		return cli.Exit(cli.ExitCode(err))
	case some && detailed:
		return cli.Exit(cli.ExitDiff)
	}
	return nil
}

func printRows(a *cli.App, rows []*newer.Row) error {
	if len(rows) == 0 {
		a.Printf("No source and no MCP server of a registry is in the spec.\n")
		return nil
	}
	t := a.Table()
	fmt.Fprintf(t, "NAME\tSPEC\tPINNED\tAGE\tNEWEST\tSTATE\n")
	some := false
	for _, r := range rows {
		some = some || r.State == newer.Newer
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", termtext.Safe(r.Name), r.Scope, short(r.Pin), age(r.PinnedDate), newest(r), termtext.Safe(sentence(r)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if some {
		a.Hint("next: aisync update, which shows what would change")
	}
	return nil
}

// sentence is what there is to say of a row besides its versions.
func sentence(r *newer.Row) string {
	out := string(r.State)
	if r.Note != "" {
		out += ": " + r.Note
	}
	if r.State == newer.Unknown {
		out += ": " + r.Why
		if next := advice.Of(r.Err); next != "" {
			out += "; " + next
		}
	}
	return termtext.OneLine(out)
}

func newest(r *newer.Row) string {
	switch {
	case r.State == newer.Current || r.Newest == "" || r.Newest == r.Pin:
		return "-"
	case r.Kind == newer.KindServer || r.NewestName == "":
		return short(r.Newest)
	}
	return short(r.Newest) + " (" + termtext.Safe(r.NewestName) + ")"
}

// short is a commit, a digest or a version as a table has it.
func short(pin string) string {
	switch {
	case pin == "":
		return "-"
	case len(pin) > len("sha256:") && pin[:7] == "sha256:":
		pin = pin[7:]
	}
	if len(pin) >= 40 {
		pin = pin[:12]
	}
	return termtext.Safe(pin)
}

// age is how old a commit is.
func age(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return session.Ago(time.Since(*t))
}
