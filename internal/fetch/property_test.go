package fetch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	hostileSize  = 300_000
	hostileChunk = 32 << 10
)

// fault is one way for a server to misbehave: it answers a request wrongly, or
// returns false and leaves it to the next.
type fault struct {
	name   string
	answer func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool
}

// faults are all that are known. body is what was asked for, of what the
// server has; it lies at [from, to).
var faults = []fault{
	{"drops in the middle", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		h.head(w, r, from, to)
		w.Write(body[:h.below(len(body))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}},
	{"knows no ranges", func(h *hostile, w http.ResponseWriter, r *http.Request, _ []byte, _, _ int) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(h.data)))
		w.Write(h.data)
		return true
	}},
	{"knows no ranges and drops", func(h *hostile, w http.ResponseWriter, r *http.Request, _ []byte, _, _ int) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(h.data)))
		w.Write(h.data[:h.below(len(h.data))])
		panic(http.ErrAbortHandler)
	}},
	{"answers another range", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from+1, to, len(h.data)+1))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(body)
		return true
	}},
	{"answers the beginning", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", to-from-1, len(h.data)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(h.data[:to-from])
		return true
	}},
	{"says no range", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, _, _ int) bool {
		w.WriteHeader(http.StatusPartialContent)
		w.Write(body)
		return true
	}},
	{"says another total", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(h.data)+7))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(body)
		return true
	}},
	{"sends less than it was asked", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		to = from + 1 + h.below(to-from)
		h.head(w, r, from, to)
		w.Write(body[:to-from])
		return true
	}},
	{"sends more than it said", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(h.data)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(append(slices.Clone(body), "and more"...))
		return true
	}},
	{"answers 416", status(http.StatusRequestedRangeNotSatisfiable)},
	{"answers 401", status(http.StatusUnauthorized)},
	{"answers 403", status(http.StatusForbidden)},
	{"answers 404", status(http.StatusNotFound)},
	{"answers 429", status(http.StatusTooManyRequests, "Retry-After", "2")},
	{"answers 500", status(http.StatusInternalServerError)},
	{"answers 503 for an hour", status(http.StatusServiceUnavailable, "Retry-After", "3600")},
	{"compresses", status(http.StatusPartialContent, "Content-Encoding", "gzip")},
	{"redirects in a circle", func(h *hostile, w http.ResponseWriter, r *http.Request, _ []byte, _, _ int) bool {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
		return true
	}},
	{"changes its validator", func(h *hostile, w http.ResponseWriter, r *http.Request, _ []byte, _, _ int) bool {
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, h.below(1000)))
		return false
	}},
	{"lies", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		wrong := slices.Clone(body)
		wrong[h.below(len(wrong))] ^= 0x10
		h.head(w, r, from, to)
		w.Write(wrong)
		return true
	}},
	{"stalls", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		h.head(w, r, from, to)
		w.Write(body[:h.below(len(body))])
		w.(http.Flusher).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	}},
	{"trickles", func(h *hostile, w http.ResponseWriter, r *http.Request, body []byte, from, to int) bool {
		h.head(w, r, from, to)
		for b := range slices.Chunk(body, 8<<10) {
			w.Write(b)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
		return true
	}},
}

func status(code int, header ...string) func(*hostile, http.ResponseWriter, *http.Request, []byte, int, int) bool {
	return func(_ *hostile, w http.ResponseWriter, _ *http.Request, _ []byte, _, _ int) bool {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		return true
	}
}

// hostile is a server with some of the faults, each of which strikes with a
// chance of its own until mend is called. Where expire is not 0, its address
// redirects to one that is good for so many requests.
type hostile struct {
	data   []byte
	expire int

	mu      sync.Mutex
	random  *rand.Rand
	faults  []fault
	chances []float64
	signed  int
	left    int
}

func (h *hostile) below(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(max(1, n))
}

func (h *hostile) mend() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = nil
}

// struck chooses the faults that one request meets.
func (h *hostile) struck() []fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	var met []fault
	for i, f := range h.faults {
		if h.random.Float64() < h.chances[i] {
			met = append(met, f)
		}
	}
	return met
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.expire > 0 && !h.admitted(w, r) {
		return
	}
	from, to := 0, len(h.data)
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil {
		to = min(to+1, len(h.data))
	}
	body := h.data[from:to]
	w.Header().Set("ETag", `"h"`)
	for _, f := range h.struck() {
		if f.answer(h, w, r, body, from, to) {
			return
		}
	}
	h.head(w, r, from, to)
	w.Write(body)
}

// admitted redirects to an address of the moment, and refuses those of the past.
func (h *hostile) admitted(w http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	sig := r.URL.Query().Get("sig")
	if sig == "" {
		h.signed, h.left = h.signed+1, h.expire
		http.Redirect(w, r, fmt.Sprintf("/blob?sig=%d", h.signed), http.StatusFound)
		return false
	}
	if sig != fmt.Sprint(h.signed) || h.left == 0 {
		w.WriteHeader(http.StatusForbidden)
		return false
	}
	h.left--
	return true
}

// head writes an honest head for [from, to).
func (h *hostile) head(w http.ResponseWriter, r *http.Request, from, to int) {
	w.Header().Set("Content-Length", fmt.Sprint(to-from))
	if r.Header.Get("Range") == "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(h.data)))
	w.WriteHeader(http.StatusPartialContent)
}

// property runs one case: whatever the sources do, Fetch says that it succeeded
// if and only if the part is right, and once they are mended it succeeds.
func property(t *testing.T, sources ...*hostile) {
	t.Helper()
	c := New(Options{Stall: 60 * time.Millisecond, Chunk: hostileChunk, JournalBytes: 64 << 10, Retries: 3,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	c.patience = 0
	a := artifact(noise(hostileSize))
	for _, h := range sources {
		a.Sources = append(a.Sources, listen(t, h)+"/f")
	}
	store, physical := disk(t, nil)
	data := noise(hostileSize)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Fetch(ctx, a, store, part, nil)
	holds(t, err, physical, data)
	if ctx.Err() != nil {
		t.Errorf("it did not end: %v", err)
	}
	if err == nil {
		must(t, os.Remove(physical))
	}
	for _, h := range sources {
		h.mend()
	}
	patient := New(Options{Stall: 20 * time.Second, Chunk: hostileChunk, JournalBytes: 64 << 10}) // a busy machine is no fault
	after := patient.Fetch(t.Context(), a, store, part, nil)
	holds(t, after, physical, data)
	if after != nil {
		t.Errorf("after %v, with the fault gone: %v", err, after)
	}
}

func TestWithAnyFaultSuccessMeansTheRightBytesAndTheNextRunRecovers(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		for _, chance := range []float64{0.3, 1} {
			t.Run(fmt.Sprintf("%s, %.0f%%", f.name, chance*100), func(t *testing.T) {
				t.Parallel()
				property(t, &hostile{data: noise(hostileSize), random: rand.New(rand.NewPCG(1, 1)), faults: []fault{f}, chances: []float64{chance}})
			})
		}
	}
}

func TestWithAnyFaultsTogetherSuccessMeansTheRightBytesAndTheNextRunRecovers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		var sources []*hostile
		name := fmt.Sprintf("seed %d", seed)
		for range 1 + random.IntN(2) {
			h := &hostile{data: noise(hostileSize), random: rand.New(rand.NewPCG(seed, 3)), expire: []int{0, 0, 2, 5}[random.IntN(4)]}
			var names []string
			for range 1 + random.IntN(3) {
				f := faults[random.IntN(len(faults))]
				h.faults, h.chances = append(h.faults, f), append(h.chances, 0.05+0.9*random.Float64())
				names = append(names, f.name)
			}
			name += "; " + strings.Join(names, ", ")
			sources = append(sources, h)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			property(t, sources...)
		})
	}
}
