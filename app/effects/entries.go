package effects

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Trust is an entry outside the folder that counts in it: by it a program no longer
// asks about the folder, or starts a server there.
type Trust struct {
	Runtime string
	Address reconcile.Address
	Key     reconcile.LeafKey
	Server  *spec.MCPServer // nil: the program no longer asks
}

// OwnServers returns the entries of servers that the person's own layer of a
// project has outside it.
func OwnServers(d adapter.Decls, own *spec.Project, runtimes []spec.Runtime) []Trust {
	var out []Trust
	for _, decl := range d.Declarations {
		if own == nil || decl.Target.InProject() || !slices.Contains(d.Own, decl.Target) {
			continue
		}
		for _, l := range decl.Leaves {
			names, err := merge.Names(string(l.Key))
			if err != nil || len(names) == 0 {
				continue
			}
			i := slices.IndexFunc(own.MCP, func(m spec.MCPServer) bool { return m.Name == names[len(names)-1] })
			j := slices.IndexFunc(runtimes, func(rt spec.Runtime) bool {
				return rt.Project.MCPOwn != nil && "file:"+rt.Project.MCPOwn.Path == string(decl.Target)
			})
			if i >= 0 && j >= 0 {
				out = append(out, Trust{runtimes[j].ID, decl.Target, l.Key, &own.MCP[i]})
			}
		}
	}
	return out
}

// trusts are the entries of plan outside the folder that count in it.
func (t *tree) trusts(entries []Trust, plan *reconcile.Plan) []Effect {
	if plan == nil {
		return nil
	}
	var out []Effect
	for _, entry := range entries {
		for _, c := range plan.Changes {
			if !c.Target.Is(entry.Address) {
				continue
			}
			for _, l := range c.Leaves {
				if l.Key == entry.Key && l.Want != nil {
					out = append(out, t.entry(entry, l.Want))
				}
			}
		}
	}
	return out
}

// entry is the effect of one entry.
func (t *tree) entry(entry Trust, want *reconcile.Leaf) Effect {
	e := Effect{
		Program: entry.Runtime, Class: Trusts, Text: "no longer asks whether you trust this folder",
		File: entry.Address.Name(), Key: string(entry.Key), Origin: want.Origin, asks: []reconcile.Address{entry.Address}, entry: true,
	}
	m := entry.Server
	if m == nil {
		e.seal(nil, string(entry.Key))
		return e
	}
	e.Class, e.Text = Runs, "starts the MCP server "+m.Name+": "+strings.Join(append([]string{m.Command}, m.Args...), " ")
	if m.Command == "" {
		e.Class, e.Text = Sends, "uses the MCP server "+m.Name+" at "+m.URL
	}
	e.named = t.named(".", append([]string{m.Command}, m.Args...))
	var files []string
	for _, f := range e.named {
		if line, ok := t.digest(f); ok {
			files = append(files, line)
		}
	}
	e.seal(files, string(entry.Key), fmt.Sprint(want.Body.Fingerprint()))
	return e
}
