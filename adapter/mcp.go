package adapter

import (
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// mcp declares the servers for every runtime that takes any, one leaf each.
func (b *builder) mcp(places []place, servers []spec.MCPServer) {
	var names []string
	for _, m := range servers {
		names = append(names, m.Name)
	}
	for _, p := range places {
		f := p.scope.MCP
		if f == nil || !p.rt.MCPSupport {
			if len(servers) > 0 {
				b.note(false, from(servers[0].Pos), "MCP servers are not for %s (%s): it takes none in this scope", p.rt.ID, list(names))
			}
			continue
		}
		for _, m := range servers {
			// Only this server cannot be declared: the file takes the others.
			row := reconcile.Address("mcp:" + p.rt.ID + "/" + m.Name)
			target, key := fileAt(f.Path), reconcile.LeafKey(f.Pointer+merge.Pointer(m.Name))
			body, err := b.server(*f, m, target, key)
			if err != nil {
				b.cannot(row, from(m.Pos), "MCP server %s for %s: %v", m.Name, p.rt.ID, err)
				continue
			}
			leaf := reconcile.Leaf{Key: key, Body: body, Own: reconcile.Member, Origin: from(m.Pos)}
			if other, ok := b.by[leafID{target, key}]; ok && b.differs(target, leaf) {
				b.cannot(row, from(m.Pos), "MCP server %s for %s: %s reads the same file and needs it in another form", m.Name, p.rt.ID, other)
				continue
			}
			b.leaf(target, merge.Format(f.Format), leaf, p.rt.ID)
		}
	}
}

// server is m in the form of f's program. If that cannot name a secret, its
// value is written, except in a project, which others read.
func (b *builder) server(f spec.MCPFile, m spec.MCPServer, target reconcile.Address, key reconcile.LeafKey) (reconcile.Body, error) {
	value, err := render.Server(f, m)
	if err == nil {
		return file.Meaning(value, func(there merge.Value) merge.Value { return render.AsServer(f, there) }), nil
	}
	if b.secrets == nil {
		return nil, err
	}
	return b.secrets.server(f, m, target, key)
}

// differs reports whether target already holds another value under l's key.
func (b *builder) differs(target reconcile.Address, l reconcile.Leaf) bool {
	had := b.targets[target].Leaves[b.at[leafID{target, l.Key}]]
	return had.Body.Fingerprint() != l.Body.Fingerprint()
}
