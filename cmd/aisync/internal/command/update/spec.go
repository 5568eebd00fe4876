package update

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// specMove is what the repository of the host's spec has that this machine has not,
// and the other way round.
type specMove struct {
	clone.Upstream
	Dir     string           `json:"dir"`
	From    string           `json:"from"`    // a commit
	To      string           `json:"to"`      // "": both sides changed the same
	Behind  []clone.Commit   `json:"behind"`  // to take
	Ahead   []clone.Commit   `json:"ahead"`   // made here, and not pushed
	Dropped []clone.Commit   `json:"dropped"` // that the branch has no more
	Edits   []clone.Edit     `json:"edits"`   // made here, and not committed
	Files   []clone.FileDiff `json:"files"`
	Pins    []string         `json:"pins"` // in words
	Effects []review.Effect  `json:"effects"`
	Both    []clone.Both     `json:"both"` // that both sides changed
	Notes   []string         `json:"notes"`
	Moved   bool             `json:"moved"`
	Pushed  bool             `json:"pushed"`

	shown string // Dir, as a person would type it
}

// follower takes the newest version of the host's spec.
type follower struct {
	app     *cli.App
	flags   flags
	mode    cli.DiffMode
	machine *stack.Machine
	clone   *clone.Clone
}

// follow fetches the host's spec where its folder is a clone, shows what moves, and
// takes it at a yes. The result is nil if the folder follows nothing. It holds the
// lock of the state meanwhile, so that no apply reads half a spec.
func follow(ctx context.Context, a *cli.App, f flags, mode cli.DiffMode) (*specMove, error) {
	s, err := a.Held(ctx, stack.ScopeHost, 0, "aisync update", stack.Hold)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	c, err := openClone(ctx, a, s.Places)
	wanted := f.spec || f.push
	switch {
	case errors.Is(err, clone.ErrNone) && !wanted:
		return nil, nil
	case errors.Is(err, clone.ErrNone):
		return nil, advice.New(err, "make it one: aisync init --from URL on a machine without a spec, or git init there")
	case err != nil:
		return nil, err
	}
	w := &follower{a, f, mode, s.Machine, c}
	up, loose, err := c.Follows(ctx)
	if err != nil {
		return nil, err
	}
	if loose != nil {
		err := advice.Command(fmt.Errorf("the spec in %s %s, so there is nothing to fetch", termtext.Safe(w.short()), termtext.Safe(loose.Why)), loose.Next)
		if wanted {
			return nil, err
		}
		if loose.Remote {
			a.Say("aisync: note: %s; run: %s", err.Error(), loose.Next)
		}
		return nil, nil
	}
	return w.follow(ctx, up)
}

// openClone opens the clone in the folder of the host specs.
func openClone(ctx context.Context, a *cli.App, p place.Places) (*clone.Clone, error) {
	return clone.Open(ctx, p.Config, clone.Options{Env: a.Env.List(), Terminal: a.Terminal(), Named: p.Configured, Chown: p.Chown, UID: p.UID, GID: p.GID})
}

// short is the clone's folder as a person would type it.
func (w *follower) short() string { return w.machine.Places.Anywhere(w.clone.Dir) }

// git is a command for the person to type.
func (w *follower) git(args string) string {
	dir := w.short()
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		return "git -C ~/" + shellquote.Terminal(rest) + " " + args
	}
	return "git -C " + shellquote.Terminal(dir) + " " + args
}

func (w *follower) follow(ctx context.Context, up clone.Upstream) (*specMove, error) {
	if w.machine.Offline {
		return nil, fmt.Errorf("fetch the spec from %s: %w", termtext.Safe(up.URL), reconcile.ErrOffline)
	}
	if err := w.clone.Tidy(ctx); err != nil {
		return nil, err
	}
	if err := w.clone.Fetch(ctx, up); err != nil {
		return nil, w.unreached(err, "fetch the spec from "+up.URL, "fetch")
	}
	st, err := w.clone.Compare(ctx, up)
	if err != nil {
		return nil, err
	}
	m := &specMove{
		Upstream: up, Dir: w.clone.Dir, From: st.Head, Behind: st.Behind, Ahead: st.Ahead, Dropped: append([]clone.Commit{}, st.Dropped...), Edits: st.Edits,
		Files: []clone.FileDiff{}, Pins: []string{}, Effects: []review.Effect{}, Both: []clone.Both{}, Notes: []string{}, shown: w.short(),
	}
	if err := w.refuse(st, m); err != nil {
		return m, err
	}
	if len(st.Behind) > 0 {
		if err := w.take(ctx, up, st, m); err != nil {
			return m, err
		}
	} else if !w.app.Flags.JSON {
		m.printHere(w.app)
	}
	if w.flags.push && !w.flags.dryRun {
		return m, w.push(ctx, up, m)
	}
	return m, nil
}

// unreached says why a server could not be asked.
func (w *follower) unreached(err error, doing, verb string) error {
	err = fmt.Errorf("%s: %w; the spec here stays as it is", clone.Shown(doing), err)
	if clone.Denied(err) {
		return advice.Command(err, w.git(verb)+", which shows how git logs in there")
	}
	return advice.Command(err, w.git(verb)+" to try it without aisync")
}

// refuse returns why nothing can be taken, whatever the commits change.
func (w *follower) refuse(st *clone.Standing, m *specMove) error {
	name := m.Upstream.Name()
	switch {
	case st.Merging:
		return advice.Command(fmt.Errorf("a merge or rebase that you began in %s is not finished", m.shown), w.git("status")+", and finish it")
	case st.Unrelated:
		return advice.New(fmt.Errorf("%s has no commit in common with the spec here: it was replaced. The spec here stays as it is", name),
			fmt.Sprintf("to take that one, dropping %s made here: %s", quantity.Count(len(st.Ahead), "commit"), w.git("reset --keep "+name)))
	case len(st.Dropped) == 0:
		return nil
	}
	var lost []string
	for _, c := range st.Dropped {
		lost = append(lost, c.ID[:min(len(c.ID), 12)]+" "+termtext.OneLine(c.Subject))
	}
	says := fmt.Sprintf("the history of %s was rewritten: it no longer has %s that the spec here is built on (%s). The spec here stays as it is", name, quantity.Count(len(lost), "commit"), termtext.Safe(strings.Join(lost, "; ")))
	next := "to follow it: " + w.git("reset --keep "+name)
	if len(st.Ahead) > len(st.Dropped) {
		next = "to follow it with your own commits on top: " + w.git("rebase --onto "+name+" "+st.Dropped[0].ID[:12])
	}
	return advice.New(errors.New(says), next)
}

// take shows what the commits that the clone lacks change, and takes them at a yes.
func (w *follower) take(ctx context.Context, up clone.Upstream, st *clone.Standing, m *specMove) error {
	r, err := w.clone.Merge(ctx, up, st)
	if err != nil {
		nameless := clone.Nameless(err)
		err = fmt.Errorf("merge %s: %w; the spec here stays as it is", up.Name(), err)
		if nameless {
			return advice.Command(err, "git config --global user.name NAME && git config --global user.email ADDRESS")
		}
		return err
	}
	defer r.Close()
	m.Both = append(m.Both, r.Both...)
	if len(r.Both) > 0 {
		if !w.app.Flags.JSON {
			m.print(w.app, w.mode)
		}
		return w.conflict(m)
	}
	m.To = r.Commit
	if m.Files, err = r.Diff(ctx); err != nil {
		return err
	}
	pins, err := clone.Pins(w.clone.Dir, r.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w; the spec here stays as it is", up.Name(), err)
	}
	for _, c := range pins {
		m.Pins = append(m.Pins, pinText(c))
	}
	if err := w.look(ctx, r.Dir, m); err != nil {
		return w.unusable(err, r.Dir, up)
	}
	if !w.app.Flags.JSON {
		m.print(w.app, w.mode)
	}
	if w.flags.dryRun {
		return nil
	}
	if err := w.ask(r, m); err != nil {
		return err
	}
	if err := r.Take(ctx); err != nil {
		return fmt.Errorf("take the commits of %s: %w; the spec here stays as it is", up.Name(), err)
	}
	m.Moved = true
	if !w.app.Flags.JSON {
		w.app.Printf("The spec is now that of %s%s.\n\n", up.Name(), map[bool]string{true: ", with your commits", false: ""}[r.Merge])
	}
	return nil
}

// conflict tells what to do where both sides changed the same.
func (w *follower) conflict(m *specMove) error {
	uncommitted := slices.ContainsFunc(m.Both, func(b clone.Both) bool { return strings.HasSuffix(b.Here, "not committed") })
	err := waits(fmt.Sprintf("both sides changed %s (listed above), so the spec here stays as it is", quantity.Count(len(m.Both), "place")))
	if uncommitted {
		return advice.New(err, "commit yours first, then update again: "+w.git("add -A")+" && "+w.git("commit")+" && aisync update")
	}
	return advice.New(err, "merge by hand, and commit: "+w.git("merge "+m.Upstream.Name()))
}

// ask returns nil if the person says yes to m.
func (w *follower) ask(r *clone.Result, m *specMove) error {
	a := w.app
	switch {
	case w.flags.yes:
		return nil
	case !a.Terminal() || a.Flags.JSON:
		return advice.Command(errors.New("confirmation required, but stdin is not a terminal, or --json was given; nothing was moved"), "the same command with --yes")
	}
	question := fmt.Sprintf("Take %s into %s?", quantity.Count(len(m.Behind), "commit"), termtext.Safe(m.shown))
	if r.Merge {
		question = fmt.Sprintf("Merge %s with the %s made here?", quantity.Count(len(m.Behind), "commit"), quantity.Count(len(m.Ahead), "commit"))
	}
	yes, err := a.Ask(question)
	if err == nil && !yes {
		err = cli.ErrCancelled
	}
	return err
}

// unusable says why the spec of up cannot be used here. It names the files as they
// would lie in the clone.
func (w *follower) unusable(err error, dir string, up clone.Upstream) error {
	next := "correct it where it was changed, and push; or, if this aisync is the older one, upgrade it"
	return advice.New(fmt.Errorf("the spec of %s cannot be used here, and the one here stays as it is: %s", up.Name(), w.named(err, dir)), next)
}

// look loads and declares the spec in dir as it would be here, and finds what programs
// would do because of it and do not yet. An error that the spec here has too counts
// as a note: with it, nothing gets worse.
func (w *follower) look(ctx context.Context, dir string, m *specMove) error {
	next := *w.machine
	next.Places.Config = dir
	after, session, err := stack.Rehearsal(ctx, &next, stack.ScopeHost)
	if err != nil {
		return err
	}
	r := session.WritingResolver(pin.Lock)
	now := review.OfHost(ctx, hostYield(after, r))
	_, unfit := r.Result()
	if unfit == nil {
		_, unfit = stack.Open(ctx, &next, stack.ScopeHost)
	}
	had := []review.Effect{}
	before, err := stack.Open(ctx, w.machine, stack.ScopeHost)
	switch {
	case err == nil && unfit != nil:
		return unfit
	case unfit != nil:
		m.Notes = append(m.Notes, "it cannot be planned here, and neither can the one here: "+w.named(unfit, dir))
	}
	if err == nil {
		had = review.OfHost(ctx, hostYield(before, before.Resolver(pin.Look)))
	}
	m.Effects = slices.DeleteFunc(now, func(e review.Effect) bool { return slices.Contains(had, e) })
	return nil
}

// named is the text of err with the clone's folder in place of dir.
func (w *follower) named(err error, dir string) string {
	text := err.Error()
	if cwd, cerr := w.app.Cwd(); cerr == nil {
		if rel, rerr := filepath.Rel(cwd, dir); rerr == nil {
			text = strings.ReplaceAll(text, rel+"/", w.short()+"/")
		}
	}
	return strings.ReplaceAll(text, dir, w.clone.Dir)
}

// hostYield is the host's spec of v, with its sources as r finds them.
func hostYield(v *stack.View, r *pin.Resolver) yield.Spec {
	return yield.Spec{Runtimes: v.Catalog.Runtimes(), Sources: &bundle.Sources{Home: v.Places.Physical(v.Places.Home), Resolve: r.Source, Instead: v.Instead}, Host: v.Spec.Host}
}

// push sends the commits made here.
func (w *follower) push(ctx context.Context, up clone.Upstream, m *specMove) error {
	st, err := w.clone.Compare(ctx, up)
	if err != nil {
		return err
	}
	if len(st.Ahead) > 0 {
		err := w.clone.Push(ctx, up)
		if clone.Moved(err) {
			return advice.Command(fmt.Errorf("%s has moved meanwhile, so nothing was pushed", up.Name()), "aisync update --push")
		}
		if err != nil {
			return w.unreached(err, "push the spec to "+up.URL, "push")
		}
		m.Pushed = true
	}
	if w.app.Flags.JSON {
		return nil
	}
	switch {
	case m.Pushed:
		w.app.Printf("Pushed %s to %s.\n", quantity.Count(len(st.Ahead), "commit"), up.Name())
	case len(st.Edits) == 0:
		w.app.Printf("%s has every commit of the spec here: nothing to push.\n", up.Name())
	}
	if len(st.Edits) > 0 {
		w.app.Hint("%s not committed, so not pushed; to commit: %s", countFiles(len(st.Edits)), w.git("add -A")+" && "+w.git("commit"))
	}
	return nil
}
