package adapter

import (
	"aisync.dev/aisync/adapter/coordination"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
)

// agentHooks tells the programs of a project of its ledger, if it has one: by
// hooks, by an MCP server where no hook is known, by a text and by a skill. It returns
// the git hook that looks at what no program's hook sees.
func (p Project) agentHooks(b *builder, places []place, wishes []bundleRequest) []bundleRequest {
	ledger := p.Spec.Agents.Ledger
	if !ledger.On {
		return nil
	}
	w := bundleRequest{label: ledgerLabel, part: &bundle.Part{}, origin: from(ledger.Pos)}
	p.ledgerHooks(b, places, w)
	b.skills(places, w.label, w.origin, []bundle.Skill{coordination.Skill()}, false)
	if len(places) > 0 {
		b.rules = append(b.rules, rule{rel: "aisync-agents.md", text: coordination.Text, title: "Working beside other agents", kind: frontmatter.Always, label: w.label, origin: w.origin})
	}
	if p.Git && !p.Spec.NoGitHooks && len(places) > 0 {
		var brought []bundle.File
		for _, other := range wishes {
			brought = append(brought, other.part.GitHooks...)
		}
		var note string
		if w.part.GitHooks, note = coordination.Guard(p.Spec.Dir, brought, p.Made); note != "" {
			b.note(true, w.origin, "%s", note)
		}
	}
	return []bundleRequest{w}
}

const ledgerLabel = "agents: ledger"

// ledgerHooks gives programs the hooks of the ledger, or its MCP server, and notes
// which get neither.
func (p Project) ledgerHooks(b *builder, places []place, w bundleRequest) {
	var without []string
	for _, pl := range places {
		for _, h := range coordination.Hooks(pl.rt.ProgramID()) {
			b.event(pl, w, nil, h) // an event that the program does not have stays out
		}
		servers, told := coordination.Servers(pl.rt, p.Spec.Agents.Ledger.Pos, p.Spec.MCP)
		b.mcp([]place{pl}, servers)
		if !told {
			without = append(without, pl.rt.ID)
		}
	}
	if len(without) > 0 {
		b.note(false, w.origin, "no hook and no MCP server tells %s of the ledger: it is in the instructions only", list(without))
	}
}
