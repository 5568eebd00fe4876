package update

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// move is one pin that can be moved, with its review.
type move struct {
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Scope   string        `json:"scope"`
	Address string        `json:"address"` // as the spec has it, or will have it
	From    string        `json:"from"`    // a commit, a digest of files, a version
	To      string        `json:"to"`
	Note    string        `json:"note,omitempty"`
	Review  review.Review `json:"review"`
	Moved   bool          `json:"moved"`

	row      *newer.Row
	edits    []change // of the spec
	pin      reconcile.Pin
	lock     *pin.File
	answer   *mcpserver.Answer
	registry mcpserver.Registry
	open     []flagged.Text // that wait for an answer
	accepted []string       // digests
	unasked  bool           // for want of a terminal
}

// change replaces a text in the field at path.
type change struct {
	from, to string
	path     []string
}

// finder finds what is newer, and writes what was agreed to.
type finder struct {
	app      *cli.App
	session  *stack.Session
	asker    *newer.Asker
	registry string
}

// find returns how p can be moved; nil if it is current. A move without To has a note
// that says why there is none.
func (f *finder) find(ctx context.Context, p *newer.Pinned) (*move, error) {
	var m *move
	var err error
	switch p.Kind {
	case newer.KindServer:
		m, err = f.server(ctx, p)
	case newer.KindBase:
		m, err = f.base(ctx, p)
	default:
		m, err = f.source(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s of the %s's spec stays as it is: %w", p.Kind, p.Name, p.Scope, pin.Advise(err))
	}
	return m, nil
}

func newMove(p *newer.Pinned, r *newer.Row) *move {
	return &move{
		Kind: p.Kind, Name: p.Name, Scope: p.Scope, Address: r.Address, From: r.Pin, Note: r.Note, row: r, lock: p.Lock,
		Review: review.Review{Items: []*review.Item{}, Effects: []review.Effect{}, Flagged: []flagged.Text{}},
	}
}

// source compares the pinned version of a source with the newest.
func (f *finder) source(ctx context.Context, p *newer.Pinned) (*move, error) {
	s := f.session
	r := f.asker.Source(ctx, p)
	m := newMove(p, r)
	switch r.State {
	case newer.Unknown:
		return nil, r.Err
	case newer.Current:
		return nil, nil
	case newer.Newer:
	default:
		return m, nil
	}
	now := p.Source
	if now.From != "" {
		var err error
		if now.URL, err = f.asker.Moved(ctx, p); err != nil {
			return nil, err
		}
	}
	resolver := s.WritingResolver(pin.Lock)
	resolver.Update = pin.Update{IDs: []string{p.Name}}
	dir, to, err := resolver.Source(ctx, now)
	if err != nil {
		return nil, err
	}
	_, parts, _, err := takenBy(ctx, s.View, p, func(ctx context.Context, src spec.Source) (string, string, error) {
		if src.Name == p.Name {
			src.URL = now.URL
		}
		return resolver.Source(ctx, src)
	})
	if err != nil {
		return nil, err
	}
	before := review.Version{}
	kept := s.WritingResolver(pin.Lock)
	if old, _, err := kept.Source(ctx, p.Source); err != nil {
		m.say("the pinned version cannot be had any more, so all of the newer one is shown: " + err.Error())
	} else if _, had, _, err := takenBy(ctx, s.View, p, kept.Source); err != nil {
		m.say("what is pinned cannot be read, so all of the newer one is shown: " + err.Error())
	} else {
		before = review.Version{Dir: old, Parts: had}
	}
	if len(items.Of(before.Parts...)) > 0 && len(items.Of(parts...)) == 0 {
		return nil, fmt.Errorf("%s: %s has nothing of what the spec takes any more", m.row.At, short(to))
	}
	if m.Review, err = review.Of(ctx, p.Name, before, review.Version{Dir: dir, Parts: parts}); err != nil {
		return nil, err
	}
	if slices.Contains(stack.TrustedSources(s.Spec.Host), bundle.PinnedSource(now.URL, to)) {
		m.Review.Flagged = []flagged.Text{}
	}
	m.Review.Flagged = flagged.Undecided(m.Review.Flagged, s.Store)
	m.To = to
	if now.URL != p.Source.URL {
		m.Address = bundle.ShortAddress(now.URL)
		m.readdress(p, m.Address)
	}
	return m, m.take(resolver, p.Name)
}

// say adds a sentence to the note.
func (m *move) say(text string) {
	if m.Note != "" {
		text = m.Note + "; " + text
	}
	m.Note = text
}

// readdress makes the spec name the source at another address. A spec may have it as
// the source itself or in a field of it; one of the changes finds it.
func (m *move) readdress(p *newer.Pinned, to string) {
	list := map[string]string{"host": "bundles", "project": "sources"}[p.Scope]
	for _, from := range []string{p.Source.URL, bundle.ShortAddress(p.Source.URL)} {
		for _, path := range [][]string{{list, p.Name}, {list, p.Name, "source"}} {
			m.edits = append(m.edits, change{from, to, path})
		}
	}
}

// take takes the pin that the resolver made.
func (m *move) take(r *pin.Resolver, name string) error {
	res, err := r.Result()
	if err != nil {
		return err
	}
	for f, pins := range res.Pins {
		for _, x := range pins {
			if (x.Kind == pin.KindBundle || x.Kind == pin.KindBase) && x.Name == name {
				m.lock, m.pin = f, x
			}
		}
	}
	return nil
}

// server compares an entry of a spec with the newest version of its server.
func (f *finder) server(ctx context.Context, p *newer.Pinned) (*move, error) {
	registry, err := registryFor(f.app, f.session.View, p, f.registry)
	if err != nil {
		return nil, err
	}
	r, now := f.asker.Server(ctx, p, registry)
	m := newMove(p, r)
	switch r.State {
	case newer.Unknown:
		return nil, r.Err
	case newer.Current:
		return nil, nil
	}
	pinned := p.From
	pinned.SHA256 = ""
	old, err := registry.Get(ctx, pinned)
	if err != nil {
		return nil, err
	}
	renewal, err := mcpserver.Renew(p.Server, p.From, old.Server, now.Server)
	if err != nil {
		return nil, err
	}
	m.To, m.Address, m.answer, m.registry = now.Version, renewal.From, now, registry
	m.edits = []change{{p.Server.From, renewal.From, []string{"mcp", p.Name, "from"}}}
	if in := p.Server.Install; in != nil {
		if err := registry.Renews(ctx, now, p.Server, renewal); err != nil {
			return nil, err
		}
		m.edits = append(m.edits, change{renewal.Words[0], renewal.Words[1], []string{"mcp", p.Name, "install", "version"}})
		m.Review.Effects = append(m.Review.Effects, review.Effect{Kind: "MCP server", Name: p.Name, Does: fmt.Sprintf("installs %s with %s, runs %s", renewal.After, in.Via, strings.Join(append([]string{p.Server.Command}, p.Server.Args...), " "))})
		return m, nil
	}
	after := slices.Clone(p.Server.Args)
	for i := 0; i < len(renewal.Words); i += 2 {
		m.edits = append(m.edits, change{renewal.Words[i], renewal.Words[i+1], []string{"mcp", p.Name, "args"}})
		for k := range after {
			if after[k] == renewal.Words[i] {
				after[k] = renewal.Words[i+1]
			}
		}
	}
	if !slices.Equal(after, p.Server.Args) {
		m.Review.Effects = append(m.Review.Effects, review.Effect{Kind: "MCP server", Name: p.Name, Does: "runs " + strings.Join(append([]string{p.Server.Command}, after...), " ")})
	}
	return m, nil
}

// write writes the specs, and then the pins. It records what the person accepted.
func (f *finder) write(ctx context.Context, moves []*move) error {
	s := f.session
	for _, scope := range []stack.Scope{stack.ScopeHost, stack.ScopeProject} {
		if err := f.writeSpec(ctx, scope, moves); err != nil {
			return err
		}
	}
	var accepted []string
	for _, m := range moves {
		if m.pin.Kind != "" {
			m.lock.Set([]reconcile.Pin{m.pin})
		}
		if m.answer != nil {
			if err := m.registry.Keep(s.FS, *m.answer); err != nil {
				f.app.Say("aisync: warning: what the registry said is not kept for the time without a network: %s", termtext.Safe(err.Error()))
			}
		}
		accepted = append(accepted, m.accepted...)
	}
	if len(accepted) > 0 {
		if err := s.Store.Agree(s.FS, reconcile.HostOwner, accepted); err != nil {
			return err
		}
	}
	return s.SaveLocks(ctx)
}

// writeSpec makes the edits of one spec.
func (f *finder) writeSpec(ctx context.Context, scope stack.Scope, moves []*move) error {
	moves = slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return m.Scope != string(scope) || len(m.edits) == 0 })
	if len(moves) == 0 {
		return nil
	}
	kind := edit.KindOf("bundle")
	e := &edit.Editing{App: f.app, Flags: edit.EditFlags{Scope: string(scope)}, Places: f.session.Places}
	if err := e.Open(ctx, kind); err != nil {
		return err
	}
	for _, m := range moves {
		missing := m.edits
		for _, c := range m.edits {
			found, err := e.Files.Replace(c.from, c.to, c.path...)
			if err != nil {
				return err
			}
			if found {
				missing = slices.DeleteFunc(slices.Clone(missing), func(o change) bool { return o.to == c.to })
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%s: %s is not written there as %q, so nothing was written; write %q by hand, then run: aisync lock", m.row.At, strings.Join(missing[0].path, "."), missing[0].from, missing[0].to)
		}
	}
	texts, err := e.Check(ctx, kind)
	if err != nil {
		return err
	}
	return e.Write(texts)
}
