package pin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// repo is a git repository that holds a bundle source.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes the rules of the repository those of files, by name, and
// returns the commit.
func (r repo) commit(files map[string]string) string {
	r.t.Helper()
	must(r.t, os.RemoveAll(filepath.Join(r.dir, "agent-rules")))
	for name, text := range files {
		path := filepath.Join(r.dir, "agent-rules", name)
		must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(r.t, os.WriteFile(path, []byte(text), 0o644))
	}
	r.git("add", "-A")
	r.git("commit", "-qm", "change")
	return r.git("rev-parse", "HEAD")
}

// source is the repository as the project names it.
func (r repo) source(s *stage) spec.Source {
	return spec.Source{Name: "rules", URL: "git::file://" + r.dir + "?ref=main&depth=1", Dir: s.project.Dir, Pos: spec.Position{File: "aisync.cue", Line: 2, Col: 3}}
}

// wantSource wants that a source lies in dir with a rule of that text.
func wantSource(t *testing.T, dir, text string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(dir, "agent-rules/a.md")); err != nil || string(b) != text {
		t.Errorf("%s holds %q, %v; want %q", dir, b, err, text)
	}
}

func TestSourceIsPinnedToItsCommitInTheLockOfItsSpec(t *testing.T) {
	s, r := newStage(t), newRepo(t)
	one := r.commit(map[string]string{"a.md": "# One\n"})
	src := r.source(s)
	for mode, set := range map[Mode]func(*Resolver){Look: func(*Resolver) {}, Ask: func(*Resolver) {}, Pin: offline, Lock: offline} {
		_, _, err := s.resolver(mode, set).Source(t.Context(), src)
		if !errors.Is(err, ErrNotFetched) || errors.Is(err, reconcile.ErrOffline) != mode.pins() {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
	_, _, err := s.resolver(Pin, locked).Source(t.Context(), src)
	wantError(t, err, NotPinned, "", `aisync.cue:2:3: bundle source "rules" is not pinned in aisync.lock`)
	if _, _, err := s.resolver(Look).Cache.Source(s.projLock, src); !errors.Is(err, ErrNotFetched) {
		t.Errorf("in the cache: %v", err)
	}

	p := s.resolver(Pin)
	dir, at, err := p.Source(t.Context(), src)
	must(t, err)
	wantSource(t, dir, "# One\n")
	if at != one || !slices.Equal(s.kinds(), []EventKind{FetchingSource}) {
		t.Errorf("at %s, want %s", at, one)
	}
	if again, at, err := p.Source(t.Context(), src); again != dir || at != one || err != nil {
		t.Errorf("asked again: %s, %s, %v", again, at, err)
	}
	if res := s.settle(p); len(res.Diffs) != 0 || len(res.Pins[s.hostLock]) != 0 && pins(s.hostLock, "bundle") != nil && len(pins(s.hostLock, "bundle")) != 0 {
		t.Errorf("%+v", res)
	}
	if pin := pins(s.projLock, "bundle")["rules"]; pin["commit"] != one || pin["url"] != src.URL || !strings.HasPrefix(pin["tree"], "sha256:") {
		t.Errorf("pinned %v", pin)
	}

	// The branch goes on; what is pinned stays, with or without a network.
	r.commit(map[string]string{"a.md": "# Two\n"})
	for name, p := range map[string]*Resolver{"look": s.resolver(Look), "offline": s.resolver(Pin, offline), "locked": s.resolver(Pin, locked), "lock": s.resolver(Lock)} {
		got, at, err := p.Source(t.Context(), src)
		if got != dir || at != one || err != nil {
			t.Errorf("%s: %s at %s, %v", name, got, at, err)
		}
	}
	if got, at, err := s.resolver(Look).Cache.Source(s.projLock, src); got != dir || at != one || err != nil {
		t.Errorf("in the cache: %s at %s, %v", got, at, err)
	}
	// Without the cache it is fetched at its commit, even where all must be pinned.
	must(t, os.RemoveAll(filepath.Dir(dir)))
	if _, _, err := s.resolver(Look).Cache.Source(s.projLock, src); !errors.Is(err, ErrNotFetched) {
		t.Errorf("without the cache: %v", err)
	}
	got, at, err := s.resolver(Pin, locked).Source(t.Context(), src)
	if err != nil || at != one {
		t.Fatalf("at %s, %v", at, err)
	}
	wantSource(t, got, "# One\n")
	if n := len(s.kinds()); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestSourceThatMovesIsCompared(t *testing.T) {
	s, r := newStage(t), newRepo(t)
	r.commit(map[string]string{"a.md": "# One\n", "gone.md": "# Gone\n", "same.md": "# Same\n"})
	src := r.source(s)
	p := s.resolver(Pin)
	old, _, err := p.Source(t.Context(), src)
	must(t, err)
	s.settle(p)
	two := r.commit(map[string]string{"a.md": "# Two\n", "new.md": "# New\n", "same.md": "# Same\n"})

	p = s.resolver(Lock, update("rules"))
	dir, at, err := p.Source(t.Context(), src)
	must(t, err)
	wantSource(t, dir, "# Two\n")
	wantSource(t, old, "# One\n")
	if again, _, err := p.Source(t.Context(), src); again != dir || err != nil || len(s.kinds()) != 2 {
		t.Errorf("asked again: %s, %v", again, err)
	}
	res := s.settle(p)
	if at != two || len(res.Unmatched) != 0 || len(res.Changes) == 0 || res.Changes[0].Old.Values["commit"] == two || res.Changes[0].New.Values["commit"] != two {
		t.Errorf("at %s: %+v", at, res.Changes)
	}
	var got []string
	for _, d := range res.Diffs {
		for _, f := range d.Files {
			got = append(got, d.Source+" "+f.Action+" "+f.File)
		}
	}
	if want := []string{"rules ~ agent-rules/a.md", "rules - agent-rules/gone.md", "rules + agent-rules/new.md"}; !slices.Equal(got, want) {
		t.Errorf("differs %q, want %q", got, want)
	}
	if d := res.Diffs[0].Files[0].Diff; !strings.Contains(d, "-# One\n+# Two\n") {
		t.Errorf("diff %q", d)
	}

	// What differs in nothing that could be installed, and what is not here.
	r.git("commit", "-q", "--allow-empty", "-m", "nothing")
	p = s.resolver(Lock, update())
	_, _, err = p.Source(t.Context(), src)
	must(t, err)
	if res := s.settle(p); len(res.Diffs) != 1 || res.Diffs[0].Note != "no file of the bundle differs" {
		t.Errorf("%+v", res.Diffs)
	}
	must(t, os.RemoveAll(filepath.Dir(dir)))
	r.commit(map[string]string{"a.md": "# Three\n"})
	p = s.resolver(Lock, update())
	_, _, err = p.Source(t.Context(), src)
	must(t, err)
	if res := s.settle(p); len(res.Diffs) != 1 || !strings.HasPrefix(res.Diffs[0].Note, "the version pinned before is not on this machine") {
		t.Errorf("%+v", res.Diffs)
	}

	// Another address is another source: it is pinned anew without an update.
	other := newRepo(t)
	three := other.commit(map[string]string{"a.md": "# Other\n"})
	src.URL = other.source(s).URL
	if _, _, err := s.resolver(Pin, locked).Source(t.Context(), src); err == nil {
		t.Error("another address passes for the one that is pinned")
	}
	if _, at, err := s.resolver(Pin).Source(t.Context(), src); at != three || err != nil {
		t.Errorf("another address: %s, %v", at, err)
	}
}

func TestSourceWhosePinIsGoneOrHoldsSomethingElse(t *testing.T) {
	s, r := newStage(t), newRepo(t)
	r.commit(map[string]string{"a.md": "# One\n"})
	src := r.source(s)
	p := s.resolver(Pin)
	dir, _, err := p.Source(t.Context(), src)
	must(t, err)
	s.settle(p)
	must(t, s.resolver(Look).Network.VerifySource(t.Context(), s.projLock, s.projLock.Lock.Pins()[1], ""))

	known, _ := s.projLock.Lock.Pin("bundle", "rules", "")
	forged := reconcile.Pin{Kind: "bundle", Name: "rules", Values: map[string]string{"url": known.Values["url"], "commit": known.Values["commit"], "tree": "sha256:" + strings.Repeat("0", 64)}}
	s.projLock.Lock.SetPin(forged)
	_, _, err = s.resolver(Pin).Source(t.Context(), src)
	wantError(t, err, Changed, "rules", `bundle source "rules": content of `+src.URL+" differs from its pin in aisync.lock: want tree sha256:000000000000…")
	if err := s.resolver(Look).Network.VerifySource(t.Context(), s.projLock, forged, ""); err == nil || !strings.Contains(err.Error(), s.projLock.Path+`: bundle source "rules": pinned tree sha256:000000000000…`) {
		t.Errorf("verified: %v", err)
	}
	s.projLock.Lock.SetPin(known)

	must(t, os.RemoveAll(filepath.Dir(dir)))
	must(t, os.RemoveAll(filepath.Join(r.dir, ".git")))
	r.git("init", "-q", "-b", "main")
	r.commit(map[string]string{"a.md": "# Rewritten\n"})
	_, _, err = s.resolver(Pin).Source(t.Context(), src)
	wantError(t, err, Gone, "rules", "its history was rewritten")
	if err := s.resolver(Look).Network.VerifySource(t.Context(), s.projLock, known, ""); err == nil || !strings.HasPrefix(err.Error(), `verify bundle source "rules": `) {
		t.Errorf("verified: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 0 {
		t.Errorf("the cache holds %v, %v", left, err)
	}
}

func TestArchiveSourceOfTheHostIsPinnedToItsTree(t *testing.T) {
	s, r := newStage(t), newRepo(t)
	r.commit(map[string]string{"a.md": "# One\n"})
	www := t.TempDir()
	r.git("archive", "-o", filepath.Join(www, "rules.tar.gz"), "HEAD")
	server := httptest.NewServer(http.FileServer(http.Dir(www)))
	t.Cleanup(server.Close)
	src := spec.Source{Name: "rules", URL: server.URL + "/rules.tar.gz", Dir: s.host.Dir}
	p := s.resolver(Pin, func(r *Resolver) { r.Project = nil })
	dir, at, err := p.Source(t.Context(), src)
	must(t, err)
	wantSource(t, dir, "# One\n")
	s.settle(p)
	if pin := pins(s.hostLock, "bundle")["rules"]; pin["tree"] != at || pin["commit"] != "" {
		t.Errorf("at %s, pinned %v", at, pin)
	}
	server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := s.resolver(Pin).Source(ctx, src); got != dir || err != nil {
		t.Errorf("from the cache: %s, %v", got, err)
	}
}

func TestAtCommitKeepsWhatElseASourceSays(t *testing.T) {
	for src, want := range map[string]string{
		"git::https://h/r":                          "git::https://h/r?ref=abc",
		"git::https://h/r//dir?ref=main":            "git::https://h/r//dir?ref=abc",
		"git::https://h/r?depth=1&ref=v1&sshkey=aa": "git::https://h/r?ref=abc&sshkey=aa",
		"git::https://h/r?%":                        "git::https://h/r?ref=abc",
	} {
		if got := atCommit(src, "abc"); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// Two sources without anything to install have the same digest and other lists of
// plugins: each keeps its own folder.
func TestEmptySourcesKeepTheirFolders(t *testing.T) {
	c := Cache{Dir: "/cache"}
	empty, err := treeDigest(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if c.tree(empty, "git::https://example.org/a.git") == c.tree(empty, "git::https://example.org/b.git") {
		t.Error("two empty sources share a folder")
	}
	if c.tree("sha256:1", "a") != c.tree("sha256:1", "b") {
		t.Error("the same content lies in two folders")
	}
}
