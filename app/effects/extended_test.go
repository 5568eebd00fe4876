package effects

import (
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// A settings file that the inherited description does not cover counts as a whole; one
// that it covers is described once.
func TestFilesOfExtendingEntryCount(t *testing.T) {
	rt := agent
	rt.Extends = "agent"
	for name, want := range map[string]int{"agent.json": 0, "mine/settings.json": 1} {
		rt.Project.Settings = &spec.SettingsFile{Path: name, Format: "json"}
		list := obeys(rt)
		if got := len(list) - len(agent.Project.Obeys); got != want {
			t.Errorf("%s: %d more descriptions, want %d", name, got, want)
		}
		if last := list[len(list)-1]; want == 1 && (last.Files[0] != name || len(last.Safe) > 0) {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
