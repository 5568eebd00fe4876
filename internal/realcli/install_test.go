package realcli

import (
	"path/filepath"
	"testing"
)

// A newer version lies beside the pinned one, under a name that says that its
// dependencies have no fixed date.
func TestNewerVersionLiesBesidePin(t *testing.T) {
	pin := Agents[0]
	newer := pin
	newer.Version = "99.0.0"
	c := Cache("/cache")
	if got, want := filepath.Base(c.Dir(pin)), pin.ID+"-"+pin.Version+"-node"+node.Version+"-"+before; got != want {
		t.Errorf("the pin lies in %s, want %s", got, want)
	}
	if got, want := filepath.Base(c.Dir(newer)), pin.ID+"-99.0.0-node"+node.Version; got != want {
		t.Errorf("the newer version lies in %s, want %s", got, want)
	}
}
