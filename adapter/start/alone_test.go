package start

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Every runtime that can be pointed at a server is pointed at it by what it is
// given in a home of its own, and its files are ones that it can read.
func TestAloneKnowsOnlyServer(t *testing.T) {
	pointed := 0
	for _, rt := range catalog.Runtimes() {
		a, err := AloneAt(&rt, "http://127.0.0.1:4711/v1", "tiny", 32768)
		if err != nil {
			if len(rt.User.Endpoint)+len(rt.Launch.Endpoint) > 0 || !strings.Contains(err.Error(), "vendor's server") {
				t.Errorf("%s: %v", rt.ID, err)
			}
			continue
		}
		pointed++
		var all strings.Builder
		for name, value := range a.Environment {
			all.WriteString(name + "=" + value + "\n")
		}
		for name, text := range a.Files {
			all.Write(text)
			var v map[string]any
			switch {
			case strings.HasSuffix(name, ".json"):
				err = json.Unmarshal(text, &v)
			case strings.HasSuffix(name, ".toml"):
				err = toml.Unmarshal(text, &v)
			}
			if err != nil {
				t.Errorf("%s: %s: %v\n%s", rt.ID, name, err, text)
			}
		}
		if got := all.String(); !strings.Contains(got, "127.0.0.1:4711") || !strings.Contains(got, "tiny") || strings.ContainsAny(got, "~") || strings.Contains(got, "{url}") {
			t.Errorf("%s is given:\n%s", rt.ID, got)
		}
		for name, value := range rt.Launch.Offline {
			if a.Environment[name] != value {
				t.Errorf("%s: %s is %q", rt.ID, name, a.Environment[name])
			}
		}
	}
	if pointed < 6 {
		t.Errorf("only %d runtimes can be pointed at a server", pointed)
	}
	if _, err := AloneAt(&spec.Runtime{ID: "closed"}, "http://127.0.0.1:1/v1", "tiny", 0); err == nil {
		t.Error("a runtime without an endpoint was pointed at one")
	}
}
