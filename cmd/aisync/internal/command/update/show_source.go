package update

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// sourcesDoc is show source --json; see docs/json.md.
type sourcesDoc struct {
	FormatVersion string        `json:"format_version"`
	Sources       []shownSource `json:"sources"` // of that name: one in each spec
}

type shownSource struct {
	Name       string          `json:"name"`
	Scope      string          `json:"scope"`
	At         string          `json:"at"`
	Address    string          `json:"address"`
	From       string          `json:"from,omitempty"`
	Pin        string          `json:"pin"` // a commit, or a digest of files; "": none
	PinnedDate *time.Time      `json:"pinned_date,omitempty"`
	Licence    string          `json:"licence"` // as the publisher says; "": none found
	Contains   []contained     `json:"contains"`
	Takes      []takenItem     `json:"takes"`
	Effects    []review.Effect `json:"effects"`
	Flagged    []flagged.Text  `json:"flagged"`
	Problems   []string        `json:"problems"`
	folder     bool
	groups     []items.Group // of what is taken
}

// contained is what the source has of a kind, whatever the spec takes.
type contained struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
}

// takenItem is what the spec takes.
type takenItem struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Runtimes []string `json:"runtimes"` // of the spec, those that can have it
	Licence  string   `json:"licence,omitempty"`
}

// ShowSourceCommand builds the command show source.
func ShowSourceCommand(a *cli.App) *cobra.Command {
	scope := stack.ScopeAll
	cmd := &cobra.Command{
		Use:   "source NAME",
		Short: "show a bundle source of the spec: pin, licence, contents, what is taken of it",
		Long: `Shows a source of the host's or the project's spec: its address, what it is pinned
to and how old that is, its licence, what it contains by kind, what the spec takes of
it and for which runtimes, what programs run or call because of it, and text in it
that attacks the agent that reads it.

It reads what is on this machine, asks nothing and writes nothing.`,
		Example:     "  $ aisync show source tools\n  $ aisync show source tools --json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showSource(cmd.Context(), a, scope, args[0])
		},
		ValidArgsFunction: completePinned(a, newer.KindSource),
	}
	cli.ScopeFlag(&scope, cmd)
	return cmd
}

func showSource(ctx context.Context, a *cli.App, scope stack.Scope, name string) error {
	w, err := a.Loaded(ctx, scope, stack.Look)
	if err != nil {
		return err
	}
	list, err := pinnedOf(w, nil)
	if err != nil {
		return err
	}
	doc := sourcesDoc{cli.ViewVersion, []shownSource{}}
	var names []string
	for _, p := range list {
		switch {
		case p.Kind != newer.KindSource && p.Name == name:
			return advice.Command(fmt.Errorf("%s is an MCP server, not a source", termtext.Safe(name)), "aisync show mcp "+name)
		case p.Kind != newer.KindSource:
			continue
		}
		names = append(names, p.Name)
		if p.Name != name {
			continue
		}
		s, err := shown(ctx, w, p)
		if err != nil {
			return pin.Advise(err)
		}
		doc.Sources = append(doc.Sources, s)
	}
	switch {
	case len(doc.Sources) == 0:
		return fmt.Errorf("no source is called %q in the spec%s", termtext.Safe(name), nearest.Suggest(name, names))
	case a.Flags.JSON:
		return a.WriteJSON(doc)
	}
	for _, s := range doc.Sources {
		s.print(a)
	}
	return nil
}

// shown looks into the source of p as it is on this machine.
func shown(ctx context.Context, w *stack.View, p *newer.Pinned) (shownSource, error) {
	r := w.Resolver(pin.Look)
	y, parts, tree, err := takenBy(ctx, w, p, r.Source)
	if err != nil {
		return shownSource{}, err
	}
	row := p.Row()
	out := shownSource{
		Name: p.Name, Scope: p.Scope, At: row.At, Address: row.Address, From: row.From, Pin: row.Pin, Licence: review.Licence(ctx, tree.Dir),
		folder: !bundle.Remote(p.Source.URL), Contains: []contained{}, Takes: []takenItem{}, Problems: []string{},
	}
	if when, err := pin.CommitDate(ctx, tree.Dir); err == nil && strings.HasPrefix(p.Source.URL, "git::") {
		out.PinnedDate = &when
	}
	for _, h := range tree.Holds() {
		out.Contains = append(out.Contains, contained{h.What, h.Names})
	}
	list := items.Of(parts...)
	for _, i := range list {
		out.Takes = append(out.Takes, takenItem{i.Kind, i.Name, cli.OrEmpty(y.For(i.Alone)), review.OfItem(i)})
	}
	out.groups = items.Grouped(list, func(i *items.Item) string {
		text := "that no runtime of the spec has a place for"
		if ids := y.For(i.Alone); len(ids) > 0 {
			text = "for " + strings.Join(ids, ", ")
		}
		if l := review.OfItem(i); l != "" {
			text += ", licence " + l
		}
		return text
	})
	out.Effects, out.Flagged = review.Effects(list), review.Flagged(p.Name, list)
	for _, part := range parts {
		for _, problem := range part.Problems {
			if text := problem.Path + " " + problem.Text; !slices.Contains(out.Problems, text) {
				out.Problems = append(out.Problems, text)
			}
		}
	}
	return out, nil
}

// print shows s to a person.
func (s shownSource) print(a *cli.App) {
	line := func(label, text string) {
		a.Printf("%s\n", a.Hang(fmt.Sprintf("  %-9s", label), termtext.Safe(termtext.OneLine(text))))
	}
	a.Printf("%s %s\n", a.Paint().Bold(termtext.Safe(s.Name)), a.Paint().Dim("of the "+s.Scope+"'s spec, "+termtext.Safe(s.At)))
	line("address", s.Address)
	if s.From != "" {
		line("from", s.From)
	}
	switch {
	case s.PinnedDate != nil:
		line("pin", fmt.Sprintf("%s of %s (%s ago)", short(s.Pin), s.PinnedDate.Format(time.DateOnly), age(s.PinnedDate)))
	case s.Pin != "":
		line("pin", short(s.Pin))
	case s.folder:
		line("pin", "none: a folder is read as it is")
	default:
		line("pin", "none; aisync lock makes one")
	}
	if s.Licence == "" {
		line("licence", "none found")
	} else {
		line("licence", s.Licence)
	}
	for _, c := range s.Contains {
		line("has", quantity.Count(len(c.Names), c.Kind)+": "+strings.Join(c.Names, ", "))
	}
	if len(s.Takes) == 0 {
		line("takes", "nothing: no bundle of the spec names it")
	}
	for _, g := range s.groups {
		line("takes", fmt.Sprintf("%s %s: %s", quantity.Count(len(g.Names), g.Kind), g.Of, strings.Join(g.Names, ", ")))
	}
	for _, problem := range s.Problems {
		line("warning", problem)
	}
	if len(s.Effects) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("What programs run, call or may do because of it:"))
		printEffects(a, s.Effects, "    ")
	}
	if len(s.Flagged) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("Flagged: text that attacks the agent that reads it"))
		view.PlanText{Paint: a.Paint()}.FlaggedFor(a.Out, s.Flagged, "")
	}
}
