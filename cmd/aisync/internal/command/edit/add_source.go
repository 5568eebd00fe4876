package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/bundlepolicy"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/policy"
	"aisync.dev/aisync/schema/spec"
)

// wanted is what add skill and add plugin put into a spec.
type wanted struct {
	name string // of the source; "": by its address
	text string // its address as written into the spec
	url  string // its address as the program spells it
	from string // PLUGIN@MARKETPLACE, that it is; "": none
	pick *spec.Pick

	market string   // that lists it, as written into the spec
	others []string // the plugins that the marketplace has besides it
	done   func()   // removes what was fetched to find it; may be nil
}

// addSource fetches what find names, puts it into the spec, and pins it. Nothing is
// written of a source that is refused.
func addSource(ctx context.Context, a *cli.App, f EditFlags, runtimes []string, find func(context.Context, *Editing, *stack.Session) (wanted, error)) error {
	k := KindOf("bundle")
	e := &Editing{App: a, Flags: f}
	if err := e.Open(ctx, k); err != nil {
		return err
	}
	for _, id := range runtimes {
		if _, ok := e.index.Runtime(id); !ok {
			return nearest.Unknown("runtime", id, catalog.RuntimeIDs(e.index.Runtimes()))
		}
	}
	s, err := a.Held(ctx, e.Scope, 0, "aisync add", stack.HoldLoaded)
	if err != nil {
		return err
	}
	defer s.Release()
	w, err := find(ctx, e, s)
	if err != nil {
		return err
	}
	if w.done != nil {
		defer w.done()
	}
	if len(runtimes) > 0 {
		if w.pick == nil {
			w.pick = &spec.Pick{}
		}
		w.pick.Runtimes = runtimes
	}
	r := s.WritingResolver(pin.Lock)
	sources := &bundle.Sources{Home: e.Places.Physical(e.Places.Home), Resolve: r.Source}
	if w.from != "" {
		if err := e.asListed(ctx, &w, sources); err != nil {
			return pin.Advise(err)
		}
	}
	if message, hint := policy.Source(e.spec.Limits, w.url); message != "" {
		return advice.New(errors.New("nothing was written: "+message), hint)
	}
	name, err := e.putSource(ctx, w, sources)
	if err != nil {
		return pin.Advise(err)
	}
	if _, err := e.Check(ctx, k); err != nil {
		return err
	}
	y := e.only(name, e.after, sources)
	y.Unwritten = true
	if err := errors.Join(yield.Check(ctx, y), bundlepolicy.Check(ctx, e.after.Limits, y)); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	return e.finishPinned(ctx, k, s, r)
}

// only is what a spec takes of the source called name.
func (e *Editing) only(name string, s *spec.Spec, sources *bundle.Sources) yield.Spec {
	out := yield.Spec{Runtimes: catalog.With(s.Catalog).Runtimes(), Sources: sources, Fault: true}
	if e.Scope == stack.ScopeHost {
		h := *s.Host
		h.Bundles = slices.DeleteFunc(slices.Clone(h.Bundles), func(b spec.HostBundle) bool { return b.Name != name })
		out.Host = &h
		return out
	}
	p := *s.Project
	p.Teams, p.Places = nil, nil
	p.Bundles = slices.DeleteFunc(slices.Clone(p.Bundles), func(r spec.BundleRef) bool { return r.Source != name })
	out.Project = &p
	return out
}

// addressIn reads an address as typed here. A folder is written as the spec finds
// it.
func (e *Editing) addressIn(text string) (w wanted, err error) {
	cwd, err := e.App.Cwd()
	if err != nil {
		return w, err
	}
	w.text = text
	w.url, err = bundle.Address(text, cwd)
	var bad *bundle.AddressError
	if errors.As(err, &bad) {
		return w, &cli.UsageError{Text: "no address of a source: " + bad.Why, Advice: bad.Hint}
	}
	archived := spec.LocalArchive(w.url)
	if err != nil || bundle.Remote(w.url) && !archived || strings.HasPrefix(w.url, "~") || filepath.IsAbs(w.url) {
		return w, err
	}
	name, folder := w.url, ""
	if i := strings.Index(w.url, "//"); archived && i >= 0 {
		name, folder = w.url[:i], w.url[i:]
	}
	name = filepath.Join(cwd, name)
	switch info, err := os.Stat(name); {
	case archived && (err != nil || !info.Mode().IsRegular()):
		return w, fmt.Errorf("no such archive: %s", name)
	case !archived && (err != nil || !info.IsDir()):
		return w, advice.New(fmt.Errorf("no such folder: %s", name), "for a repository of GitHub write owner/repo")
	}
	if e.Scope == stack.ScopeProject {
		if rel, err := filepath.Rel(e.Places.Project, name); err == nil {
			if name = filepath.ToSlash(rel); !strings.HasPrefix(name, ".") {
				name = "./" + name
			}
		}
	}
	w.url = name + folder
	w.text = w.url
	return w, nil
}

// dir is the folder where relative folders of the spec start.
func (e *Editing) dir() string {
	if e.Scope == stack.ScopeProject {
		return e.spec.Project.Dir
	}
	return e.spec.Host.Dir
}

// known returns the sources of the spec that is edited.
func (e *Editing) known() []spec.Source { return sourcesIn(e.spec, e.Scope) }

// putSource adds w to the spec, or to the source of the same address there. Its
// notes say what w brings. It returns the name of the source.
func (e *Editing) putSource(ctx context.Context, w wanted, sources *bundle.Sources) (string, error) {
	same := slices.IndexFunc(e.known(), func(s spec.Source) bool { return s.URL == w.url && (w.name == "" || w.name == s.Name) })
	if same >= 0 {
		w.name = e.known()[same].Name
	} else if w.name == "" {
		w.name = publishedName(w.url)
	}
	at := []string{sourcesField(e.Scope), w.name}
	tree, err := sources.Open(ctx, spec.Source{Name: w.name, URL: w.url, Dir: e.dir(), Pick: w.pick})
	if err != nil {
		return "", err
	}
	top, err := tree.Top()
	if err != nil {
		return "", fmt.Errorf("%s: %w", w.text, err)
	}
	if w.pick.Whole() {
		if _, _, err := tree.Whole(); err != nil || w.pick.Parts() > 0 {
			return "", cmp.Or(err, fmt.Errorf("%s is a part of a plugin by its marketplace, which claude could load whole alone; leave out --native", w.text))
		}
	}
	switch there := e.Files.Find(at...); {
	case len(there) == 0:
		if err := e.Files.Add(w.value(e.Scope), at...); err != nil {
			return "", err
		}
	case same < 0:
		return "", advice.New(fmt.Errorf("source %s exists with another location: %s", w.name, there[0]), "give this one another name, with --name")
	default:
		if err := e.extend(w, e.known()[same], at, there[0]); err != nil {
			return "", err
		}
	}
	e.Notes = append(e.Notes, brings(top, e.Scope)...)
	if e.Scope == stack.ScopeHost || slices.ContainsFunc(e.spec.Project.Bundles, func(r spec.BundleRef) bool { return r.Source == w.name && r.Name == "." }) {
		return w.name, nil
	}
	return w.name, e.Files.Append(edit.String(w.name+"//."), "bundles")
}

// value is w in a spec.
func (w wanted) value(scope stack.Scope) string {
	if w.pick == nil && w.from == "" && scope == stack.ScopeProject {
		return edit.String(w.text)
	}
	var p spec.Pick
	if w.pick != nil {
		p = *w.pick
	}
	return edit.Struct(edit.Text("source", w.text), edit.Text("from", w.from), edit.Texts("skills", p.Skills), edit.Texts("runtimes", p.Runtimes), edit.Texts("native", p.Native))
}

// extend adds w's skills to those that the spec takes of its source already.
func (e *Editing) extend(w wanted, had spec.Source, at []string, pos spec.Position) error {
	var more, runtimes []string
	if w.pick != nil {
		more, runtimes = w.pick.Skills, w.pick.Runtimes
	}
	switch {
	case had.Pick != nil && !slices.Equal(had.Pick.Runtimes, runtimes) || had.Pick == nil && len(runtimes) > 0:
		return advice.New(fmt.Errorf("source %s is there for other runtimes: %s", had.Name, pos), "change it there, or give this one another name, with --name")
	case w.pick.Whole() && !had.Pick.Whole():
		return advice.New(fmt.Errorf("source %s is there, translated for every program: %s", had.Name, pos), "change it there, with native: [\"claude\"]")
	case had.Pick.Parts() == 0:
		e.there("all of source "+had.Name, pos)
		return nil
	case len(more) == 0:
		return advice.New(fmt.Errorf("source %s takes only some of it: %s", had.Name, pos), "change it there")
	}
	for _, name := range more {
		switch {
		case slices.Contains(had.Pick.Skills, name):
			e.there("skill "+name+" of "+had.Name, pos)
		case len(e.Files.Find(append(slices.Clone(at), "skills")...)) == 0:
			if err := e.Files.Add("["+edit.String(name)+"]", append(slices.Clone(at), "skills")...); err != nil {
				return err
			}
		default:
			if err := e.Files.Append(edit.String(name), append(slices.Clone(at), "skills")...); err != nil {
				return err
			}
		}
	}
	return nil
}

// brings says what comes with p. In a project, apply asks about what programs run
// and call.
func brings(p *bundle.Part, scope stack.Scope) []string {
	n := p.Neutral
	asks := ""
	if scope == stack.ScopeProject {
		asks = ", which apply asks about"
	}
	var skills, commands, agents, out []string
	for _, s := range n.Skills {
		skills = append(skills, s.Name)
	}
	for _, f := range n.Commands {
		commands = append(commands, strings.TrimSuffix(path.Base(f.Rel), ".md"))
	}
	for _, f := range n.Agents {
		agents = append(agents, strings.TrimSuffix(path.Base(f.Rel), ".md"))
	}
	for _, k := range []struct {
		what  string
		names []string
	}{{"skills", skills}, {"commands", commands}, {"subagents", agents}} {
		if len(k.names) > 0 {
			out = append(out, "brings the "+k.what+" "+strings.Join(k.names, ", "))
		}
	}
	for _, h := range n.Hooks {
		out = append(out, fmt.Sprintf("brings a hook%s: at %s it runs %s", asks, h.Event, h.Shown()))
	}
	for _, m := range n.Servers {
		what := "calls " + m.URL
		if m.Command != "" {
			what = "runs " + strings.Join(append([]string{m.Command}, m.Args...), " ")
		}
		out = append(out, fmt.Sprintf("brings the MCP server %s%s: it %s", m.Name, asks, what))
	}
	problems := slices.Clone(p.Problems)
	for _, s := range n.Skills {
		problems = append(problems, s.Problems...)
	}
	for _, problem := range problems {
		out = append(out, "warning: "+problem.Path+" "+problem.Text)
	}
	return out
}

// generic are last parts of addresses that say nothing by themselves.
var generic = []string{"skills", "agent-skills", "plugins", "agents", "claude-plugins", "claude-skills"}

// publishedName is the name of a source by its address: the folder's or the
// repository's, with the owner where that says too little.
func publishedName(url string) string {
	folder := bundle.FolderOf(url)
	root, _, _ := strings.Cut(url, "?")
	root = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(root, folder), "//"), ".git")
	base := NameOfSource(root)
	if slices.Contains(generic, base) && bundle.Remote(url) {
		base = path.Base(path.Dir(root)) + "-" + base
	}
	if last := path.Base(folder); folder != "" && !slices.Contains(generic, last) {
		base = last
	}
	return cli.NameOf(base, "source")
}
