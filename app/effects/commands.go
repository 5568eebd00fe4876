package effects

import (
	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// Command is one that a program runs because of a plan.
type Command struct {
	Line   string
	Origin []reconcile.Position
}

// Commands returns the commands of MCP servers, hooks and checks in the files
// that p writes for its owners. It does not look into code that p writes.
func Commands(p *reconcile.Plan) []Command {
	var out []Command
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.Want == nil {
				continue
			}
			doc := []byte(l.Want.Body.Redacted())
			if c.Target.Resource.Address.Name() == adapter.ChecksFile {
				doc, _ = file.Text(l.Want.Body)
			}
			list, err := settings("json", doc)
			if err != nil {
				continue
			}
			for _, line := range lines(list, 0, "command") {
				out = append(out, Command{Line: line, Origin: l.Want.Origin})
			}
		}
	}
	return out
}
