package adapter

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// level says how a program runs the hooks of an event, and its name for it.
func (p place) level(event string) (level, name string) {
	for _, e := range p.rt.HookEvents {
		if e.Event == event {
			return e.Level, cmp.Or(e.Name, event)
		}
	}
	return p.rt.Hooks, event
}

// events gives the hooks of a bundle to each program that can run them, and
// reports those that none runs. For a required hook that is a warning.
func (b *builder) events(places []place, w bundleRequest, n bundle.Neutral) {
	missed := map[string][]string{} // by reason and hook
	var order []string
	for _, h := range n.Hooks {
		for _, p := range places {
			if !p.isFor(h.Runtimes) {
				continue
			}
			if p.covered(places, h) {
				continue
			}
			why := b.event(p, w, n.Programs, h)
			if why == "" {
				if h.Required() {
					b.required = append(b.required, RequiredHook{p.rt.ID, h.Event, h.Command, w.origin})
				}
				continue
			}
			if b.around(p, w, n.Programs, h) {
				why = "launcher"
			}
			key := why + "\x00" + h.Level + "\x00" + h.Event + " " + h.Command
			if len(missed[key]) == 0 {
				order = append(order, key)
			}
			missed[key] = append(missed[key], p.rt.ID)
		}
	}
	for _, key := range order {
		parts := strings.Split(key, "\x00")
		how := map[string]string{
			"wrapper": "not run by %s: start it through a wrapper that runs it, or run it by hand",
			"tools":   "manual for %s: it has no such tools",

			"launcher": "not run by %s but by ai: start it with ai",
		}[parts[0]]
		if how == "" {
			how = "manual for %s: nothing runs it there"
		}
		if parts[1] == "required" {
			b.note(true, w.origin, "the required hook %s of %s is %s", parts[2], w.label, fmt.Sprintf(how, list(missed[key])))
		} else {
			b.note(false, w.origin, "the hook %s of %s is %s", parts[2], w.label, fmt.Sprintf(how, list(missed[key])))
		}
	}
}

// covered reports whether the program of p takes a hook from the file of
// another program, which receives it there.
func (p place) covered(places []place, h bundle.Hook) bool {
	return p.scope.Events != nil && slices.ContainsFunc(places, func(q place) bool {
		if q.scope.Events == nil || !slices.Contains(p.scope.Events.Also, q.scope.Events.Path) || !q.isFor(h.Runtimes) {
			return false
		}
		level, _ := q.level(h.Event)
		matcher, ok := h.Matcher(q.rt.ID, q.rt.Tools)
		return level == "native" && ok && !p.refuses(h, matcher)
	})
}

// refuses reports whether the program of p does not run a hook that lies where it
// looks.
func (p place) refuses(h bundle.Hook, matcher string) bool {
	f := p.scope.Events
	if h.Event == "SessionStart" && f.Starts != "" && matcher != "" {
		if form, err := regexp.Compile("^(?:" + matcher + ")$"); err == nil && !form.MatchString(f.Starts) {
			return true
		}
	}
	return slices.ContainsFunc(f.Refuses, func(text string) bool { return strings.Contains(h.Command, text) })
}

// event declares one hook for the program of p. It returns why the program will
// not run it, its level or "tools", or "" if it will.
func (b *builder) event(p place, w bundleRequest, programs []bundle.File, h bundle.Hook) string {
	level, name := p.level(h.Event)
	f := p.scope.Events
	switch {
	case level == "manual" || f == nil && level == "native":
		return "manual"
	case f == nil || level == "wrapper" && !render.IsModule(f.Shape):
		return "wrapper"
	}
	matcher, ok := h.Matcher(p.rt.ID, p.rt.Tools)
	if !ok {
		return "tools"
	}
	if p.refuses(h, matcher) {
		return "manual"
	}
	command, own := h.Command, false
	if first, _, _ := strings.Cut(command, " "); slices.ContainsFunc(programs, func(g bundle.File) bool { return g.Rel == first }) {
		command, own = render.Call(f.Program, path.Join(p.scope.Hooks, first), command), true
	}
	if own {
		b.files(p, w, p.scope.Hooks, "hook programs", programs)
	}
	hook := render.Hook{Event: name, Matcher: matcher, Command: command, Timeout: h.Timeout, If: h.If}
	if render.IsModule(f.Shape) {
		m := b.modules[f.Path]
		if m == nil {
			m = &module{shape: f.Shape}
			b.modules[f.Path] = m
		}
		m.hooks, m.origin = append(m.hooks, render.NewModuleHook(h.Event, hook)), joined(m.origin, w.origin)
		return ""
	}
	if f.Millis {
		hook.Timeout *= 1000
	}
	value := render.HookValue(f.Shape, hook)
	key := merge.HookKey(f.Pointer, name, merge.HookID{Matcher: matcher, Type: "command", Command: command, If: h.If})
	if f.Shape != render.ShapeClaude {
		key, _ = merge.SetKey(f.Pointer+merge.Pointer(name), value) // our own JSON: cannot fail
	}
	b.leaf(fileAt(f.Path), merge.Format(f.Format), reconcile.Leaf{
		Key: reconcile.LeafKey(key), Body: file.Value(value), Own: reconcile.Member, Origin: w.origin,
	}, w.label)
	for _, ref := range f.Always {
		b.reference(ref, w.origin, p.rt.ID)
	}
	return ""
}

// module is a file that runs the hooks of all bundles for one program.
type module struct {
	shape  string
	hooks  []render.ModuleHook
	origin []reconcile.Position
}

// writeModules declares them.
func (b *builder) writeModules() {
	for _, name := range slices.Sorted(maps.Keys(b.modules)) {
		m := b.modules[name]
		b.leaf(fileAt(name), "", reconcile.Leaf{
			Body: file.Whole(render.Module(m.shape, m.hooks), 0o644), Origin: m.origin,
		}, "the hooks")
	}
}
