package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// A link in the place of a bundle's file is judged by where it leads, and by
// nothing where that cannot be read.
func TestALinkThatCannotBeReadIsUnknown(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(top, "home/me/bundle/f.md")
	for at, text := range map[string]string{source: "text\n", filepath.Join(top, "home/me/other.md"): "other\n"} {
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"good.md": "bundle/f.md", "other-way.md": "other.md", "dangling.md": "none"} {
		if err := os.Symlink(to, filepath.Join(top, "home/me", at)); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := fsys.New(fsys.Options{Root: top, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	body := FromSource(source, reconcile.Fingerprint(fsys.Digest([]byte("text\n"))), 0o644, nil)
	for name, want := range map[string]reconcile.Presence{"good.md": reconcile.Present, "other-way.md": reconcile.Blocked, "dangling.md": reconcile.Blocked} {
		for _, look := range []string{"", "Readlink", "Lstat"} {
			if look != "" {
				want = reconcile.Unknown
			}
			r := reconcile.ReadEnv{FS: crash.FailReads(disk, "/home/me", syscall.EIO, look), Home: "/home/me"}
			target := reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:~/" + name), Leaves: []reconcile.Leaf{{Body: body}}}}
			if got := (Provider{}).Observe(t.Context(), r, []reconcile.Target{target})[0]; got.Presence != want {
				t.Errorf("%s, %q fails: %+v", name, look, got)
			}
		}
	}
}
