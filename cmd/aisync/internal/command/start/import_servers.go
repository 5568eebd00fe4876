package start

import (
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/reconcile"
)

// serversAside returns the MCP servers, as "mcp: NAME", that would be a conflict
// with a file that has them, or that some program would get or lose, and why they
// stay where they are.
func (im *importing) serversAside(p *reconcile.Plan) map[string]string {
	aside := map[string]string{}
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			path := strings.Split(string(l.Key), "/") // such as /mcpServers/NAME
			if len(path) < 3 || l.Want == nil || l.Action != reconcile.Clash && l.Action != reconcile.Unclear {
				continue
			}
			if im.takes(path[2]) {
				why := "aisync would not write it as it is in " + strings.TrimPrefix(c.Target.Resource.Address.Name(), "~/")
				for _, t := range im.found.Taken {
					if t.To == "mcp: "+path[2] && strings.Contains(t.Note, "out of the spec") {
						why += ": " + t.Note + "; write a reference to it in its place, then import again"
						break
					}
				}
				aside["mcp: "+path[2]] = why
			}
		}
	}
	if im.options.Share {
		return aside
	}
	for _, change := range im.changes {
		for _, i := range slices.Concat(change.More, change.Less) {
			if at := "mcp: " + i.Name; i.Kind == loads.MCPServer && im.takes(i.Name) && aside[at] == "" {
				aside[at] = change.Program + " would load another server of that name, or one more; to share it: aisync import --share"
			}
		}
	}
	return aside
}

// takes reports whether the spec gets the MCP server name.
func (im *importing) takes(name string) bool {
	return slices.ContainsFunc(im.found.Servers, func(s gather.Server) bool { return s.Name == name })
}
