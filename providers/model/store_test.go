package model

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// counting counts the files whose bytes are asked for.
type counting struct {
	fsys.FS
	opened *atomic.Int64
}

func (c counting) Open(p fsys.LogicalPath) (*os.File, error) {
	c.opened.Add(1)
	return c.FS.Open(p)
}

func (c counting) ReadFile(p fsys.LogicalPath) ([]byte, error) {
	if strings.Contains(string(p), ".verified-") {
		return c.FS.ReadFile(p)
	}
	c.opened.Add(1)
	return c.FS.ReadFile(p)
}

// count makes w count what is read through it.
func count(w *reconcile.WriteEnv) *atomic.Int64 {
	c := counting{w.FS, &atomic.Int64{}}
	w.FS, w.ReadEnv.FS = c, c
	return c.opened
}

func put(t *testing.T, root string, p fsys.LogicalPath, b []byte) string {
	t.Helper()
	at := filepath.Join(root, string(p))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestObserveReadsNoModelBytes(t *testing.T) {
	root, w := machine(t, nil)
	a := wanted("", "X")
	a.Size = 60 << 30
	blob := put(t, root, a.blob(), []byte("GGUF"))
	if err := os.Truncate(blob, a.Size); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	at := filepath.Join(root, string(a.Path))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(blob, at); err != nil {
		t.Fatal(err)
	}
	opened := count(&w)
	info, err := w.FS.Lstat(a.blob())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Look(w.FS, a.Path, a.blob())
	if err != nil {
		t.Fatal(err)
	}
	last := reconcile.LeafRecord{Live: a.Fingerprint(), Private: noteOn(a, s, info, "", time.Time{}).raw()}
	c := create(w, a, last)
	if c.Before.Live[""] != a.Fingerprint() || c.Before.Fetch != 0 {
		t.Errorf("%+v", c.Before)
	}
	Provider{}.Explain(t.Context(), w.ReadEnv, c)
	Provider{}.Preflight(t.Context(), w.ReadEnv, []reconcile.Change{c})
	held := Held([]reconcile.Declaration{{Leaves: []reconcile.Leaf{{Body: a}}}}, []reconcile.Record{{Address: "model:tiny", Leaves: []reconcile.LeafRecord{last}}})
	models, err := store.List(w.FS, dir, held)
	if err != nil || len(models) != 1 || models[0].State != store.OK {
		t.Errorf("%+v, %v", models, err)
	}
	if checked, err := store.Verify(t.Context(), w.FS, dir, held, store.VerifyOptions{}); err != nil || checked[0].Err != nil {
		t.Errorf("%+v, %v", checked, err)
	}
	if n := opened.Load(); n != 0 {
		t.Errorf("%d files were opened", n)
	}
}

func TestOldStoreLayoutIsAdoptedWithoutFetching(t *testing.T) {
	for name, recorded := range map[string]bool{"on record": true, "not on record": false} {
		t.Run(name, func(t *testing.T) {
			root, w := machine(t, nil) // no fetcher
			a := wanted("", "X")
			old := store.Old(dir, a.ID, a.Path.Base())
			at := put(t, root, old, bytesOf("X"))
			opened := count(&w)
			var last []reconcile.LeafRecord
			if recorded {
				info, err := w.FS.Lstat(old)
				if err != nil {
					t.Fatal(err)
				}
				n := note{Path: old, SHA256: a.SHA256, Stat: store.StatOf(info)}
				last = []reconcile.LeafRecord{{Live: fingerprint(a.SHA256, old), Provenance: reconcile.Created, Private: n.raw()}}
			}
			c := create(w, a, last...)
			if c.Before.Fetch != 0 {
				t.Errorf("%d bytes to fetch", c.Before.Fetch)
			}
			if recorded && c.Before.Live[""] != last[0].Live {
				t.Errorf("%+v", c.Before)
			}
			out, err := Provider{}.Apply(t.Context(), c, w)
			if err != nil {
				t.Fatal(err)
			}
			hashed := opened.Load() > 1 // the header is always looked at
			if hashed == recorded {
				t.Errorf("%d files were opened", opened.Load())
			}
			blob, err := os.Stat(filepath.Join(root, string(a.blob())))
			if err != nil {
				t.Fatal(err)
			}
			if named, err := os.Stat(filepath.Join(root, string(a.Path))); err != nil || !os.SameFile(blob, named) {
				t.Errorf("the friendly name: %v", err)
			}
			if _, err := os.Stat(at); os.IsNotExist(err) != recorded {
				t.Errorf("the name of before: %v", err)
			}
			if next := create(w, a, reconcile.LeafRecord{Live: a.Fingerprint(), Private: out.LeafPrivate[""]}); next.Before.Live[""] != a.Fingerprint() {
				t.Errorf("afterwards %+v", next.Before)
			}
		})
	}
}

func TestWhatWasAdoptedIsNotReadAgain(t *testing.T) {
	root, w := machine(t, nil)
	a := wanted("", "X")
	put(t, root, "/home/me/downloads/any.gguf", bytesOf("X"))
	held := Held([]reconcile.Declaration{{Leaves: []reconcile.Leaf{{Body: a}}}}, nil)
	got, err := store.Adopt(t.Context(), w.FS, dir, held, []store.Location{{Program: "folder", Dir: "/home/me/downloads"}}, store.AdoptOptions{})
	if err != nil || len(got) != 1 || got[0].How == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	opened := count(&w)
	if _, err := (Provider{}).Apply(t.Context(), create(w, a), w); err != nil {
		t.Fatal(err)
	}
	if n := opened.Load(); n != 1 { // the header
		t.Errorf("%d files were opened", n)
	}
}

func TestBytesThatAnotherProgramStillHasAreNotFetchedAgain(t *testing.T) {
	root, w := machine(t, nil)
	a := wanted("", "X")
	a.Views = []fsys.LogicalPath{"/home/me/.ollama/models/blobs/sha256-" + fsys.LogicalPath(a.SHA256)}
	at := put(t, root, a.Views[0], bytesOf("X"))
	c := create(w, a)
	if c.Before.Fetch != 0 {
		t.Errorf("%d bytes to fetch", c.Before.Fetch)
	}
	if _, err := (Provider{}).Apply(t.Context(), c, w); err != nil {
		t.Fatal(err)
	}
	theirs, _ := os.Stat(at)
	if ours, err := os.Stat(filepath.Join(root, string(a.Path))); err != nil || !os.SameFile(theirs, ours) {
		t.Errorf("a second copy: %v", err)
	}
}

func TestCompletePartThatIsNotGGUFIsNotPublished(t *testing.T) {
	root, w := machine(t, nil)
	b := bytes.Repeat([]byte("<html>"), 99)
	a := wanted("", "X")
	a.Size, a.SHA256 = int64(len(b)), sumOf(b)
	put(t, root, a.part(), b)
	if _, err := (Provider{}).Apply(t.Context(), create(w, a), w); err == nil || !strings.Contains(err.Error(), "correct path and sha256 in the catalog entry") {
		t.Errorf("%v", err)
	}
	for _, p := range []fsys.LogicalPath{a.Path, a.blob()} {
		if _, err := os.Lstat(filepath.Join(root, string(p))); !os.IsNotExist(err) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestWrongBytesInTheStoreAreReplaced(t *testing.T) {
	s, asked := suite(t)
	root, w := machine(t, s.Fetch)
	a := s.Want(nil, "X")[0].Body.(Artifact)
	bad := bytesOf("X")
	bad[500]++
	put(t, root, a.blob(), bad)
	if _, err := (Provider{}).Apply(t.Context(), create(w, a), w); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, string(a.Path))); err != nil || !bytes.Equal(got, bytesOf("X")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if asked.Load() == 0 {
		t.Error("nothing was fetched")
	}
}

func TestShardsAppearTogether(t *testing.T) {
	s, _ := suite(t)
	root, w := machine(t, s.Fetch)
	a, b := s.Want(nil, "X")[0].Body.(Artifact), s.Want(nil, "Y")[0].Body.(Artifact)
	a.Path, b.Path, b.Shard = a.Path.Dir().Join("m-00001-of-00002.gguf"), a.Path.Dir().Join("m-00002-of-00002.gguf"), 1
	good := b.Sources
	b.Sources = []string{"http://127.0.0.1:1/gone"}
	change := func() reconcile.Change {
		tgt := reconcile.Target{Resource: reconcile.Resource{Address: "model:tiny", Leaves: []reconcile.Leaf{
			{Key: "m-00001-of-00002.gguf", Body: a, Own: reconcile.Member}, {Key: "m-00002-of-00002.gguf", Body: b, Own: reconcile.Member},
		}}}
		c := reconcile.Change{Target: tgt, Before: observe(w.FS, tgt)}
		for i := range tgt.Resource.Leaves {
			l := &tgt.Resource.Leaves[i]
			c.Leaves = append(c.Leaves, reconcile.LeafChange{Key: l.Key, Want: l, Decision: reconcile.Decision{Action: reconcile.Create}})
		}
		return c
	}
	if _, err := (Provider{}).Apply(t.Context(), change(), w); err == nil {
		t.Fatal("a shard that cannot be had is no error")
	}
	if _, err := os.Lstat(filepath.Join(root, string(a.Path))); !os.IsNotExist(err) {
		t.Errorf("the first shard alone: %v", err)
	}
	b.Sources = good
	if _, err := (Provider{}).Apply(t.Context(), change(), w); err != nil {
		t.Fatal(err)
	}
	held := Held([]reconcile.Declaration{{Leaves: []reconcile.Leaf{{Body: b}, {Body: a}}}}, nil)
	if p, err := store.Path(w.FS, dir, held, "tiny"); err != nil || len(p) != 2 || p[0] != a.Path {
		t.Errorf("%v, %v", p, err)
	}
}
