package run

import (
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// claimWarnings names the claims of agents in the project, beside which the
// workers of a run will work.
func claimWarnings(a *cli.App, root string) ([]string, error) {
	asker, ok, err := a.Asker(root, "")
	if err != nil || !ok {
		return nil, err
	}
	held, err := asker.Held(root)
	var out []string
	for _, c := range held {
		out = append(out, "before a worker writes there: "+lease.Text(c))
	}
	return out, err
}
