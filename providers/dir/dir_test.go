package dir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

func TestDirPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Suite {
		return providertest.Suite{
			Provider: Provider{}, Address: "dir:.ai/sessions", OneValue: true,
			Want: func(*providertest.Bench, string) []reconcile.Leaf { return []reconcile.Leaf{{Body: Folder()}} },
			Put: func(t *testing.T, b *providertest.Bench, v string) {
				err := os.RemoveAll(b.Path())
				if v != "" && err == nil {
					err = os.MkdirAll(b.Path(), 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Get: func(t *testing.T, b *providertest.Bench) string {
				info, err := os.Stat(b.Path())
				switch {
				case os.IsNotExist(err):
					return ""
				case err != nil:
					t.Fatal(err)
				case !info.IsDir():
					return "a file"
				}
				return "X"
			},
			Block: func(t *testing.T, b *providertest.Bench) {
				if err := os.MkdirAll(filepath.Dir(b.Path()), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(b.Path(), []byte("mine"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestNonEmptyFolderStays(t *testing.T) {
	project := t.TempDir()
	disk, err := fsys.New(fsys.Options{Project: project, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(project, "notes", "mine.md")
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := reconcile.Change{
		Target: reconcile.Target{Resource: reconcile.Resource{Address: "dir:notes"}},
		Before: reconcile.Observation{Presence: reconcile.Present, Token: exists},
		Leaves: []reconcile.LeafChange{{Last: &reconcile.LeafRecord{Live: exists}, Decision: reconcile.Decision{Action: reconcile.Delete}}},
	}
	out, err := Provider{}.Apply(t.Context(), c, reconcile.WriteEnv{ReadEnv: reconcile.ReadEnv{FS: disk}, FS: disk})
	if err != nil || out.Token != exists {
		t.Errorf("token %q, %v", out.Token, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if lines := (Provider{}).Explain(t.Context(), reconcile.ReadEnv{FS: disk}, c); len(lines) != 1 {
		t.Errorf("explained by %v", lines)
	}
}

func TestLinkToProjectFolderCountsAsFolder(t *testing.T) {
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"inside": "real", "outside": t.TempDir(), "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := fsys.New(fsys.Options{Project: project, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]reconcile.Presence{"inside": reconcile.Present, "outside": reconcile.Blocked, "dangling": reconcile.Blocked} {
		o := Provider{}.Observe(t.Context(), reconcile.ReadEnv{FS: disk}, []reconcile.Target{{Resource: reconcile.Resource{Address: reconcile.Address("dir:" + name)}}})[0]
		if o.Presence != want {
			t.Errorf("%s: presence %d (%s), want %d", name, o.Presence, o.Reason, want)
		}
		if want == reconcile.Blocked && o.Reason == "" {
			t.Errorf("%s: no reason", name)
		}
	}
}

func TestALinkThatCannotBeReadIsUnknown(t *testing.T) {
	project := t.TempDir()
	disk, err := fsys.New(fsys.Options{Project: project, Tag: "t"})
	if err == nil {
		err = os.Mkdir(filepath.Join(project, "real"), 0o755)
	}
	for name, to := range map[string]string{"good": "real", "dangling": "none", "away": ".."} {
		if err == nil {
			err = os.Symlink(to, filepath.Join(project, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]reconcile.Presence{"good": reconcile.Present, "dangling": reconcile.Blocked, "away": reconcile.Blocked} {
		for _, look := range []string{"", "ReadDir", "Lstat"} {
			if look != "" {
				want = reconcile.Unknown
			}
			r := reconcile.ReadEnv{FS: crash.FailReads(disk, ".", syscall.EIO, look)}
			target := reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("dir:" + name)}}
			if got := (Provider{}).Observe(t.Context(), r, []reconcile.Target{target})[0]; got.Presence != want {
				t.Errorf("%s, %q fails: %+v", name, look, got)
			}
		}
	}
}
