package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// bytesOf is the content of a model; each has its own size.
func bytesOf(v string) []byte {
	head := "GGUF\x03\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00"
	return append([]byte(head), bytes.Repeat([]byte(v+" tensor "), 1000+100*int(v[0]-'X'))...)
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// server serves every model by its name and counts what it is asked for.
func server(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.ServeContent(w, r, "model.gguf", time.Unix(1, 0), bytes.NewReader(bytesOf(strings.TrimPrefix(r.URL.Path, "/"))))
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

// fetcher is the real client, as the program wires it.
type fetcher struct{ client *fetch.Client }

func (f fetcher) Fetch(ctx context.Context, fs fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) (string, error) {
	return "", f.client.Fetch(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256}, fs, part, progress)
}

const (
	dir   fsys.LogicalPath = "/home/me/models"
	place fsys.LogicalPath = "/home/me/models/local/tiny/tiny.gguf"
)

func wanted(url, v string) Artifact {
	b := bytesOf(v)
	return Artifact{ID: "tiny", Quant: "F32", Store: dir, Path: place, Size: int64(len(b)), SHA256: sumOf(b), Sources: []string{url + "/" + v}}
}

func suite(t *testing.T) (providertest.Suite, *atomic.Int64) {
	srv, asked := server(t)
	path := func(b *providertest.Bench) string { return filepath.Join(b.Root, string(place)) }
	return providertest.Suite{
		Provider: Provider{}, Address: "model:tiny", Gap: true, Kept: []string{"home/me/models/sha256", "home/me/models/tmp"},
		Prepare: func(t *testing.T, b *providertest.Bench) {
			for _, d := range []string{"sha256", "tmp"} {
				if err := os.MkdirAll(filepath.Join(b.Root, string(dir), d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		},
		Fetch: fetcher{fetch.New(fetch.Options{Retries: 1})},
		Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
			return []reconcile.Leaf{{Body: wanted(srv.URL, v)}}
		},
		Put: func(t *testing.T, b *providertest.Bench, v string) {
			if err := os.RemoveAll(path(b)); err != nil {
				t.Fatal(err)
			}
			if v == "" {
				return
			}
			if err := os.MkdirAll(filepath.Dir(path(b)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path(b), bytesOf(v), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		Get: func(t *testing.T, b *providertest.Bench) string {
			got, err := os.ReadFile(path(b))
			if os.IsNotExist(err) {
				return ""
			}
			for _, v := range []string{"X", "Y", "Z"} {
				if bytes.Equal(got, bytesOf(v)) {
					return v
				}
			}
			return fmt.Sprintf("%d unexpected bytes, %v", len(got), err)
		},
		Block: func(t *testing.T, b *providertest.Bench) {
			if err := os.MkdirAll(path(b), 0o755); err != nil {
				t.Fatal(err)
			}
		},
	}, asked
}

func TestModelPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Suite { s, _ := suite(t); return s })
}

// machine is a file system with a home, and an environment on it.
func machine(t *testing.T, f reconcile.Fetcher) (string, reconcile.WriteEnv) {
	t.Helper()
	root := t.TempDir()
	disk, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return root, reconcile.WriteEnv{ReadEnv: reconcile.ReadEnv{FS: disk, Home: "/home/me"}, FS: disk, Fetch: f}
}

func target(a Artifact, last ...reconcile.LeafRecord) reconcile.Target {
	return reconcile.Target{Resource: reconcile.Resource{Address: "model:tiny", Leaves: []reconcile.Leaf{{Body: a}}}, Last: last}
}

// create is the change that makes a be there, as a plan would find it.
func create(w reconcile.WriteEnv, a Artifact, last ...reconcile.LeafRecord) reconcile.Change {
	t := target(a, last...)
	l := reconcile.LeafChange{Want: &t.Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}}
	if len(last) > 0 {
		l.Last = &last[0]
	}
	return reconcile.Change{Target: t, Before: Provider{}.Observe(context.Background(), w.ReadEnv, []reconcile.Target{t})[0], Leaves: []reconcile.LeafChange{l}}
}

func TestOfflineAndUnpinnedModelsSayWhatToDo(t *testing.T) {
	_, w := machine(t, nil)
	a := wanted("http://127.0.0.1:1", "X")
	if _, err := (Provider{}).Apply(t.Context(), create(w, a), w); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	a.SHA256, a.Size = "", 0
	c := create(w, a)
	if _, err := (Provider{}).Apply(t.Context(), c, w); err == nil || !strings.Contains(err.Error(), "aisync lock") {
		t.Errorf("unpinned: %v", err)
	}
	if problems := (Provider{}).Preflight(t.Context(), w.ReadEnv, []reconcile.Change{c}); len(problems) != 1 {
		t.Errorf("preflight of an unpinned model: %v", problems)
	}
	if lines := (Provider{}).Explain(t.Context(), w.ReadEnv, c); len(lines) != 1 || !strings.Contains(lines[0].Text, "(digest not pinned yet)") {
		t.Errorf("explained by %v", lines)
	}
}

func TestWrongBytesOfRightSizeAreNotAdopted(t *testing.T) {
	root, w := machine(t, nil)
	a := wanted("", "X")
	wrong := bytesOf("X")
	wrong[7]++
	at := filepath.Join(root, string(place))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, wrong, 0o644); err != nil {
		t.Fatal(err)
	}
	c := create(w, a)
	if live := c.Before.Live[""]; !(Provider{}).Satisfied(c.Target.Resource.Leaves[0], live) {
		t.Fatalf("%s does not look right from its size", live)
	}
	c.Leaves[0].Action = reconcile.Accept
	if lines := (Provider{}).Explain(t.Context(), w.ReadEnv, c); len(lines) != 1 || !strings.Contains(lines[0].Text, "will be verified") {
		t.Errorf("explained by %v", lines)
	}
	if _, err := (Provider{}).Confirm(t.Context(), w.ReadEnv, c); err == nil || !strings.Contains(err.Error(), "sha256 mismatch") {
		t.Errorf("confirm: %v", err)
	}
}

func TestAnUnchangedModelIsKnownWithoutReadingItAndATouchedOneIsNot(t *testing.T) {
	s, asked := suite(t)
	root, w := machine(t, s.Fetch)
	a := s.Want(nil, "X")[0].Body.(Artifact)
	out, err := Provider{}.Apply(t.Context(), create(w, a), w)
	if err != nil {
		t.Fatal(err)
	}
	last := reconcile.LeafRecord{Live: a.Fingerprint(), Private: out.LeafPrivate[""]}
	at := filepath.Join(root, string(place))
	if info, err := os.Stat(at); err != nil || info.Mode() != 0o444 {
		t.Errorf("published with %v, %v", info.Mode(), err)
	}
	if o := create(w, a, last).Before; o.Live[""] != a.Fingerprint() || o.Fetch != 0 || o.Token != out.Token {
		t.Errorf("unchanged: %+v, token was %q", o, out.Token)
	}
	if err := os.Chtimes(at, time.Unix(5, 0), time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	c := create(w, a, last)
	if o := c.Before; o.Live[""] == a.Fingerprint() {
		t.Errorf("touched: %+v", o)
	}
	c.Leaves[0].Action = reconcile.Accept
	out, err = Provider{}.Confirm(t.Context(), w.ReadEnv, c)
	if err != nil || out.LeafLive[""] != a.Fingerprint() {
		t.Errorf("confirm: %+v, %v", out, err)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
	tgt := target(a, reconcile.LeafRecord{Private: out.LeafPrivate[""]})
	if err := (Provider{}).Verify(t.Context(), w.ReadEnv, tgt); err != nil {
		t.Error(err)
	}
	_ = os.Remove(filepath.Join(root, string(a.blob())))
	if err := os.WriteFile(filepath.Join(root, string(a.blob())), bytesOf("Y"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (Provider{}).Verify(t.Context(), w.ReadEnv, tgt); err == nil {
		t.Error("other bytes were verified")
	}
}

func TestStoreMoveKeepsFile(t *testing.T) {
	s, asked := suite(t)
	root, w := machine(t, s.Fetch)
	a := s.Want(nil, "X")[0].Body.(Artifact)
	out, err := Provider{}.Apply(t.Context(), create(w, a), w)
	if err != nil {
		t.Fatal(err)
	}
	last := reconcile.LeafRecord{Live: a.Fingerprint(), Private: out.LeafPrivate[""]}
	a.Path = "/srv/models/tiny/tiny.gguf"
	c := create(w, a, last)
	if c.Before.Live[""] != last.Live || c.Before.Fetch != 0 {
		t.Fatalf("%+v", c.Before)
	}
	c.Leaves[0].Action = reconcile.Update
	if _, err := (Provider{}).Apply(t.Context(), c, w); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, string(a.Path))); err != nil || !bytes.Equal(got, bytesOf("X")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if asked.Load() != 1 {
		t.Errorf("%d requests, want 1", asked.Load())
	}
}

func TestForeignBytesAreRenamedAndAPartCounts(t *testing.T) {
	s, _ := suite(t)
	root, w := machine(t, s.Fetch)
	a := s.Want(nil, "X")[0].Body.(Artifact)
	at := filepath.Join(root, string(place))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, bytesOf("Y"), 0o644); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(root, string(a.part()))
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, bytesOf("X")[:3000], 0o600); err != nil {
		t.Fatal(err)
	}
	c := create(w, a)
	if want := a.Size - 3000; c.Before.Fetch != want {
		t.Errorf("%d bytes to fetch, want %d", c.Before.Fetch, want)
	}
	c.Leaves[0].Action = reconcile.Update
	if _, err := (Provider{}).Apply(t.Context(), c, w); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(at + ".aside-1"); err != nil || !bytes.Equal(got, bytesOf("Y")) {
		t.Errorf("the foreign bytes: %d, %v", len(got), err)
	}
	if _, err := os.Stat(part); !os.IsNotExist(err) {
		t.Errorf("the part is still there: %v", err)
	}
}

func TestFullDiskReportsBytes(t *testing.T) {
	n := need{store: "/srv/models", bytes: 3 << 30, free: 4 << 30}
	err := n.check()
	if err == nil || !strings.Contains(err.Error(), "3.2 GB are needed and 2.1 GB to leave free, 4.3 GB are free, 1.1 GB too few") {
		t.Errorf("%v", err)
	}
	for _, ok := range []need{{bytes: 3 << 30, free: 5 << 30}, {bytes: 1 << 20, free: 1 << 20}, {bytes: 0, free: 0}} {
		if err := ok.check(); err != nil {
			t.Error(err)
		}
	}
	_, w := machine(t, nil)
	a := wanted("", "X")
	a.Size = 1 << 60
	problems := Provider{}.Preflight(t.Context(), w.ReadEnv, []reconcile.Change{create(w, a)})
	if len(problems) != 1 || problems[0].Address != "model:tiny" || problems[0].Hint == "" {
		t.Errorf("preflight: %v", problems)
	}
}
