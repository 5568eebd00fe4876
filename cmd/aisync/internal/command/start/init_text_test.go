package start

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// init writes for the machines of the reference hosts what those serve: the table of
// the document that asked for aisync.
func TestInitServesWhatReferenceHostsServe(t *testing.T) {
	for _, name := range []string{"pearl", "velox"} {
		f, ok := hosts.Recorded(name)
		example, found := hosts.Example(name)
		if !ok || !found {
			t.Fatal("no reference host " + name)
		}
		want := hostOf(t, name, example)
		got := hostOf(t, name, hostSpec(name, f, chosen(nil, f), hosts.Stocks(catalog.Models(), f)))
		if diff := cmp.Diff(served(want), served(got)); diff != "" {
			t.Errorf("%s (-example +init):\n%s", name, diff)
		}
		local := func(h *spec.Host) (cli string) {
			for _, r := range h.Runtimes {
				if r.ID == catalog.ForModels().ID {
					cli = r.CLI
				}
			}
			return cli
		}
		if local(got) != local(want) || local(got) == "" {
			t.Errorf("%s: the models' program is %q, want %q", name, local(got), local(want))
		}
	}
}

func hostOf(t *testing.T, name string, text []byte) *spec.Host {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".cue"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Load(context.Background(), schema.Options{HostDir: dir, HostName: name})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Host
}

// served is what h serves, without positions and installers.
func served(h *spec.Host) any {
	type model struct{ ID, Quant string }
	type service struct {
		Name, Kind, Model string
		Port, Context     int
		Enabled           bool
	}
	var out struct {
		Models   []model
		Services []service
		Endpoint string
	}
	out.Endpoint = h.Endpoint.Value
	for _, m := range h.Models {
		out.Models = append(out.Models, model{m.ID, m.Quant})
	}
	for _, s := range h.Services {
		out.Services = append(out.Services, service{s.Name, s.Kind, s.Model, s.Port, s.Context, s.Enabled})
	}
	return out
}
