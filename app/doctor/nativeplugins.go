package doctor

import (
	"cmp"
	"context"

	"aisync.dev/aisync/app/nativeplugin"
	"aisync.dev/aisync/internal/advice"
)

// checkNativePlugins reports the native plugins that are absent, disabled or of
// another version, about which their program says nothing.
func checkNativePlugins(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, _, err := e.plan()
	if err != nil {
		return found(warn(cmp.Or(advice.Of(err), "aisync plan"), "what the specs ask for is unknown: %v", err))
	}
	var out []Finding
	for _, n := range nativeplugin.Shadowed(v.Native[0], v.Native[1]) {
		out = append(out, warn("", "%s", n.Text))
	}
	for _, list := range v.Native {
		for _, p := range list {
			for _, f := range p.State(e.places.Physical(e.places.Home), e.places.Project) {
				if f.Mild {
					out = append(out, warn(f.Fix, "%s", f.What))
				} else {
					out = append(out, fail(f.Fix, "%s", f.What))
				}
			}
		}
	}
	return found(out...)
}
