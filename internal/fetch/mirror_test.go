package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// A mirror with a fault costs two tries at most: the next source takes over with the
// bytes that are right, and the fault is named.
func TestTheNextSourceTakesOverFromAMirror(t *testing.T) {
	data := noise(4 << 20)
	other := slices.Clone(data)
	other[1<<20] ^= 1
	half := int64(len(data)) / 2
	for name, c := range map[string]struct {
		mirror *server // nil: nothing listens there
		said   string
		hub    int64 // bytes that it may have to send
	}{
		"absent":          {nil, "connection refused", int64(len(data))},
		"silent":          {&server{data: data, first: silence}, "no byte arrived for 200ms", int64(len(data))},
		"trickles":        {&server{data: data, first: trickle(data)}, "too slow", int64(len(data))},
		"refuses":         {&server{data: data, first: answer(99, http.StatusForbidden)}, "403 Forbidden", int64(len(data))},
		"wrong token":     {&server{data: data, first: answer(99, http.StatusUnauthorized)}, "401 Unauthorized", int64(len(data))},
		"lacks it":        {&server{data: data, first: answer(99, http.StatusNotFound)}, "404 Not Found", int64(len(data))},
		"busy for long":   {&server{data: data, first: answer(99, http.StatusServiceUnavailable, "Retry-After", "60")}, "503 Service Unavailable", int64(len(data))},
		"another length":  {&server{data: data[:half]}, "bytes, but 4194304 are pinned", int64(len(data))},
		"wrong bytes":     {&server{data: other}, "sha256 mismatch", int64(len(data))},
		"dies half-way":   {&server{data: data, first: dieAfter(half)}, "gave up after 2 tries", half + 1<<20},
		"wrong, and dies": {&server{data: other, first: dieAfter(half)}, "all were thrown away", 2 * int64(len(data))},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := "http://" + closedPort(t) + "/sha256/x"
			if c.mirror != nil {
				mirror = serve(t, c.mirror).URL
			}
			hub := serve(t, &server{data: data})
			var pauses []time.Duration
			client := New(Options{Chunk: 256 << 10, Stall: 200 * time.Millisecond, Sleep: func(_ context.Context, d time.Duration) error {
				pauses = append(pauses, d)
				return nil
			}, Connections: 1})
			client.crawl = slowness{over: 100 * time.Millisecond, rate: 256 << 10}
			disk, physical := disk(t, nil)
			a := artifact(data, mirror, hub.URL)
			var said []string
			served := ""
			a.Mirrors, a.Tried = []string{mirror}, func(source string, failed error) {
				if failed == nil {
					served = source
				} else {
					said = append(said, failed.Error())
				}
			}
			err := client.Fetch(t.Context(), a, disk, part, nil)
			holds(t, err, physical, data)
			if err != nil {
				t.Fatal(err)
			}
			if served != hub.URL || !strings.Contains(strings.Join(said, "\n"), c.said) {
				t.Errorf("served by %s; said %q, want %q", served, said, c.said)
			}
			hub.Close() // ends what it writes
			if hub.sent > c.hub {
				t.Errorf("the hub sent %d bytes, want %d at most", hub.sent, c.hub)
			}
			if len(pauses) > 3 {
				t.Errorf("waited %d times: %s", len(pauses), pauses)
			}
		})
	}
}

// A mirror that did not answer is asked last for the next file; one that answered is
// not.
func TestASilentMirrorIsAskedLast(t *testing.T) {
	data := noise(1 << 20)
	hub, mirror := serve(t, &server{data: data}), serve(t, &server{data: data, first: silence})
	client := New(Options{Stall: 100 * time.Millisecond, Sleep: func(context.Context, time.Duration) error { return nil }})
	for i := range 3 {
		disk := diskAt(t, t.TempDir(), "one", nil)
		a := artifact(data, mirror.URL+fmt.Sprint("/", i), hub.URL)
		a.Mirrors = a.Sources[:1]
		if err := client.Fetch(t.Context(), a, disk, part, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(mirror.header("Range")); n != 2 {
		t.Errorf("the mirror was asked %d times, want 2", n)
	}
}

// silence answers nothing until the client leaves.
func silence(_ http.ResponseWriter, r *http.Request, _ int) bool {
	<-r.Context().Done()
	return true
}

// trickle answers with a byte of data now and then.
func trickle(data []byte) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, _ int) bool {
		var from, to int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
		w.WriteHeader(http.StatusPartialContent)
		for ; r.Context().Err() == nil; from++ {
			w.Write(data[from : from+1])
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
}

// dieAfter lets a server answer what lies before half, and then nobody.
func dieAfter(half int64) func(http.ResponseWriter, *http.Request, int) bool {
	return func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil && from >= half {
			panic(http.ErrAbortHandler)
		}
		return false
	}
}

// closedPort is an address of this machine at which nothing listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}
