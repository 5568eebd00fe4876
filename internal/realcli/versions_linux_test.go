package realcli

import "testing"

func TestVersionsReplacePins(t *testing.T) {
	got := withVersions(Agents, "claude=99.0.1 pi=99.0.2")
	for i, p := range Agents {
		want := p.Version
		switch p.ID {
		case "claude":
			want = "99.0.1"
		case "pi":
			want = "99.0.2"
		}
		if got[i].ID != p.ID || got[i].Version != want {
			t.Errorf("%s %s, want %s %s", got[i].ID, got[i].Version, p.ID, want)
		}
	}
}
