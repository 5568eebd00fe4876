package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

const head = "GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"

// model is a GGUF file of its own size.
func model(v string) []byte { return append([]byte(head), bytesOf(v)...) }

func heldOf(id string, b []byte) Held {
	return Held{ID: id, SHA256: sumOf(b), Size: int64(len(b)), Path: Friendly(storeDir, id, "o/"+id, id+".gguf"), Wanted: true}
}

// stored puts b into the store, with its friendly name.
func stored(t testing.TB, root string, w reconcile.WriteEnv, h Held, b []byte) {
	t.Helper()
	write(t, filepath.Join(root, string(Blob(storeDir, h.SHA256))), b, 0o444)
	if _, err := MakeDir(w.FS, storeDir, h.Path.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := Place(w.FS, storeDir, Blob(storeDir, h.SHA256), h.Path); err != nil {
		t.Fatal(err)
	}
}

func TestFriendlyNamesStayOutOfTheWayOfBlobs(t *testing.T) {
	for _, c := range []struct{ repo, want string }{
		{"owner/name", "/s/owner/name/f.gguf"}, {"", "/s/local/id/f.gguf"}, {"sha256/x", "/s/local/id/f.gguf"}, {"tmp/x", "/s/local/id/f.gguf"}, {"../x", "/s/local/id/f.gguf"}, {"o/..", "/s/local/id/f.gguf"},
	} {
		if got := Friendly("/s", "id", c.repo, "sub/f.gguf"); string(got) != c.want {
			t.Errorf("%q: %s, want %s", c.repo, got, c.want)
		}
	}
}

func TestListPathAndVerifyTellEachStateApart(t *testing.T) {
	root, w := machine(t)
	at := func(p fsys.LogicalPath) string { return filepath.Join(root, string(p)) }
	ok, touched, missing, partial, rotten := heldOf("ok", model("X")), heldOf("touched", model("Y")), heldOf("missing", model("Z")), heldOf("partial", model("Z")[1:]), heldOf("rotten", model("X")[3:])
	unpinned := Held{ID: "unpinned", Path: Friendly(storeDir, "unpinned", "", "u.gguf"), Wanted: true}
	stored(t, root, w, ok, model("X"))
	stored(t, root, w, touched, model("Y"))
	bad := bytes.Clone(model("X")[3:])
	bad[99]++
	stored(t, root, w, rotten, bad)
	write(t, at(Part(storeDir, partial.SHA256)), make([]byte, 5000), 0o600)
	for _, h := range []*Held{&ok, &touched, &rotten} {
		info, err := w.FS.Lstat(Blob(storeDir, h.SHA256))
		if err != nil {
			t.Fatal(err)
		}
		h.Stat, h.Verified = StatOf(info), time.Unix(9, 0)
	}
	if err := os.Chtimes(at(touched.Path), time.Unix(5, 0), time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	held := []Held{ok, touched, missing, partial, rotten, unpinned}
	want := map[string]State{"ok": OK, "touched": Changed, "missing": Missing, "partial": Partial, "rotten": OK, "unpinned": Unpinned}
	models, err := List(w.FS, storeDir, held)
	if err != nil || len(models) != len(want) {
		t.Fatalf("%d models, %v", len(models), err)
	}
	for _, m := range models {
		if m.State != want[m.ID] {
			t.Errorf("%s is %s, want %s", m.ID, m.State, want[m.ID])
		}
	}
	if m := models[1]; m.ID != "ok" || m.Files[0].How != HardLink || m.Have != m.Size || m.Verified != time.Unix(9, 0) {
		t.Errorf("%+v", m)
	}
	if p, err := Path(w.FS, storeDir, held, "ok"); err != nil || len(p) != 1 || p[0] != ok.Path {
		t.Errorf("path: %v, %v", p, err)
	}
	for id, says := range map[string]string{"missing": "aisync apply --target model:missing", "touched": "models verify --deep", "unpinned": "run aisync lock", "nobody": "models ls"} {
		if p, err := Path(w.FS, storeDir, held, id); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("path of %s: %v, %v", id, p, err)
		}
	}
	// Only reading tells rotten bytes.
	for _, deep := range []bool{false, true} {
		var read int64
		checked, err := Verify(t.Context(), w.FS, storeDir, held, VerifyOptions{Deep: deep, Progress: func(_ Held, done, _ int64) { read += done }})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checked {
			wrong := c.ID != "ok" && (c.ID != "rotten" || deep) && (c.ID != "touched" || !deep)
			if (c.Err != nil) != wrong {
				t.Errorf("deep %v: %s is %s, %v", deep, c.ID, c.State, c.Err)
			}
		}
		if (read > 0) != deep {
			t.Errorf("deep %v: %d bytes read", deep, read)
		}
	}
}

func TestGCRemovesOnlyUnusedFiles(t *testing.T) {
	root, w := machine(t)
	at := func(p fsys.LogicalPath) string { return filepath.Join(root, string(p)) }
	wanted, loose, shared, linked := heldOf("wanted", model("X")), heldOf("loose", model("Y")), heldOf("shared", model("Z")), heldOf("linked", model("Z")[1:])
	stored(t, root, w, wanted, model("X"))
	blobOf := func(h Held) fsys.LogicalPath { return Blob(storeDir, h.SHA256) }
	write(t, at(blobOf(loose)), model("Y"), 0o444)
	write(t, at(blobOf(shared)), model("Z"), 0o444)
	if err := os.Link(at(blobOf(shared)), filepath.Join(root, "home/me/theirs.gguf")); err != nil {
		t.Fatal(err)
	}
	write(t, at(blobOf(linked)), model("Z")[1:], 0o444)
	for name, to := range map[string]fsys.LogicalPath{"a/b/linked.gguf": blobOf(linked), "a/b/dead.gguf": storeDir.Join("sha256/00/00")} {
		p := storeDir.Join(name)
		if err := os.MkdirAll(filepath.Dir(at(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target(storeDir, to, p), at(p)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, at(storeDir.Join("a/b/foreign.txt")), []byte("mine"), 0o644)
	before := storeDir.Join(oldParts, wanted.SHA256+".part")
	write(t, at(before), []byte("half"), 0o600)
	if err := os.Chtimes(at(before), time.Unix(1000, 0), time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	parts := map[string]fsys.LogicalPath{}
	for _, name := range []string{"gone", "young", "busy", "wanted"} {
		parts[name] = Part(storeDir, sumOf([]byte(name)))
		write(t, at(parts[name]), []byte("half"), 0o600)
		if name != "young" {
			if err := os.Chtimes(at(parts[name]), time.Unix(1000, 0), time.Unix(1000, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chtimes(at(parts["young"]), time.Unix(9900, 0), time.Unix(9900, 0)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(at(parts["busy"]))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	later := Held{ID: "later", SHA256: sumOf([]byte("wanted")), Size: 9, Wanted: true}
	o := GCOptions{DryRun: true, Parts: time.Hour, Now: time.Unix(10000, 0)}
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		got, err := GC(w.FS, storeDir, []Held{wanted, later}, o)
		if err != nil {
			t.Fatal(err)
		}
		removed := map[fsys.LogicalPath]bool{blobOf(loose): true, blobOf(shared): false, blobOf(linked): false, storeDir.Join("a/b/dead.gguf"): true,
			before: true, parts["gone"]: true, parts["young"]: false, parts["busy"]: false}
		for _, g := range got {
			want, known := removed[g.Path]
			delete(removed, g.Path)
			if !known || g.Removed != want || g.Removed != (g.Kept == "") {
				t.Errorf("dry %v: %+v", dry, g)
			}
			if _, err := os.Lstat(at(g.Path)); (err == nil) != (dry || !want) {
				t.Errorf("dry %v: %s: %v", dry, g.Path, err)
			}
		}
		if len(removed) > 0 {
			t.Errorf("dry %v: not found: %v", dry, removed)
		}
	}
	for _, p := range []fsys.LogicalPath{blobOf(wanted), wanted.Path, parts["wanted"], storeDir.Join("a/b/foreign.txt")} {
		if _, err := os.Lstat(at(p)); err != nil {
			t.Error(err)
		}
	}
}
