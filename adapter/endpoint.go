package adapter

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// endpoint points programs at the services that the spec gives them. That
// depends on the machine, so it is written in user scope, never in a project.
func (h *Host) endpoint(b *builder) {
	unsaid := map[string]bool{}
	for i := range h.Spec.Runtimes {
		p := h.pointing(&h.Spec.Runtimes[i])
		if p == nil || p.withheld(b) {
			continue
		}
		if s := p.service; s.Kind == "external" && len(s.APIs) == 0 && !unsaid[s.Name] {
			unsaid[s.Name] = true
			b.note(true, from(s.Pos), "service %s does not list its apis and is assumed to have all of them; aisync doctor asks it", s.Name)
		}
		p.connect(b)
	}
	var names []string
	for _, s := range h.Spec.Services {
		names = append(names, s.Name)
	}
	e := h.Spec.Endpoint
	switch {
	case e.Value == "":
	case !slices.Contains(names, e.Value):
		b.fail(from(e.Pos), "endpoint names the unknown service %q: %s", e.Value, list(names))
	default:
		h.untouched(b)
	}
}

// pointing is a runtime that the spec points at a service.
type pointing struct {
	host    *Host
	use     *spec.RuntimeUse
	rt      *spec.Runtime
	service *spec.Service
	server  start.Server // the service as the program knows it
	origin  []reconcile.Position
}

// pointing is that of the runtime that use names; nil if it is not pointed at a
// service, is not on this machine, or names an unknown service, which endpoint
// or the schema reports.
func (h *Host) pointing(use *spec.RuntimeUse) *pointing {
	rt := start.Find(h.Runtimes, use.ID)
	if rt == nil {
		return nil
	}
	starts := h.starts()
	name := starts.ServiceOf(use.Endpoint, rt)
	if name.Value == "" || use.Install == nil && !h.There(h.command(use, rt)) {
		return nil
	}
	for i := range h.Spec.Services {
		if s := &h.Spec.Services[i]; s.Name == name.Value {
			return &pointing{h, use, rt, s, starts.ServerOf(s), joined(from(name.Pos), from(use.Pos))}
		}
	}
	return nil
}

// runs is the address of the service if aisync runs it, "" for an external one.
func (p *pointing) runs() reconcile.Address {
	if p.service.Kind == "external" {
		return ""
	}
	return reconcile.Address("service:" + p.service.Scope + "/" + p.service.Name)
}

// untouched reports an endpoint that no generic local runtime takes, the
// programs that do not take it either, and what points them there: earlier
// versions pointed them by the endpoint alone.
func (h *Host) untouched(b *builder) {
	var ids, write []string
	for _, use := range h.Spec.Runtimes {
		rt := start.Find(h.Runtimes, use.ID)
		switch {
		case rt == nil:
		case rt.Local:
			return
		case use.Endpoint == nil && start.Pointable(rt) && (use.Install != nil || h.There(rt.Command)):
			ids, write = append(ids, use.ID), append(write, use.ID+": endpoint: true")
		}
	}
	if len(ids) > 0 {
		b.note(false, from(h.Spec.Endpoint.Pos), "endpoint %q is for generic local runtimes only, and this host has none; %s: not pointed at it; to point programs there write runtimes: {%s}; endpoint: false ends this note",
			h.Spec.Endpoint.Value, list(ids), list(write))
	}
}

// starts is what starting a runtime of h depends on.
func (h *Host) starts() *start.Host {
	out := &start.Host{Spec: h.Spec, Runtimes: h.Runtimes, Models: h.Models, Absent: h.Absent, Home: string(h.Home), State: string(h.State)}
	if h.Facts != nil && h.Facts.Programs != nil {
		out.Has = func(program string) bool { return h.Facts.Programs[program] != "" }
	}
	return out
}

// connect points the program at the server through its configuration in user scope.
func (p *pointing) connect(b *builder) {
	rt, t := p.rt, &p.server
	driver := cmp.Or(start.Find(p.host.Runtimes, p.use.CLI), rt)
	if len(driver.APIs) > 0 && !slices.ContainsFunc(driver.APIs, func(api string) bool { return slices.Contains(t.APIs, api) }) {
		b.fail(from(p.service.Pos), "service %s has the apis %s, but %s needs %s (%s); add it to apis if the service has it, or write endpoint: false for %s",
			t.Name, list(t.APIs), driver.ID, strings.Join(driver.APIs, " or "), text(p.origin), rt.ID)
		return
	}
	if least := 2 * driver.FirstRequest; t.Context > 0 && t.Context < least {
		b.note(true, p.origin, "%s starts with about %d tokens, and %s has a context of %d: give it %d or more, or %s will soon lose its instructions",
			driver.ID, driver.FirstRequest, t.Name, t.Context, least, driver.ID)
	}
	lost, narrow := t.Unsaid(rt, driver)
	for i, text := range append(narrow, lost...) {
		b.note(i < len(narrow), p.origin, "%s", text)
	}
	switch {
	case rt.Local:
		p.write(b)
	case len(rt.User.Endpoint) > 0:
		if p.write(b) {
			b.note(false, p.origin, "%s will talk to %s (%s)", rt.ID, t.Name, t.URL)
		}
	case len(rt.Launch.Endpoint) > 0:
		b.note(false, p.origin, "no file points %s at %s: start it with %s in its environment", rt.ID, t.Name, p.environment(b, rt.Launch.Endpoint))
	default:
		p.cannot(b, "%s cannot talk to %s: it accepts only its vendor's server", rt.ID, t.Name)
	}
}

// cannot adds the row that the runtime cannot be pointed.
func (p *pointing) cannot(b *builder, format string, args ...any) {
	b.cannot(reconcile.Address("endpoint:"+p.rt.ID), p.origin, format, args...)
}

// environment lists variables in shell syntax, without those of secrets.
func (p *pointing) environment(b *builder, vars map[string]string) string {
	l, told := p.server.Variables(vars)
	p.untold(b, told)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		words = append(words, name+"="+shellquote.Word(l[name]))
	}
	return strings.Join(words, " ")
}

// untold adds what the program cannot be told of the server.
func (p *pointing) untold(b *builder, told start.Filled) {
	t := &p.server
	if !told.Key && t.Key != (spec.Key{}) {
		b.note(true, p.origin, "%s cannot be told the key of %s, which will refuse its requests; give it the key by hand, or write endpoint: false for %s", p.rt.ID, t.Name, p.rt.ID)
	}
	if !told.Headers && len(t.Headers) > 0 {
		var names []string
		for _, h := range t.Headers {
			names = append(names, h.Name)
		}
		b.note(true, p.origin, "%s cannot send the headers of %s (%s), which may refuse its requests", p.rt.ID, t.Name, list(names))
	}
}

// write adds the leaves that point the program at the server; none if it has no
// file for that. ok is as of point.
func (p *pointing) write(b *builder) (ok bool) {
	if p.rt.Local {
		p.drive(b)
		return true
	}
	return p.point(b, p.rt.User.Endpoint, start.Filled{})
}

// point writes the leaves by which a program finds a server. They depend on the
// server: if it cannot start, the program is not pointed there. more is what the
// program is told in another way. ok is false if a secret is missing, so that nothing
// is written.
func (p *pointing) point(b *builder, refs []spec.Reference, more start.Filled) (ok bool) {
	var add []func()
	for _, leaf := range p.server.Leaves(refs) {
		server, ref := *leaf.Server, leaf.Ref
		if strings.HasSuffix(ref.Pointer, "/-") { // a member of a set is known by its text
			server.Headers = server.NamedHeaders(ref)
		}
		f, body, ok, err := b.secrets.Endpoint(&server, ref, fileAt(ref.Path))
		if err != nil {
			p.cannot(b, "%s is not pointed at %s: %v", p.rt.ID, server.Name, err)
			return false
		}
		if !ok {
			continue
		}
		more.Key, more.Headers = more.Key || f.Key, more.Headers || f.Headers && len(server.Headers) == len(p.server.Headers)
		ref.JSON = f.Value
		add = append(add, func() {
			b.member(ref, body, p.origin, p.rt.ID)
			b.waits(fileAt(ref.Path), p.runs())
		})
	}
	for _, do := range add {
		do()
	}
	p.untold(b, more)
	return true
}

// drive writes the configuration of the program that drives a generic runtime,
// in the runtime's folder: the program uses it when launched as that runtime,
// and its own configuration otherwise.
func (p *pointing) drive(b *builder) {
	id, cli := p.rt.ID, p.use.CLI
	driver := start.Find(p.host.Runtimes, cli)
	if driver == nil || driver.Driver == nil {
		known := start.DriverIDs(p.host.Runtimes)
		for i, id := range known {
			known[i] = strconv.Quote(id)
		}
		name := "cli: " + strings.Join(known, " or ")
		if cli == "" {
			p.cannot(b, "no program drives %s; name one (%s), or set %s in a program's configuration by hand", id, name, p.server.URL)
		} else {
			p.cannot(b, "%s is not driven by %s; use %s, or name %s itself among the runtimes, with endpoint: true", id, cli, name, cli)
		}
		return
	}
	name := path.Join(p.rt.User.Dir, driver.Driver.File)
	_, told := p.server.Variables(driver.Launch.Endpoint)
	if driver.Driver.Text == "" {
		p.point(b, p.driverSettings(b, driver, name), told)
	} else {
		p.untold(b, told)
		b.leaf(fileAt(name), "", reconcile.Leaf{Body: file.Whole(p.driverText(b, driver.Driver), 0o644), Origin: p.origin}, id)
		b.waits(fileAt(name), p.runs())
	}
	for _, name := range slices.Sorted(maps.Keys(driver.Launch.Reads)) {
		b.note(false, p.origin, "%s reads a project's %s only when told to: start it with %s", driver.ID, name, strings.Join(driver.Launch.Reads[name], " "))
	}
}

// driverSettings are the settings of the file name that point a driver at the
// server.
func (p *pointing) driverSettings(b *builder, driver *spec.Runtime, name string) []spec.Reference {
	d := driver.Driver
	refs := slices.Clone(d.Settings)
	for _, ref := range slices.Concat(driver.User.Always, driver.User.Endpoint) {
		if path.Base(ref.Path) == d.File {
			refs = append(refs, ref)
		}
	}
	if index := p.rt.User.RulesBlock; d.Rules != nil && b.written(index) {
		ref := *d.Rules
		ref.JSON = []byte(strings.ReplaceAll(string(ref.JSON), "{index}", start.Escaped(index)))
		refs = append(refs, ref)
	}
	for i := range refs {
		refs[i].Path = name
	}
	return refs
}

// driverText is the text of a driver's file that belongs to aisync as a whole.
func (p *pointing) driverText(b *builder, d *spec.Driver) []byte {
	text := p.server.Lines(strings.ReplaceAll(d.Text, "{runtime}", p.rt.ID))
	if index := p.rt.User.RulesBlock; p.host.Home != "" && b.written(index) {
		text += strings.ReplaceAll(d.RulesText, "{index}", start.Escaped(string(fileAt(index).Path(p.host.Home))))
	}
	return []byte(text)
}
