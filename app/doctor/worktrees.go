package doctor

import (
	"context"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/internal/quantity"
)

// checkWorkTrees reports kept work trees beyond the limit, by name. It does not
// look into them.
func checkWorkTrees(_ context.Context, e *Env) Outcome {
	var names []string
	for _, root := range worktree.Roots(e.places.Physical(e.places.State), e.places.Physical(e.places.Home)) {
		for _, dir := range worktree.Trees(root) {
			names = append(names, filepath.Base(dir))
		}
	}
	limit, _ := e.spec.Host.KeptTrees()
	if len(names) <= limit {
		return Outcome{}
	}
	count, more := quantity.Count(len(names), "work tree"), ""
	if shown := 5; len(names) > shown {
		names, more = names[:shown], " and "+quantity.Count(len(names)-shown, "other")
	}
	return found(warn("aisync task trees --prune", "%s of tasks and runs are kept, more than %d: %s%s", count, limit, strings.Join(names, ", "), more))
}
