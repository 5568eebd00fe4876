package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema/spec"
)

// checkMirrors asks each mirror of the host for the files that its lock pins, and says
// which of the models here came from it.
func checkMirrors(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil || e.spec.Host == nil || len(e.spec.Host.Mirrors) == 0 {
		return found(why...)
	}
	inv, err := e.inventory()
	if err != nil {
		return found(skip("not checked: the check of models says why"))
	}
	files, served := map[string]int64{}, map[string][]string{}
	for _, f := range inv.Wanted() {
		if f.SHA256 != "" {
			files[f.SHA256] = f.Size
		}
		if f.From != "" && !slices.Contains(served[f.From], f.ID) {
			served[f.From] = append(served[f.From], f.ID)
		}
	}
	out := make([]Finding, len(e.spec.Host.Mirrors))
	network := inv.View.Network()
	var asking sync.WaitGroup
	for i, m := range e.spec.Host.Mirrors {
		asking.Go(func() {
			out[i] = mirrorFinding(m, network.AskMirror(ctx, m.Value, files), served[m.Value])
		})
	}
	asking.Wait()
	return found(out...)
}

func mirrorFinding(m spec.Named, s pin.Standing, served []string) Finding {
	switch {
	case s.Denied:
		return warn("docker login "+shellquote.Terminal(s.Host), "%s: mirror %s: %v; the hub serves in its place", m.Pos, m.Value, stack.PlainReason(s.Err))
	case s.Err != nil:
		return warn("start it, or take it out of mirrors", "%s: mirror %s does not answer: %v; the hub serves in its place", m.Pos, m.Value, stack.PlainReason(s.Err))
	}
	text := fmt.Sprintf("mirror %s has %d of %s that this host pins", m.Value, s.Has, quantity.Count(s.Asked, "model file"))
	if len(served) > 0 {
		text += "; it served " + strings.Join(served, ", ")
	}
	return Finding{"ok", text, ""}
}
