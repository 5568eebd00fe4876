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
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakenpm"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// npmStage is a stage with the real npm and a registry for it.
func npmStage(t *testing.T) (*stage, *fakenpm.Registry) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("needs npm; install nodejs and npm")
	}
	registry := fakenpm.New()
	t.Cleanup(registry.Close)
	registry.Publish("@own/tool", "1.0.0", "tool", "")
	registry.Publish("@own/tool", "1.1.0", "tool", "")
	s := newStage(t)
	s.run = command{[]string{"npm_config_registry=" + registry.URL, "npm_config_fetch_retries=0", "npm_config_cache=" + t.TempDir()}}
	return s, registry
}

var asking = spec.Position{File: "velox.cue", Line: 3, Col: 1}

func (s *stage) tool(r *Resolver, within string) (string, error, error) {
	return r.Package(s.t.Context(), "npm", "@own/tool", within, asking)
}

// install puts a version into aisync's prefix of npm, as far as npm looks.
func (s *stage) install(version string) {
	dir := filepath.Join(s.root+home, packages.NpmPrefix, "lib/node_modules/@own/tool")
	must(s.t, os.MkdirAll(dir, 0o755))
	must(s.t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"@own/tool","version":"`+version+`"}`), 0o644))
}

func TestPackageIsPinnedToWhatIsInstalledElseToTheNewest(t *testing.T) {
	s, registry := npmStage(t)
	for name, r := range map[string]*Resolver{"look": s.resolver(Look), "ask": s.resolver(Ask), "about others": s.resolver(Pin, func(r *Resolver) { r.About = func(reconcile.Address) bool { return false } })} {
		if v, left, err := s.tool(r, ""); v != "" || left != nil || err != nil {
			t.Errorf("%s: %q, %v, %v", name, v, left, err)
		}
	}
	if len(registry.Asked()) != 0 {
		t.Errorf("asked %v", registry.Asked())
	}
	r := s.resolver(Pin)
	if v, left, err := s.tool(r, ""); v != "1.1.0" || left != nil || err != nil {
		t.Fatalf("%q, %v, %v", v, left, err)
	}
	s.settle(r)
	if pin := pins(s.hostLock, "package")["npm/@own/tool"]; len(pin) != 1 || pin["version"] != "1.1.0" {
		t.Errorf("pinned %v", pin)
	}

	registry.Publish("@own/tool", "2.0.0", "tool", "")
	s.install("1.0.0")
	for name, c := range map[string]struct {
		r    *Resolver
		want string
	}{
		"pinned":               {s.resolver(Pin, offline), "1.1.0"},
		"locked":               {s.resolver(Pin, locked), "1.1.0"},
		"looking":              {s.resolver(Look), "1.1.0"},
		"another is updated":   {s.resolver(Lock, update("claude")), "1.1.0"},
		"updated":              {s.resolver(Lock, update("@own/tool")), "2.0.0"}, // whatever is installed
		"all that is packages": {s.resolver(Lock, update("package")), "2.0.0"},
		"all":                  {s.resolver(Lock, update()), "2.0.0"},
	} {
		if v, left, err := s.tool(c.r, ""); v != c.want || left != nil || err != nil {
			t.Errorf("%s: %q, %v, %v; want %s", name, v, left, err, c.want)
		}
	}
	s.hostLock.Lock.Unpin(func(p reconcile.Pin) bool { return p.Kind != "package" })
	if v, _, err := s.tool(s.resolver(Pin, offline), ""); v != "1.0.0" || err != nil {
		t.Errorf("installed: %q, %v", v, err)
	}
	if v, _, err := s.tool(s.resolver(Pin), "2"); v != "2.0.0" || err != nil {
		t.Errorf("installed, and another series is asked for: %q, %v", v, err)
	}
}

func TestPackageOfARuntimeIsUpdatedByTheNameOfTheRuntime(t *testing.T) {
	s, _ := npmStage(t)
	s.own.Runtimes = []spec.Runtime{{ID: "mine", Packages: map[string]string{"npm": "@own/tool"}}}
	s.hostLock.Lock.SetPin(reconcile.Pin{Kind: "package", Name: "npm/@own/tool", Values: map[string]string{"version": "0.9.0"}})
	r := s.resolver(Lock, update("mine", "other"))
	if v, _, err := s.tool(r, ""); v != "1.1.0" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if res := s.settle(r); !slices.Equal(res.Unmatched, []string{"other"}) {
		t.Errorf("unmatched %q", res.Unmatched)
	}
}

func TestPackageOfASeriesIsPinnedWithinIt(t *testing.T) {
	s, _ := npmStage(t)
	r := s.resolver(Pin)
	if v, _, err := s.tool(r, "1.0"); v != "1.0.0" || err != nil {
		t.Fatalf("%q, %v", v, err)
	}
	s.settle(r)
	if pin := pins(s.hostLock, "package")["npm/@own/tool"]; pin["within"] != "1.0" {
		t.Errorf("pinned %v", pin)
	}
	if v, _, err := s.tool(s.resolver(Pin), "1"); v != "1.1.0" || err != nil {
		t.Errorf("another series: %q, %v", v, err)
	}
}

func TestPackageThatCannotBePinned(t *testing.T) {
	s, _ := npmStage(t)
	r := s.resolver(Pin, offline)
	v, left, err := s.tool(r, "")
	if v != "" || err != nil || !errors.Is(left, reconcile.ErrOffline) || left.Error() != "@own/tool is not pinned: network required (offline)" {
		t.Errorf("offline: %q, %v, %v", v, left, err)
	}
	if res := s.settle(r); len(res.LeftOut) != 1 || res.LeftOut[0] != (LeftOut{"package:npm/@own/tool", asking, left}) {
		t.Errorf("left out %+v", res.LeftOut)
	}
	if _, left, err := s.tool(s.resolver(Lock, offline), ""); left != nil || !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("lock offline: %v, %v", left, err)
	}
	_, _, err = s.tool(s.resolver(Pin, locked), "")
	wantError(t, err, NotPinned, "", "package npm/@own/tool is not pinned in aisync.lock")

	if _, left, err := s.resolver(Pin).Package(t.Context(), "npm", "@own/none", "", asking); left == nil || err != nil {
		t.Errorf("a package that is not there: %v, %v", left, err)
	}
	_, _, err = s.resolver(Lock).Package(t.Context(), "npm", "@own/none", "", asking)
	wantError(t, err, ManagerFailed, "", "@own/none")
}

// releases hands out one archive, at any path but /none.
func releases(t *testing.T) (url string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("an archive"))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestArchiveOfARelease(t *testing.T) {
	url, asked := releases(t)
	sum := sha([]byte("an archive"))
	pinned := map[string]string{"version": "b1", "url": url + "/a", "sha256": sum, "size": "10"}
	with := func(k, v string) map[string]string {
		out := map[string]string{}
		for key, value := range pinned {
			out[key] = value
		}
		out[k] = v
		return out
	}
	for _, c := range []struct {
		name   string
		pin    map[string]string
		mode   Mode
		set    func(*Resolver)
		sha    string // of the spec
		path   string // "" is /a
		asked  bool
		known  bool
		left   string
		fails  string
		reason Reason
		events []EventKind
	}{
		{name: "what comes first is trusted", mode: Pin, asked: true, known: true, events: []EventKind{FetchingArchive}},
		{name: "the digest of the spec", mode: Pin, sha: sum, asked: true, known: true},
		{name: "pinned", mode: Look, pin: pinned, known: true},
		{name: "pinned, another address", mode: Pin, pin: pinned, path: "/b", asked: true, known: true, events: []EventKind{FetchingArchive}},
		{name: "updated", mode: Lock, set: update("tool"), pin: pinned, asked: true, known: true, events: []EventKind{FetchingArchive}},
		{name: "looking", mode: Look},
		{name: "about others", mode: Pin, set: func(r *Resolver) { r.About = func(reconcile.Address) bool { return false } }},
		{name: "offline", mode: Pin, set: offline, left: "tool b1 is not pinned: network required (offline)"},
		{name: "lock offline", mode: Lock, set: offline, fails: "tool b1 is not pinned: network required (offline)"},
		{name: "locked", mode: Pin, set: locked, fails: "package release/tool, version b1 from " + url + "/a, is not pinned in aisync.lock", reason: NotPinned},
		{name: "not there", mode: Pin, path: "/none", asked: true, left: "404", events: []EventKind{FetchingArchive}},
		{name: "lock of one that is not there", mode: Lock, path: "/none", asked: true, fails: "404", events: []EventKind{FetchingArchive}},
		{name: "the spec says another digest", mode: Look, pin: pinned, sha: strings.Repeat("c", 64), fails: "tool: the spec says sha256 cccc", reason: Unfit},
		{name: "a damaged size", mode: Look, pin: with("size", "many"), fails: "the pin of package release/tool is damaged", reason: Unfit},
		{name: "a damaged digest", mode: Look, pin: with("sha256", "c"), fails: "the pin of package release/tool is damaged", reason: Unfit},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			asked.Store(0)
			if c.pin != nil {
				s.hostLock.Lock.SetPin(reconcile.Pin{Kind: "package", Name: "release/tool", Values: c.pin})
			}
			r := s.resolver(c.mode)
			if c.set != nil {
				c.set(r)
			}
			if c.path == "" {
				c.path = "/a"
			}
			a, left, err := r.Archive(t.Context(), "tool", "b1", packages.Archive{URL: url + c.path, SHA256: c.sha}, asking)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			if c.reason != 0 || strings.HasSuffix(c.fails, "aisync.lock") {
				wantError(t, err, c.reason, map[Reason]string{Unfit: "tool"}[c.reason], c.fails)
			}
			if c.left == "" && left != nil || c.left != "" && (left == nil || !strings.Contains(left.Error(), c.left)) {
				t.Errorf("left %v, want %q", left, c.left)
			}
			if (asked.Load() > 0) != c.asked {
				t.Errorf("asked %d times", asked.Load())
			}
			if got := s.kinds(); !slices.Equal(got, c.events) {
				t.Errorf("told %v", got)
			}
			if err == nil && (a.SHA256 == sum && a.Size == 10) != c.known {
				t.Errorf("archive %+v", a)
			}
			if !c.known || !c.asked {
				return
			}
			s.settle(r)
			if got := pins(s.hostLock, "package")["release/tool"]; got["sha256"] != sum || got["size"] != "10" || got["version"] != "b1" || got["url"] != url+c.path {
				t.Errorf("pinned %v", got)
			}
			if at := s.root + string(packages.ReleaseArchive(r.Cache.Dir, sum)); len(c.events) > 0 {
				if b, err := os.ReadFile(at); err != nil || string(b) != "an archive" {
					t.Errorf("in the cache is %q, %v", b, err)
				}
			}
		})
	}
}

func TestAnArchiveThatIsInTheCacheAlreadyIsKept(t *testing.T) {
	url, _ := releases(t)
	s := newStage(t)
	for range 2 {
		r := s.resolver(Pin)
		if _, left, err := r.Archive(t.Context(), "tool", "b1", packages.Archive{URL: url + "/a"}, asking); left != nil || err != nil {
			t.Fatal(left, err)
		}
	}
	dir := filepath.Dir(s.root + string(packages.ReleaseArchive("/home/me/.cache/aisync", "x")))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, %v", entries, err)
	}
}

func TestAnInterruptedArchiveIsNoLeftOut(t *testing.T) {
	url, _ := releases(t)
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.resolver(Pin)
	if _, left, err := r.Archive(ctx, "tool", "b1", packages.Archive{URL: url + "/a"}, asking); left != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", left, err)
	}
}
