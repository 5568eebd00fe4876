package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

func book() Layout {
	return Laid("look at it",
		First{Name: "config", Content: "version: 1\n", Sound: func(b []byte) error {
			if !strings.HasPrefix(string(b), "version") {
				return errors.New("no version")
			}
			return nil
		}},
		First{Name: "log"},
		First{Name: "people", Folder: true},
	)
}

func TestLayoutPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Suite {
		return providertest.Suite{
			Provider: Provider{Layouts: map[string]Layout{".book": book()}}, Address: "dir:.book", OneValue: true,
			Want: func(*providertest.Bench, string) []reconcile.Leaf { return []reconcile.Leaf{{Body: book()}} },
			Put: func(t *testing.T, b *providertest.Bench, v string) {
				if err := os.RemoveAll(b.Path()); err != nil {
					t.Fatal(err)
				}
				if v == "" {
					return
				}
				if err := os.MkdirAll(filepath.Join(b.Path(), "people"), 0o700); err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string]string{"config": "version: 1\n", "log": ""} {
					if err := os.WriteFile(filepath.Join(b.Path(), name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			},
			Get: func(t *testing.T, b *providertest.Bench) string {
				text, err := os.ReadFile(filepath.Join(b.Path(), "config"))
				if _, none := os.Stat(filepath.Join(b.Path(), "people")); err != nil || none != nil {
					return "" // a beginning is nothing yet
				}
				if string(text) != "version: 1\n" {
					return string(text)
				}
				return "X"
			},
		}
	})
}

// What agents write is never drift; what is missing or broken always is, and
// only what is missing is made again.
func TestLayoutDriftsOnlyWhenDamaged(t *testing.T) {
	project := t.TempDir()
	disk, err := fsys.New(fsys.Options{Project: project, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(project, ".book", name) }
	env := reconcile.ReadEnv{FS: disk}
	target := reconcile.Target{Resource: reconcile.Resource{Address: "dir:.book", Leaves: []reconcile.Leaf{{Body: book()}}}}
	observe := func() reconcile.Observation {
		return Provider{}.Observe(t.Context(), env, []reconcile.Target{target})[0]
	}
	apply := func() error {
		c := reconcile.Change{Target: target, Before: observe(), Leaves: []reconcile.LeafChange{{Want: &target.Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}}}}
		_, err := Provider{}.Apply(t.Context(), c, reconcile.WriteEnv{ReadEnv: env, FS: disk})
		return err
	}
	explained := func() (out string) {
		for _, l := range (Provider{}).Explain(t.Context(), env, reconcile.Change{Target: target}) {
			out += l.Text + "\n"
		}
		return out
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, "config": 0o600, "log": 0o600, "people": 0o700} {
		if info, err := os.Stat(at(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	write("log", "something\n")
	write("config", "version: 2\nmore: x\n")
	write("people/anybody", "")
	if o := observe(); o.Token != exists || explained() != "" {
		t.Errorf("content is drift: %+v", o)
	}
	if err := os.Remove(at("log")); err != nil {
		t.Fatal(err)
	}
	if o := observe(); o.Token != damaged || explained() != "log is missing\n" {
		t.Errorf("%+v %q", o, explained())
	}
	if err := apply(); err != nil || observe().Token != exists {
		t.Errorf("%v %+v", err, observe())
	}
	write("config", "garbage")
	if o := observe(); o.Token != damaged || explained() != "config: no version; look at it\n" {
		t.Errorf("%+v %q", o, explained())
	}
	if err := apply(); err == nil || !strings.Contains(err.Error(), "config: no version; left unchanged; look at it") {
		t.Error(err)
	}
	if b, _ := os.ReadFile(at("config")); string(b) != "garbage" {
		t.Errorf("%q", b)
	}
}
