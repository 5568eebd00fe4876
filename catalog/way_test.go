package catalog

import (
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// The way of each program follows from what the catalog knows of it, and of a
// runtime of a spec from what that says.
func TestWay(t *testing.T) {
	for _, r := range Runtimes() {
		form, hooks := HookFormOf(r.ID)
		w, without := WayOf(r), WithoutHooks(r)
		if told := hooks && (form.TellsAt("SessionStart") || form.TellsAt("UserPromptSubmit")); told != (w.Startup == HookInjection) || told != (w.Rules == HookInjection) {
			t.Errorf("%s: %+v, and its hooks tell at %q", r.ID, w, form.Tells)
		}
		want := Way{Polling, Polling}
		switch {
		case len(r.Launch.Interactive) > 0:
			want = Way{StartupFallback, StartupFallback}
		case r.Command != "":
			want = Way{StartupFallback, PromptPreamble}
		}
		if without != want {
			t.Errorf("%s without hooks: %+v, want %+v", r.ID, without, want)
		}
		if c := Completed(r).Coordination; c.Startup != w.Startup || c.GUPP != w.Rules {
			t.Errorf("%s: completed %s %s, decided %+v", r.ID, c.Startup, c.GUPP, w)
		}
	}
	own := spec.Runtime{ID: "own", Command: "own", Coordination: spec.Coordination{Startup: Polling, GUPP: HookInjection}}
	if w := WayOf(own); w != (Way{Polling, HookInjection}) {
		t.Errorf("a spec's: %+v", w)
	}
}
