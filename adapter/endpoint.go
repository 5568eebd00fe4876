package adapter

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// endpoint points programs at the services that the spec gives them. That
// depends on the machine, so it stands in user scope, never in a project.
func (h Host) endpoint(b *builder) {
	unsaid := map[string]bool{}
	for _, use := range h.Spec.Runtimes {
		rt, ok := start.Find(h.Runtimes, use.ID)
		name := h.starts().ServiceOf(use, rt)
		if !ok || name.Value == "" || use.Install == nil && !h.there(h.command(use, rt)) {
			continue
		}
		i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name.Value })
		if i < 0 {
			continue // said below, or by the schema
		}
		s, origin := h.Spec.Services[i], joined(from(name.Pos), from(use.Pos))
		if h.withheld(b, use, rt, s, origin) {
			continue
		}
		if s.Kind == "external" && len(s.APIs) == 0 && !unsaid[s.Name] {
			unsaid[s.Name] = true
			b.note(true, from(s.Pos), "service %s does not say its apis, so it is taken to have all of them; aisync doctor asks it", s.Name)
		}
		h.connect(b, use, rt, h.target(s), origin)
	}
	var names []string
	for _, s := range h.Spec.Services {
		names = append(names, s.Name)
	}
	e := h.Spec.Endpoint
	switch {
	case e.Value == "":
	case !slices.Contains(names, e.Value):
		b.fail(from(e.Pos), "endpoint names the service %q, and there is none of that name: %s", e.Value, list(names))
	default:
		h.untouched(b)
	}
}

// untouched names, where no generic local runtime takes the host's endpoint,
// the programs that do not take it either, and what points them there: until
// this version the endpoint alone did.
func (h Host) untouched(b *builder) {
	var ids, write []string
	for _, use := range h.Spec.Runtimes {
		rt, _ := start.Find(h.Runtimes, use.ID)
		switch {
		case rt.Local:
			return
		case use.Endpoint == nil && start.Pointable(rt) && (use.Install != nil || h.there(rt.Command)):
			ids, write = append(ids, use.ID), append(write, use.ID+": endpoint: true")
		}
	}
	if len(ids) > 0 {
		b.note(false, from(h.Spec.Endpoint.Pos), "endpoint %q is for generic local runtimes alone, and this host has none; %s: not pointed at it; to point programs there write runtimes: {%s}; endpoint: false ends this note",
			h.Spec.Endpoint.Value, list(ids), list(write))
	}
}

// starts is what starting a runtime of h depends on.
func (h Host) starts() start.Host {
	out := start.Host{Spec: h.Spec, Runtimes: h.Runtimes, Models: h.Models, Absent: h.Absent}
	if h.Facts != nil && h.Facts.Programs != nil {
		out.Has = func(program string) bool { return h.Facts.Programs[program] != "" }
	}
	return out
}

// target is what a program is told of the service that it is pointed at.
type target struct {
	start.Server
	pos  spec.Position
	runs reconcile.Address // what aisync starts of it, "" of an external one
}

func (h Host) target(s spec.Service) target {
	t := target{Server: h.starts().ServerOf(s), pos: s.Pos}
	if s.Kind != "external" {
		t.runs = reconcile.Address("service:" + s.Scope + "/" + s.Name)
	}
	return t
}

// connect points a program at a server by its own configuration in user scope.
func (h Host) connect(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) {
	driver := rt
	if d, ok := start.Find(h.Runtimes, use.CLI); ok {
		driver = d
	}
	if len(driver.APIs) > 0 && !slices.ContainsFunc(driver.APIs, func(api string) bool { return slices.Contains(t.APIs, api) }) {
		b.fail(from(t.pos), "service %s has the apis %s, and %s needs %s (%s); add it to apis if the service has it, or write endpoint: false for %s",
			t.Name, list(t.APIs), driver.ID, strings.Join(driver.APIs, " or "), text(origin), use.ID)
		return
	}
	if least := 2 * driver.FirstRequest; t.Context > 0 && t.Context < least {
		b.note(true, origin, "%s begins with about %d tokens, and %s has room for %d: give it a context of %d or more, or %s will soon forget what it was told",
			driver.ID, driver.FirstRequest, t.Name, t.Context, least, driver.ID)
	}
	switch {
	case rt.Local:
		h.write(b, use, rt, t, origin)
	case len(rt.User.Endpoint) > 0:
		b.note(false, origin, "%s talks to %s (%s) from now on", rt.ID, t.Name, t.URL)
		h.write(b, use, rt, t, origin)
	case len(rt.Launch.Endpoint) > 0:
		b.note(false, origin, "%s has no file that could point it at %s: it talks to it where it is started with %s in its environment", rt.ID, t.Name, environment(rt.Launch.Endpoint, t))
	default:
		b.cannot(endpointOf(use), origin, "%s cannot talk to %s: it takes no server but its own maker's", rt.ID, t.Name)
	}
}

// environment lists variables as a shell takes them.
func environment(vars map[string]string, t target) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		words = append(words, name+"="+t.Fill(vars[name]))
	}
	return strings.Join(words, " ")
}

// point writes the leaves by which a program finds a server. They wait for it:
// where it cannot be started, the program is not pointed there.
func (h Host) point(b *builder, rt spec.Runtime, t target, origin []reconcile.Position) {
	for _, ref := range rt.User.Endpoint {
		value, ok, err := t.FillJSON(ref.JSON)
		if err != nil {
			b.fail(origin, "adapter: %s %s: %w", ref.Path, ref.Pointer, err)
			continue
		}
		if !ok {
			continue
		}
		ref.JSON = value
		b.reference(ref, origin, rt.ID)
		b.waits(fileAt(ref.Path), t.runs)
	}
}

// drive writes the configuration of the program that drives a generic runtime,
// in the runtime's own folder: the program is pointed there when it is launched
// as that runtime, and keeps its own configuration otherwise.
func (h Host) drive(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) {
	driver, _ := start.Find(h.Runtimes, use.CLI)
	d := driver.Driver
	if d == nil {
		var known []string
		for _, id := range start.DriverIDs(h.Runtimes) {
			known = append(known, strconv.Quote(id))
		}
		if use.CLI == "" {
			b.cannot(endpointOf(use), origin, "no program drives %s; name one (cli: %s), or set %s in a program's own configuration by hand", use.ID, strings.Join(known, " or "), t.URL)
		} else {
			b.cannot(endpointOf(use), origin, "%s is not driven by %s; use cli: %s, or name %s itself among the runtimes, with endpoint: true", use.ID, use.CLI, strings.Join(known, " or "), use.CLI)
		}
		return
	}
	if d.Text == "" {
		h.driverSettings(b, rt, driver, t, origin)
	} else {
		at := fileAt(path.Join(rt.User.Dir, d.File))
		b.leaf(at, "", reconcile.Leaf{Body: file.Whole(h.driverText(b, rt, d, t), 0o644), Origin: origin}, rt.ID)
		b.waits(at, t.runs)
	}
	for _, name := range slices.Sorted(maps.Keys(driver.Launch.Reads)) {
		b.note(false, origin, "%s reads a project's %s only where it is told to: start it with %s", driver.ID, name, strings.Join(driver.Launch.Reads[name], " "))
	}
}

// driverSettings writes what points a driver at a server as settings of its file.
func (h Host) driverSettings(b *builder, rt, driver spec.Runtime, t target, origin []reconcile.Position) {
	d := driver.Driver
	leaves := slices.Clone(d.Settings)
	for _, ref := range slices.Concat(driver.User.Always, driver.User.Endpoint) {
		if path.Base(ref.Path) == d.File {
			leaves = append(leaves, ref)
		}
	}
	if index := rt.User.RulesIndex; d.Rules != nil && len(b.index[index]) > 0 {
		ref := *d.Rules
		ref.JSON = []byte(strings.ReplaceAll(string(ref.JSON), "{index}", start.Escaped(index)))
		leaves = append(leaves, ref)
	}
	for i := range leaves {
		leaves[i].Path = path.Join(rt.User.Dir, d.File)
	}
	rt.User.Endpoint = leaves
	h.point(b, rt, t, origin)
}

// driverText is a driver's file where all of it is ours.
func (h Host) driverText(b *builder, rt spec.Runtime, d *spec.Driver, t target) []byte {
	text := t.FillQuoted(strings.ReplaceAll(d.Text, "{runtime}", rt.ID))
	if index := rt.User.RulesIndex; h.Home != "" && len(b.index[index]) > 0 {
		text += strings.ReplaceAll(d.RulesText, "{index}", start.Escaped(string(fileAt(index).Path(h.Home))))
	}
	return []byte(text)
}
