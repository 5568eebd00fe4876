package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// quick is a client that notes its pauses instead of making them, and takes
// all of a small artifact as one chunk.
func quick(pauses *[]time.Duration) *Client {
	return New(Options{Stall: 5 * time.Second, Chunk: 16 << 20, Sleep: func(ctx context.Context, d time.Duration) error {
		if pauses != nil {
			*pauses = append(*pauses, d)
		}
		return ctx.Err()
	}})
}

// answer makes a server whose first n answers are a bare status.
func answer(n, status int, header ...string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, nth int) bool {
		if nth > n {
			return false
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

func TestOneSourceWithAFaultGivesTheRightBytesOrAnError(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	wrong := slices.Clone(data)
	wrong[300_000] ^= 1
	never := 1 << 30
	for name, c := range map[string]struct {
		server   *server
		requests int      // 0: not of interest
		fails    []string // words of the error; nil: success
	}{
		"honest":                       {server: &server{data: data, etag: `"a"`}, requests: 1},
		"drops every 100000 bytes":     {server: &server{data: data, etag: `"a"`, dropAfter: 100_000}, requests: 6},
		"drops, without any validator": {server: &server{data: data, dropAfter: 100_000}, requests: 6},
		"drops, with a weak validator": {server: &server{data: data, etag: `W/"a"`, dropAfter: 100_000}, requests: 6},
		"drops and knows no ranges":    {server: &server{data: data, noRange: true, dropAfter: 400_000}, fails: []string{"gave up", "bytes are kept", "run the same command again"}},
		"chunked":                      {server: &server{data: data, chunked: true}, requests: 1},
		"wrong bytes":                  {server: &server{data: wrong}, requests: 1, fails: []string{"sha256 mismatch", sum(data), sum(wrong), "try again later"}},
		"wrong bytes, put together":    {server: &server{data: wrong, dropAfter: 400_000, etag: `"a"`}, fails: []string{"sha256 mismatch"}},
		"shorter, and says so":         {server: &server{data: data[:500_000]}, requests: 1, fails: []string{"has 500000 bytes, but 600000 are pinned"}},
		"shorter, and does not say so": {server: &server{data: data[:500_000], chunked: true}, fails: []string{"has 500000 bytes, but 600000 are pinned"}},
		"longer, and says so":          {server: &server{data: append(slices.Clone(data), 1)}, requests: 1, fails: []string{"has 600001 bytes"}},
		"longer, its beginning right":  {server: &server{data: append(slices.Clone(data), 1), chunked: true}, requests: 1},
		"longer, its beginning wrong":  {server: &server{data: append([]byte{1}, data...), chunked: true}, requests: 1, fails: []string{"sha256 mismatch"}},
		"overloaded twice":             {server: &server{data: data, first: answer(2, 503)}, requests: 3},
		"overloaded for ever":          {server: &server{data: data, first: answer(never, 503)}, requests: 7, fails: []string{"gave up after 7 tries", "503"}},
		"asks for an hour":             {server: &server{data: data, first: answer(never, 429, "Retry-After", "3600")}, requests: 1, fails: []string{"asks for a retry in 1h0m0s"}},
		"not found":                    {server: &server{data: data, first: answer(never, 404)}, requests: 1, fails: []string{"404", "check the source"}},
		"gated":                        {server: &server{data: data, first: answer(never, 403)}, requests: 1, fails: []string{"403", "HF_TOKEN"}},
		"gzip although asked not to":   {server: &server{data: data, first: answer(never, 200, "Content-Encoding", "gzip")}, requests: 1, fails: []string{"gzip-encoded"}},
		"an answer without bytes":      {server: &server{data: data, first: answer(never, 204)}, requests: 1, fails: []string{"204"}},
		"unrequested partial content":  {server: &server{data: data, first: answer(never, 206)}, requests: 1, fails: []string{"206"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.server)
			fs, physical := disk(t, nil)
			err := quick(nil).Fetch(t.Context(), artifact(data, s.URL+"/f?sig=secret"), fs, part, nil)
			holds(t, err, physical, data)
			if c.fails != nil {
				contains(t, err, append(c.fails, "tiny", s.URL)...)
			} else if err != nil {
				t.Error(err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the query: %v", err)
			}
			if n := len(s.header("Range")); c.requests > 0 && n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

// broken interrupts the first answer after half of the file and judges the
// second request, which is the one with a Range, by itself.
func broken(data []byte, second func(w http.ResponseWriter, r *http.Request) bool) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.Write(data[:len(data)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return n == 2 && second(w, r)
	}
}

func TestBadRangeResponseNeverMixesContents(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	status := func(code int, contentRange string, body []byte) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.WriteHeader(code)
			w.Write(body)
			return true
		}
	}
	for name, c := range map[string]struct {
		second func(http.ResponseWriter, *http.Request) bool
		last   string   // Range of the last request
		fails  []string // nil: success
	}{
		"the whole again":       {status(200, "", data), "", nil},
		"another start":         {status(206, "bytes 0-599999/600000", data), "", nil},
		"no Content-Range":      {status(206, "", data[300_000:]), "", nil},
		"unknown total":         {status(206, "bytes 300000-599999/*", data[300_000:]), "", nil},
		"another total":         {status(206, "bytes 300000-599999/700000", data[300_000:]), "bytes=300000-599999", []string{"has 700000 bytes"}},
		"more than asked":       {status(206, "bytes 300000-600000/600001", data[300_000:]), "", nil},
		"less than asked":       {status(206, "bytes 300000-399999/600000", data[300_000:400_000]), "bytes=400000-599999", nil},
		"unsatisfiable":         {status(416, "bytes */600000", nil), "", nil},
		"unsatisfiable, longer": {status(416, "bytes */700000", nil), "bytes=300000-599999", []string{"has 700000 bytes"}},
		"a page of a portal":    {status(200, "", []byte("<html>please log in")), "bytes=300000-599999", []string{"has 19 bytes", "300000 of 600000 bytes are kept"}},
		"new content":           {func(w http.ResponseWriter, r *http.Request) bool { w.Header().Set("ETag", `"b"`); return false }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{data: data, etag: `"a"`, first: broken(data, c.second)})
			fs, physical := disk(t, nil)
			err := quick(nil).Fetch(t.Context(), artifact(data, s.URL), fs, part, nil)
			holds(t, err, physical, data)
			if c.fails != nil {
				contains(t, err, c.fails...)
			} else if err != nil {
				t.Error(err)
			}
			ranges, ifRange := s.header("Range"), s.header("If-Range")
			if got := ranges[len(ranges)-1]; got != c.last {
				t.Errorf("last Range %q, want %q of %q", got, c.last, ranges)
			}
			if ranges[1] != "bytes=300000-599999" || ifRange[1] != `"a"` {
				t.Errorf("second request: Range %q If-Range %q", ranges[1], ifRange[1])
			}
		})
	}
}

func TestPausesGrowAndHeedRetryAfter(t *testing.T) {
	data := noise(1000)
	s := serve(t, &server{data: data, first: func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n == 2 {
			w.Header().Set("Retry-After", "77")
		}
		if n < 5 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return n < 5
	}})
	var pauses []time.Duration
	fs, physical := disk(t, nil)
	err := quick(&pauses).Fetch(t.Context(), artifact(data, s.URL), fs, part, nil)
	holds(t, err, physical, data)
	for i, most := range []time.Duration{500 * time.Millisecond, 77 * time.Second, 2 * time.Second, 4 * time.Second} {
		if pauses[i] > most || pauses[i] < most/2 {
			t.Errorf("pause %d is %s, want %s to %s", i, pauses[i], most/2, most)
		}
	}
	if len(pauses) != 4 || pauses[1] != 77*time.Second {
		t.Errorf("pauses %v", pauses)
	}
}

func TestAStalledConnectionIsGivenUpAndContinued(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	s := serve(t, &server{data: data, etag: `"a"`, first: func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:200_000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}})
	fs, physical := disk(t, nil)
	c := New(Options{Stall: 100 * time.Millisecond})
	holds(t, c.Fetch(t.Context(), artifact(data, s.URL), fs, part, nil), physical, data)
	if r := s.header("Range"); len(r) < 2 || r[1] != "bytes=200000-599999" {
		t.Errorf("ranges %q", r)
	}
}

func TestTheNextSourceGoesOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	half := serve(t, &server{data: data, etag: `"x"`, first: broken(data, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusNotFound)
		return true
	})})
	rest := serve(t, &server{data: data, etag: `"y"`})
	fs, physical := disk(t, nil)
	holds(t, quick(nil).Fetch(t.Context(), artifact(data, "ftp://no/where", half.URL, rest.URL), fs, part, nil), physical, data)
	if r, ir := rest.header("Range"), rest.header("If-Range"); len(r) != 1 || r[0] != "bytes=300000-599999" || ir[0] != "" {
		t.Errorf("second source was asked for %q if %q", r, ir)
	}
}

func TestAWrongSourceIsFollowedByARightOne(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	wrong := serve(t, &server{data: noise(700_000)[100_000:]})
	right := serve(t, &server{data: data})
	fs, physical := disk(t, nil)
	err := quick(nil).Fetch(t.Context(), artifact(data, wrong.URL, right.URL), fs, part, nil)
	holds(t, err, physical, data)
	if err != nil {
		t.Error(err)
	}
}

func TestAllSourcesWrongLeavesNothingThatStopsTheNextRun(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	wrong := serve(t, &server{data: noise(700_000)[100_000:]})
	fs, physical := disk(t, nil)
	gone := serve(t, &server{first: answer(9, 404)})
	err := quick(nil).Fetch(t.Context(), artifact(data, wrong.URL, gone.URL), fs, part, nil)
	contains(t, err, sum(data), sum(wrong.data), wrong.URL, gone.URL, "none of 2 sources")
	if !errors.Is(err, ErrMismatch) {
		t.Errorf("%v is not ErrMismatch", err)
	}
	if _, err := os.Lstat(physical + ".journal"); err == nil {
		t.Error("the journal of nothing is still there")
	}
	if info, err := os.Stat(physical); err != nil || info.Size() != 0 {
		t.Errorf("part after wrong bytes: %v %v", info, err)
	}
	right := serve(t, &server{data: data})
	holds(t, quick(nil).Fetch(t.Context(), artifact(data, right.URL), fs, part, nil), physical, data)
}

func TestTheTokenGoesToTheEndpointAlone(t *testing.T) {
	data := noise(1000)
	content := serve(t, &server{data: data})
	hubServer := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, content.URL+"/blob", http.StatusFound)
		return true
	}})
	fs, physical := disk(t, nil)
	c := New(Options{Endpoint: hubServer.URL, Token: "hf_secret"})
	holds(t, c.Fetch(t.Context(), artifact(data, hubServer.URL+"/f"), fs, part, nil), physical, data)
	if got := hubServer.header("Authorization"); got[0] != "Bearer hf_secret" {
		t.Errorf("the endpoint saw %q", got)
	}
	if got := content.header("Authorization"); len(got) != 1 || got[0] != "" {
		t.Errorf("the content's host saw %q", got)
	}
	if got := content.header("Accept-Encoding"); got[0] != "identity" {
		t.Errorf("Accept-Encoding %q", got)
	}
}

func TestNothingIsAskedOfOtherSourcesWhenTheDiskFails(t *testing.T) {
	data := noise(1000)
	s := serve(t, &server{data: data})
	full := func(op fsys.Op) error {
		if op.Name == "write" {
			return syscall.ENOSPC
		}
		return nil
	}
	fs, physical := disk(t, full)
	err := quick(nil).Fetch(t.Context(), artifact(data, s.URL, s.URL), fs, part, nil)
	holds(t, err, physical, data)
	if !errors.Is(err, syscall.ENOSPC) || len(s.header("Range")) != 0 {
		t.Errorf("%v after %d requests", err, len(s.header("Range")))
	}
}

func TestAnArtifactThatCannotBeVerifiedIsRefused(t *testing.T) {
	good := artifact(noise(10), "/nowhere")
	for _, change := range []func(*Artifact){
		func(a *Artifact) { a.SHA256 = "abc" }, func(a *Artifact) { a.SHA256 = "sha256:" + a.SHA256 },
		func(a *Artifact) { a.Size = 0 }, func(a *Artifact) { a.Sources = nil },
	} {
		a := good
		change(&a)
		fs, physical := disk(t, nil)
		if err := quick(nil).Fetch(t.Context(), a, fs, part, nil); err == nil {
			t.Errorf("%+v was fetched", a)
		}
		if _, err := os.Lstat(physical); err == nil {
			t.Error("a part was made")
		}
	}
}

func TestOnlyGivenDialerDials(t *testing.T) {
	refused := errors.New("no dialing here")
	var dialed []string
	c := New(Options{Retries: 1, Sleep: func(context.Context, time.Duration) error { return nil },
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialed = append(dialed, addr)
			return nil, refused
		}})
	fs, _ := disk(t, nil)
	err := c.Fetch(t.Context(), artifact(noise(10), "http://192.0.2.1/f"), fs, part, nil)
	if !errors.Is(err, refused) || len(dialed) != 2 {
		t.Errorf("%v; dialed %q", err, dialed)
	}
}

func TestOfflineRefusesAndTouchesNothing(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("dialed") }))
	defer s.Close()
	fs, physical := disk(t, nil)
	var f Fetcher = Offline{}
	err := f.Fetch(t.Context(), artifact(noise(10), s.URL), fs, part, nil)
	contains(t, err, "tiny", "network required (offline)")
	tree := f.Tree(t.Context(), "git::https://me:secret@host/r.git?ref=v1", physical)
	contains(t, tree, "git::https://host/r.git")
	if !errors.Is(err, ErrOffline) || !errors.Is(tree, ErrOffline) || strings.Contains(tree.Error(), "secret") {
		t.Errorf("%v; %v", err, tree)
	}
	if _, err := os.Lstat(physical); err == nil {
		t.Error("offline made a file")
	}
}

func TestRetryIsCalledBeforePause(t *testing.T) {
	data := noise(1000)
	s := serve(t, &server{data: data, first: answer(2, 503)})
	fs, _ := disk(t, nil)
	var said []string
	c := New(Options{
		Sleep: func(context.Context, time.Duration) error { said = append(said, "slept"); return nil },
		Retry: func(name string, why error, pause time.Duration, next, tries int) {
			if pause <= 0 {
				t.Errorf("a pause of %s", pause)
			}
			said = append(said, fmt.Sprintf("%s: %v (%d of %d)", name, why, next, tries))
		},
	})
	if err := c.Fetch(t.Context(), artifact(data, s.URL+"/f"), fs, part, nil); err != nil {
		t.Fatal(err)
	}
	busy := "tiny: answered 503 Service Unavailable"
	if want := []string{busy + " (2 of 7)", "slept", busy + " (3 of 7)", "slept"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
