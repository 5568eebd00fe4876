package fetch

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/hubtest"
)

// Through the whole of it: the endpoint, its redirect with an address that
// expires, the content host, and each fault of either; sometimes, and always.
func TestWithAnyFaultOfAHubSuccessMeansTheRightBytesAndTheNextRunRecovers(t *testing.T) {
	t.Parallel()
	data := noise(hostileSize)
	for _, f := range hubtest.Faults(hostileSize) {
		for _, times := range []int{2, 0} {
			for _, scheme := range []string{"hf", "https"} {
				f := f
				f.Times = times
				if f.Throttle > 0 {
					f.Throttle = 4 << 20
				}
				t.Run(fmt.Sprintf("%s, %d times, by %s", f.Name, times, scheme), func(t *testing.T) {
					t.Parallel()
					hubProperty(t, data, f, scheme)
				})
			}
		}
	}
}

func hubProperty(t *testing.T, data []byte, f hubtest.Fault, scheme string) {
	h := hubtest.New(t)
	h.ExpireAfter(3)
	commit := h.Add("me/tiny", hubtest.File{Path: "tiny.gguf", Data: data})
	h.Gate("me/tiny", "hf_token", true)
	client := func(stall time.Duration) *Client {
		c := New(Options{Endpoint: h.URL, Token: "hf_token", Stall: stall, Chunk: hostileChunk, JournalBytes: 64 << 10, Retries: 3,
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
		if stall < time.Second {
			c.patience = 0
		}
		c.Resolve("hf", hub.Client{HTTP: c.HTTP(), Endpoint: h.URL}.Locate)
		return c
	}
	a := artifact(data, hub.Source("me/tiny", commit, "tiny.gguf"))
	if scheme != "hf" {
		at, err := hub.URL(h.URL, "me/tiny", commit, "tiny.gguf")
		must(t, err)
		a.Sources = []string{at}
	}
	store, physical := disk(t, nil)
	h.Break(f)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := client(60*time.Millisecond).Fetch(ctx, a, store, part, nil)
	holds(t, err, physical, data)
	if ctx.Err() != nil {
		t.Errorf("it did not end: %v", err)
	}
	if err == nil {
		must(t, os.Remove(physical))
	} else if told := h.Told(err.Error()); len(told) > 0 {
		t.Errorf("the error tells %q: %v", told, err)
	}
	h.Mend()
	after := client(20*time.Second).Fetch( // a busy machine is no fault
		t.Context(), a, store, part, nil)
	holds(t, after, physical, data)
	if after != nil {
		t.Errorf("after %v, with the fault gone: %v", err, after)
	}
	if leaks := h.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks: %q", leaks)
	}
}
