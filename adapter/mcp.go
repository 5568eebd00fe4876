package adapter

import (
	"errors"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// mcp declares the servers for every runtime that takes any, one leaf each: what
// others write into a server beside the fields that a spec decides is theirs.
func (b *builder) mcp(places []place, servers []spec.MCPServer) {
	lost := serverLosses{}
	for _, p := range places {
		here := slices.DeleteFunc(slices.Clone(servers), func(m spec.MCPServer) bool { return !isFor(m, p.rt.ID) })
		if f := p.scope.MCP; f == nil || !p.rt.MCPSupport {
			var names []string
			for _, m := range here {
				names = append(names, m.Name)
			}
			if len(here) > 0 {
				b.note(false, from(here[0].Pos), "MCP servers are not for %s (%s): it takes none %s", p.rt.ID, list(names), b.here("them under mcp"))
			}
			continue
		}
		for _, m := range here {
			b.serverFor(p, m, lost)
		}
	}
	for _, m := range servers {
		lost.note(b, m)
		if len(m.Runtimes) > 0 && !slices.ContainsFunc(places, func(p place) bool { return isFor(m, p.rt.ID) }) {
			b.note(false, from(m.Pos), "MCP server %s is not used: it is for %s, and no such runtime is used here", m.Name, list(m.Runtimes))
		}
	}
}

// isFor reports whether runtime gets m.
func isFor(m spec.MCPServer, runtime string) bool {
	return len(m.Runtimes) == 0 || slices.Contains(m.Runtimes, runtime)
}

// serverFor declares m for one program. If that cannot be, the others get it
// all the same.
func (b *builder) serverFor(p place, m spec.MCPServer, lost serverLosses) {
	f := *p.scope.MCP
	row := reconcile.Address("mcp:" + p.rt.ID + "/" + m.Name)
	target, key := fileAt(f.Path), reconcile.LeafKey(f.Pointer+merge.Pointer(m.Name))
	body, without, err := b.server(f, m, target, key)
	if list, ok := strings.CutSuffix(f.Pointer, "/-"); ok && err == nil {
		body, key, err = listed(list, body)
	}
	switch {
	case errors.Is(err, render.ErrDisabled):
		lost.disabled(m.Name, p.rt.ID)
		return
	case err != nil:
		b.cannot(row, from(m.Pos), "MCP server %s for %s: %v", m.Name, p.rt.ID, err)
		return
	}
	leaf := reconcile.Leaf{Key: key, Body: body, Own: reconcile.Member, Origin: from(m.Pos)}
	if other, ok := b.by[leafID{target, key}]; ok && b.differs(target, leaf) {
		b.cannot(row, from(m.Pos), "MCP server %s for %s: %s reads the same file and needs it in another form", m.Name, p.rt.ID, other)
		return
	}
	lost.add(m.Name, p.rt.ID, without)
	b.leaf(target, merge.Format(f.Format), leaf, p.rt.ID)
}

// listed is a server as a member of the list at pointer, which its text tells from
// the others.
func listed(pointer string, server reconcile.Body) (reconcile.Body, reconcile.LeafKey, error) {
	v, ok := file.ValueOf(server)
	if !ok {
		return nil, "", errors.New("it needs the value of a secret, which does not belong into a list; name a variable of the environment")
	}
	key, err := merge.SetKey(pointer, v)
	return file.Value(v), reconcile.LeafKey(key), err
}

// server is m in the form of f's program. If that cannot name a secret, its
// value is written, except in a project, which others read.
func (b *builder) server(f spec.MCPFile, m spec.MCPServer, target reconcile.Address, key reconcile.LeafKey) (reconcile.Body, []render.Loss, error) {
	value, lost, err := render.Server(f, m)
	if err == nil {
		return file.Object(value, serverFields(f)), lost, nil
	}
	if b.secrets == nil || errors.Is(err, render.ErrDisabled) {
		return nil, nil, err
	}
	return b.secrets.Server(f, m, serverFields(f), target, key)
}

// serverFields are the fields of a server that a spec decides.
func serverFields(f spec.MCPFile) file.Fields {
	return file.Fields{Own: render.ServerFields(f), Ours: func(there merge.Value) merge.Value { return render.AsServer(f, there) }}
}

// differs reports whether target already holds another value under l's key.
func (b *builder) differs(target reconcile.Address, l reconcile.Leaf) bool {
	had := b.targets[target].Leaves[b.at[leafID{target, l.Key}]]
	return had.Body.Fingerprint() != l.Body.Fingerprint()
}

// serverLosses are the runtimes that cannot be told what a server says, by its name.
type serverLosses map[string][]serverLoss

type serverLoss struct {
	render.Loss
	disabled bool
	runtimes []string
}

func (l serverLosses) add(server, runtime string, without []render.Loss) {
	for _, w := range without {
		l.put(server, runtime, serverLoss{Loss: w})
	}
}

func (l serverLosses) disabled(server, runtime string) {
	l.put(server, runtime, serverLoss{disabled: true})
}

func (l serverLosses) put(server, runtime string, what serverLoss) {
	same := func(o serverLoss) bool { return o.Loss == what.Loss && o.disabled == what.disabled }
	i := slices.IndexFunc(l[server], same)
	if i < 0 {
		i, l[server] = len(l[server]), append(l[server], what)
	}
	l[server][i].runtimes = append(l[server][i].runtimes, runtime)
}

func (l serverLosses) note(b *builder, m spec.MCPServer) {
	for _, w := range l[m.Name] {
		switch {
		case w.disabled:
			b.note(false, from(m.Pos), "MCP server %s is left out of %s: it is not enabled, and those have no place to say so", m.Name, list(w.runtimes))
		case w.Restricts:
			b.note(true, from(m.Pos), "MCP server %s: no place for %s in %s, which may use all of its tools", m.Name, w.What, list(w.runtimes))
		default:
			b.note(false, from(m.Pos), "MCP server %s: no place for %s in %s", m.Name, w.What, list(w.runtimes))
		}
	}
}
