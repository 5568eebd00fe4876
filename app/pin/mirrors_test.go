package pin

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/internal/fetch/ocitest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Mirrors come behind files of this machine and what a person named, before all else.
func TestMirrorsComeBeforeOtherServers(t *testing.T) {
	sha256 := "AB" + strings.Repeat("0", 62)
	low := strings.ToLower(sha256)
	n := &Network{Mirrors: []string{"oci://r:5000/house/models", "https://files/models/", "peer://den:4873"}, Named: "https://named/"}
	mine := []string{"oci://r:5000/house/models@sha256:" + low, "https://files/models/sha256/ab/" + low, "peer://den:4873"}
	for _, c := range []struct{ sources, want []string }{
		{[]string{"hf://a/b@c/d"}, slices.Concat(mine, []string{"hf://a/b@c/d"})},
		{[]string{"/models/a", "hf://a/b@c/d"}, slices.Concat([]string{"/models/a"}, mine, []string{"hf://a/b@c/d"})},
		{[]string{"https://named/d", "hf://a/b@c/d"}, slices.Concat([]string{"https://named/d"}, mine, []string{"hf://a/b@c/d"})},
		{[]string{"/models/a"}, slices.Concat([]string{"/models/a"}, mine)},
	} {
		all, of := n.mirrored(c.sources, sha256)
		if !slices.Equal(all, c.want) || of[mine[1]] != n.Mirrors[1] {
			t.Errorf("%q: %q, %v", c.sources, all, of)
		}
	}
	if all, of := n.mirrored([]string{"https://x/y"}, ""); len(all) != 1 || of != nil {
		t.Errorf("what is not pinned: %q", all)
	}
}

// What a mirror says of itself: that it answers, what it has, that a login is missing.
func TestAMirrorIsAskedForWhatIsPinned(t *testing.T) {
	registry := ocitest.New()
	t.Cleanup(registry.Close)
	data := []byte("a file")
	registry.Push("house/models:a", ocitest.Layer{Title: "a.gguf", Data: data})
	n := &Network{Getenv: func(string) string { return "" }}
	mirror := "oci://" + registry.Host + "/house/models"
	files := map[string]int64{strings.TrimPrefix(fsys.Digest(data), "sha256:"): int64(len(data)), strings.Repeat("0", 64): 5}
	if s := n.AskMirror(t.Context(), mirror, files); s.Err != nil || s.Has != 1 || s.Asked != 2 {
		t.Errorf("%+v", s)
	}
	registry.Break(ocitest.Denies)
	if s := n.AskMirror(t.Context(), mirror, files); !s.Denied || s.Host != registry.Host {
		t.Errorf("%+v", s)
	}
	registry.Close()
	for _, m := range []string{mirror, "http://" + registry.Host, "peer://" + registry.Host} {
		if s := n.AskMirror(t.Context(), m, files); s.Err == nil || s.Denied {
			t.Errorf("%s is gone: %+v", m, s)
		}
	}
}

// The hub is not asked while a mirror answers.
func TestTheHubIsNotAskedWhileAMirrorAnswers(t *testing.T) {
	s := newStage(t)
	data := tiny(t, 0)
	sum := strings.TrimPrefix(fsys.Digest(data), "sha256:")
	commit := s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: data})
	registry := ocitest.New()
	t.Cleanup(registry.Close)
	registry.Push("house/models:m", ocitest.Layer{Title: "m.gguf", Data: data})
	served := ""
	n := &Network{
		Getenv: func(k string) string { return s.env[k] }, Home: s.root + home,
		Mirrors: []string{"oci://" + registry.Host + "/house/models"}, Served: func(_, mirror string) { served = mirror },
	}
	sources := []string{"hf://me/m@" + commit + "/m.gguf"}
	must(t, n.Reacher()(t.Context(), "m.gguf", sources, int64(len(data)), sum))
	from, err := n.Fetcher().Fetch(t.Context(), s.disk, "m.gguf", sources, int64(len(data)), sum, home+"/part", nil)
	must(t, err)
	if from != n.Mirrors[0] || served != n.Mirrors[0] || len(s.hub.Requests()) != 0 {
		t.Errorf("from %s, served by %s, %d requests to the hub", from, served, len(s.hub.Requests()))
	}
}

// A registry that does not answer is asked for the first source, and not for the next.
func TestASilentMirrorIsAskedForOneSource(t *testing.T) {
	registry := ocitest.New()
	mirror := "oci://" + registry.Host + "/house/models"
	registry.Close()
	left := 0
	n := &Network{Getenv: func(string) string { return "" }, Mirrors: []string{mirror}, Left: func(string, string, error) { left++ }}
	pin := reconcile.Pin{Values: map[string]string{"commit": strings.Repeat("a", 40), "tree": "sha256:" + strings.Repeat("0", 64)}}
	for range 2 {
		if n.fromMirror(t.Context(), "rules", "git::https://example.org/r?ref="+pin.Values["commit"], pin, filepath.Join(t.TempDir(), "tree")) {
			t.Error("it served")
		}
	}
	if left != 1 {
		t.Errorf("it was asked %d times", left)
	}
}
