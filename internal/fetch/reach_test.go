package fetch

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/hubtest"
)

func TestReachTellsWhoCouldServeAndWhyTheOthersCannot(t *testing.T) {
	t.Parallel()
	data := noise(5000)
	answers := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL + "/f"
	}
	good := serve(t, &server{data: data}).URL + "/f"
	other := serve(t, &server{data: data[1:]}).URL + "/f"
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	refuses := "http://" + closed.Addr().String() + "/f"
	must(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	local := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(local, data, 0o644))
	h := hubtest.New(t)
	commit := h.Add("me/tiny", hubtest.File{Path: "tiny.gguf", Data: data})
	hf := hub.Source("me/tiny", commit, "tiny.gguf")
	h.Add("me/gated", hubtest.File{Path: "tiny.gguf", Data: data})
	h.Gate("me/gated", "hf_secret", true)

	for name, c := range map[string]struct {
		sources []string
		says    []string // nil: it can be had
	}{
		"there":             {[]string{good}, nil},
		"the second":        {[]string{refuses, answers(404), good}, nil},
		"a file":            {[]string{local}, nil},
		"no file":           {[]string{local + "x"}, []string{"no such file"}},
		"hub":               {[]string{hf}, nil},
		"gated":             {[]string{hub.Source("me/gated", commit, "tiny.gguf")}, []string{"gated", "HF_TOKEN"}},
		"busy":              {[]string{answers(503)}, nil},
		"no listener":       {[]string{refuses}, []string{"connection refused"}},
		"silent":            {[]string{"http://" + silent.Addr().String() + "/f"}, []string{"no byte arrived"}},
		"gone":              {[]string{answers(404), answers(410)}, []string{"404", "410"}},
		"denied":            {[]string{answers(403)}, []string{"403"}},
		"of another length": {[]string{other}, []string{"4999 bytes, but 5000 are pinned"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c0 := New(Options{Endpoint: h.URL, Stall: 100 * time.Millisecond})
			c0.Resolve("hf", hub.Client{HTTP: c0.HTTP(), Endpoint: h.URL}.Locate)
			err := c0.Reach(t.Context(), artifact(data, c.sources...))
			if (err == nil) != (c.says == nil) {
				t.Fatalf("got %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// What cannot pass is not tried for long: a person waits for the answer.
func TestPermanentFailuresEndSoon(t *testing.T) {
	t.Parallel()
	data := noise(5000)
	for _, f := range []hubtest.Fault{{Status: 404}, {Status: 410}, {Status: 403}, {ResolveStatus: 404}, {ResolveStatus: 410}, {ResolveStatus: 403}} {
		h := hubtest.New(t)
		commit := h.Add("me/tiny", hubtest.File{Path: "tiny.gguf", Data: data})
		h.Break(f)
		c := New(Options{Endpoint: h.URL})
		c.Resolve("hf", hub.Client{HTTP: c.HTTP(), Endpoint: h.URL}.Locate)
		store, _ := disk(t, nil)
		began := time.Now()
		err := c.Fetch(t.Context(), artifact(data, hub.Source("me/tiny", commit, "tiny.gguf")), store, part, nil)
		if took := time.Since(began); err == nil || took > 20*time.Second {
			t.Errorf("%+v: %v after %s", f, err, took)
		}
	}
}

// A part is longer than what is kept of it, as several ranges came at a time.
func TestKept(t *testing.T) {
	t.Parallel()
	data := noise(400_000)
	h := hubtest.New(t)
	commit := h.Add("me/tiny", hubtest.File{Path: "tiny.gguf", Data: data})
	h.Break(hubtest.Fault{DropAt: 10_000})
	client := func() *Client {
		c := New(Options{Endpoint: h.URL, Chunk: 64 << 10, Retries: 1, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
		c.Resolve("hf", hub.Client{HTTP: c.HTTP(), Endpoint: h.URL}.Locate)
		return c
	}
	store, _ := disk(t, nil)
	if n, ok := Kept(store, part); ok || n != 0 {
		t.Errorf("before: %d, %v", n, ok)
	}
	a := artifact(data, hub.Source("me/tiny", commit, "tiny.gguf"))
	err := client().Fetch(t.Context(), a, store, part, nil)
	kept, ok := Kept(store, part)
	if err == nil || !ok || kept <= 0 || kept >= a.Size {
		t.Fatalf("kept %d, %v after %v", kept, ok, err)
	}
	h.Mend()
	before := h.Sent()
	must(t, client().Fetch(t.Context(), a, store, part, nil))
	if sent := h.Sent() - before; sent != a.Size-kept {
		t.Errorf("%d bytes were fetched, %d were kept of %d", sent, kept, a.Size)
	}
	if _, ok := Kept(store, part); ok {
		t.Error("a whole part has a journal")
	}
}
