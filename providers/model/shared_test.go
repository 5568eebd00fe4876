package model

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Two people of one group without accounts on this machine.
const (
	ann, bob = 61001, 61002
	group    = 61000
)

const sharedStore fsys.LogicalPath = "/srv/models/llm"

// TestActAsAnotherUser is no test of its own: it is what the test below runs as
// another user.
func TestActAsAnotherUser(t *testing.T) {
	root, url, v := os.Getenv("SHARED_ROOT"), os.Getenv("SHARED_URL"), os.Getenv("SHARED_VALUE")
	if root == "" {
		t.Skip("run by TestAGroupSharesAStore")
	}
	syscall.Umask(0o022)
	home := fsys.LogicalPath(os.Getenv("SHARED_HOME"))
	disk, err := fsys.New(fsys.Options{Root: root, Home: home, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	w := reconcile.WriteEnv{ReadEnv: reconcile.ReadEnv{FS: disk, Home: home}, FS: disk, Fetch: fetcher{fetch.New(fetch.Options{Retries: 1})}}
	a := wanted(url, v)
	a.Store, a.Path = sharedStore, store.Friendly(sharedStore, "tiny", "", v+".gguf")
	c := create(w, a)
	if problems := (Provider{}).Preflight(t.Context(), w.ReadEnv, []reconcile.Change{c}); len(problems) > 0 {
		t.Fatalf("preflight: %+v", problems)
	}
	if c.Before.Presence == reconcile.Present {
		c.Leaves[0].Action = reconcile.Accept
		_, err = Provider{}.Confirm(t.Context(), w.ReadEnv, c)
	} else {
		_, err = Provider{}.Apply(t.Context(), c, w)
	}
	if err != nil {
		t.Fatal(err)
	}
	view := reconcile.Target{Resource: reconcile.Resource{Address: "view:~/.lmstudio/models/local/tiny/" + reconcile.Address(v) + ".gguf", Leaves: []reconcile.Leaf{
		{Body: store.View{Dir: a.Store, SHA256: a.SHA256, Size: a.Size, Path: a.Path}},
	}}}
	o := store.Provider{}.Observe(t.Context(), w.ReadEnv, []reconcile.Target{view})[0]
	show := reconcile.Change{Target: view, Before: o, Leaves: []reconcile.LeafChange{{Want: &view.Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}}}}
	if _, err := (store.Provider{}).Apply(t.Context(), show, w); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, string(a.Path))); err != nil || !bytes.Equal(got, bytesOf(v)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	garbage, err := store.GC(disk, sharedStore, []store.Held{{SHA256: a.SHA256}}, store.GCOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, g := range garbage {
		fmt.Printf("gc %s removed=%v kept=%q\n", g.Path.Base(), g.Removed, g.Kept)
	}
}

func TestAGroupSharesAStore(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("needs root and setpriv, to be two users: uid %d, %v", os.Geteuid(), err)
	}
	srv, asked := server(t)
	root, err := os.MkdirTemp("", "shared-") // not t.TempDir: others must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	folder := func(p string, uid, gid int, mode os.FileMode) {
		t.Helper()
		at := filepath.Join(root, p)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(at, uid, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	folder("", 0, 0, 0o755)
	folder(string(sharedStore), 0, group, 0o775|os.ModeSetgid)
	folder("home/ann", ann, ann, 0o700)
	folder("home/bob", bob, bob, 0o700)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skipf("the test program cannot be copied: %v", err)
	}
	program := filepath.Join(root, "as-user")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	as := func(uid int, name, v string) string {
		t.Helper()
		cmd := exec.Command(setpriv, fmt.Sprintf("--reuid=%d", uid), fmt.Sprintf("--regid=%d", uid), fmt.Sprintf("--groups=%d", group), program, "-test.run=^TestActAsAnotherUser$")
		cmd.Dir = root
		cmd.Env = []string{"SHARED_ROOT=" + root, "SHARED_URL=" + srv.URL, "SHARED_VALUE=" + v, "SHARED_HOME=/home/" + name, "TMPDIR=/nonexistent"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	at := func(p fsys.LogicalPath) string { return filepath.Join(root, string(p)) }
	x := wanted("", "X")
	blob := store.Blob(sharedStore, x.SHA256)
	friendly := store.Friendly(sharedStore, "tiny", "", "X.gguf")

	as(ann, "ann", "X")
	before := asked.Load()
	as(bob, "bob", "X") // who finds it there
	if asked.Load() != before {
		t.Error("it was fetched twice")
	}
	info, err := os.Stat(at(blob))
	if err != nil || info.Mode().Perm() != 0o444 || info.Sys().(*syscall.Stat_t).Uid != ann {
		t.Errorf("the blob: %v, %v", info, err)
	}
	for p := blob.Dir(); p != sharedStore; p = p.Dir() {
		info, err := os.Stat(at(p))
		if err != nil || info.Mode()&os.ModeSetgid == 0 || info.Mode().Perm() != 0o775 || info.Sys().(*syscall.Stat_t).Gid != group {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	// Another user's file gets a link where hard links to it are forbidden.
	protected, _ := os.ReadFile("/proc/sys/fs/protected_hardlinks")
	if to, err := os.Readlink(at("/home/bob/.lmstudio/models/local/tiny/X.gguf")); strings.TrimSpace(string(protected)) == "1" && (err != nil || to != string(blob)) {
		t.Errorf("the other's view: %q, %v", to, err)
	}
	if err := os.Remove(at(friendly)); err != nil {
		t.Fatal(err)
	}
	as(bob, "bob", "X")
	if asked.Load() != before {
		t.Error("it was fetched twice")
	}
	// Each may add to the store, and takes away nothing of the other's.
	said := as(bob, "bob", "Z")
	if !strings.Contains(said, fmt.Sprintf("gc %s removed=false", x.SHA256)) {
		t.Errorf("gc: %s", said)
	}
	if _, err := os.Stat(at(blob)); err != nil {
		t.Error(err)
	}
}
