package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// many is a client that fetches in chunks of 64 KiB over four connections, and
// does not pause.
func many(change ...func(*Options)) *Client {
	o := Options{Stall: 5 * time.Second, Chunk: 64 << 10, Connections: 4,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	for _, c := range change {
		c(&o)
	}
	c := New(o)
	c.patience = 0        // all at once, however quick the source
	c.handing = time.Hour // a busy machine makes no second requests
	return c
}

func TestASourceGetsMoreConnectionsOnlyWhereOneLeavesTheHashIdle(t *testing.T) {
	t.Parallel()
	data := noise(9*64<<10 + 5)
	for name, c := range map[string]struct {
		connections int
		patience    time.Duration
		want        int64 // requests at a time, which each but the first waits for
	}{
		"idle":                {4, 5 * time.Millisecond, 4},
		"idle, step by step":  {0, 5 * time.Millisecond, 2},
		"busy":                {4, time.Hour, 1}, // before it is known
		"busy, with no limit": {0, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			honest := &server{data: data}
			var mu sync.Mutex
			var all, now, most int64
			var once sync.Once
			enough := make(chan struct{})
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				all, now = all+1, now+1
				if most = max(most, now); most == c.want && all > 1 {
					once.Do(func() { close(enough) })
				}
				first := all == 1
				mu.Unlock()
				if !first {
					<-enough
				}
				honest.ServeHTTP(w, r)
				mu.Lock()
				now--
				mu.Unlock()
			}))
			client := many(func(o *Options) { o.Connections = c.connections })
			client.patience = c.patience
			store, physical := disk(t, nil)
			err := client.Fetch(t.Context(), artifact(data, url), store, part, nil)
			must(t, err)
			holds(t, err, physical, data)
			if further := c.connections == 0 && c.want > 1; most < c.want || most > c.want && !further {
				t.Errorf("%d requests at a time, want %d", most, c.want)
			}
		})
	}
}

// Each answer waits until as many others have begun: with fewer connections
// the test would never end.
func TestRangesAreFetchedOverAllConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	data := noise(8*64<<10 + 5)
	var begun sync.WaitGroup
	begun.Add(4)
	s := serve(t, &server{data: data, etag: `"a"`})
	s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 4 {
			return false
		}
		w.Header().Set("Content-Range", fmt.Sprintf("%s/%d", strings.Replace(r.Header.Get("Range"), "=", " ", 1), len(data)))
		w.WriteHeader(http.StatusPartialContent)
		w.(http.Flusher).Flush()
		begun.Done()
		begun.Wait()
		var from, to int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
		w.Write(data[from : to+1])
		return true
	}
	store, physical := disk(t, nil)
	err := many().Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	got := s.header("Range")
	slices.Sort(got)
	var want []string
	for from := 0; from < len(data); from += 64 << 10 {
		want = append(want, fmt.Sprintf("bytes=%d-%d", from, min(from+64<<10, len(data))-1))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ranges %q, want each chunk once: %q", got, want)
	}
}

func TestChunksBeyondOneThatIsMissingAreKept(t *testing.T) {
	t.Parallel()
	data := noise(8 * 64 << 10)
	s := serve(t, &server{data: data, etag: `"a"`})
	s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", 64<<10-1, len(data)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(data[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	store, physical := disk(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var tick sync.Mutex
	clock := time.Unix(0, 0)
	c := many(func(o *Options) {
		o.Now = func() time.Time {
			tick.Lock()
			defer tick.Unlock()
			clock = clock.Add(time.Second)
			return clock
		}
	})
	err := c.Fetch(ctx, artifact(data, s.URL), store, part, func(done, _ int64) {
		if done == int64(len(data)-64<<10+1000) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := len(s.header("Range"))
	err = many().Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if got := s.header("Range")[before:]; len(got) != 1 || got[0] != "bytes=1000-65535" {
		t.Errorf("the second run asked for %q", got)
	}
}

func TestASourceWithoutRangesIsTakenAsOneStreamAndLast(t *testing.T) {
	t.Parallel()
	data := noise(900_000)
	whole := serve(t, &server{data: data, noRange: true})
	store, physical := disk(t, nil)
	err := many().Fetch(t.Context(), artifact(data, whole.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if got := whole.header("Range"); len(got) != 1 {
		t.Errorf("from zero, it was asked for %q", got)
	}

	// It begins to answer ranges with the whole after the first: another source
	// goes on, and nothing is fetched twice.
	flaky := serve(t, &server{data: data})
	flaky.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
		flaky.noRange = n > 1
		return false
	}
	rest := serve(t, &server{data: data})
	store, physical = disk(t, nil)
	err = many(func(o *Options) { o.Connections = 1 }).Fetch(t.Context(), artifact(data, flaky.URL, rest.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if got := rest.header("Range"); len(got) == 0 || got[0] != "bytes=65536-131071" || len(flaky.header("Range")) != 2 {
		t.Errorf("%q, then %q", flaky.header("Range"), got)
	}
}

func TestAResolverThatFailsIsHeededAndBounded(t *testing.T) {
	t.Parallel()
	data := noise(100)
	denied := serve(t, &server{first: answer(1<<30, 403)})
	for name, c := range map[string]struct {
		err   error
		calls int
		words []string
	}{
		"for good":     {errors.New("gated: accept its terms"), 1, []string{"gated", "hf://me/tiny"}},
		"for now":      {later{errors.New("too many")}, 7, []string{"too many", "gave up after 7 tries"}},
		"always stale": {nil, 3, []string{"403", "HF_TOKEN", "gave up after 3 tries"}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			cl := many()
			cl.Resolve("hf", func(context.Context, string, int64, string) (string, http.Header, error) {
				calls++
				return denied.URL + "/f?sig=secret", nil, c.err
			})
			store, _ := disk(t, nil)
			err := cl.Fetch(t.Context(), artifact(data, "hf://me/tiny/f"), store, part, nil)
			contains(t, err, c.words...)
			if calls != c.calls || strings.Contains(err.Error(), "secret") {
				t.Errorf("%d calls, want %d; %v", calls, c.calls, err)
			}
		})
	}
}

type later struct{ error }

func (later) RetryAfter() time.Duration { return 3 * time.Second }

func TestHeadersOfAResolverGoToItsOriginAlone(t *testing.T) {
	data := noise(200_000)
	content := serve(t, &server{data: data})
	registry := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, content.URL+"/blob", http.StatusTemporaryRedirect)
		return true
	}})
	c := many(func(o *Options) {
		o.Resolve = map[string]Resolver{"oci": func(context.Context, string, int64, string) (string, http.Header, error) {
			return registry.URL + "/f", http.Header{"authorization": {"Bearer secret"}, "X-Key": {"secret"}}, nil
		}}
	})
	store, physical := disk(t, nil)
	err := c.Fetch(t.Context(), artifact(data, "oci://r/x"), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if got := registry.header("Authorization"); got[0] != "Bearer secret" || registry.header("X-Key")[0] != "secret" {
		t.Errorf("the registry saw %q", got)
	}
	for _, name := range []string{"Authorization", "X-Key"} {
		if got := strings.Join(content.header(name), ""); got != "" {
			t.Errorf("the content's host saw %s %q", name, got)
		}
	}
}

func TestTheRateIsSharedByAllConnections(t *testing.T) {
	t.Parallel()
	data := noise(1_000_000)
	s := serve(t, &server{data: data})
	var mu sync.Mutex
	var longest time.Duration
	c := many(func(o *Options) {
		o.LimitRate = 100_000
		o.Now = func() time.Time { return time.Unix(0, 0) } // what is paid for later adds up
		o.Sleep = func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, d)
			return ctx.Err()
		}
	})
	store, physical := disk(t, nil)
	err := c.Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if longest < 9800*time.Millisecond || longest > 10*time.Second {
		t.Errorf("1 MB at 100 kB/s takes %s", longest)
	}
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	c := slowness{over: 30 * time.Second, rate: 16 << 10}
	if err := errors.Join(c.add(400<<10, 29*time.Second), c.add(100<<10, time.Second)); err != nil {
		t.Errorf("enough: %v", err)
	}
	if err := errors.Join(c.add(400<<10, 29*time.Second), c.add(10<<10, time.Second)); err == nil {
		t.Error("410 KiB in the 30 s after that are not too little")
	}

	data := noise(200_000)
	s := serve(t, &server{data: data, first: func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-65535/%d", len(data)))
		w.WriteHeader(http.StatusPartialContent)
		for i := 0; r.Context().Err() == nil && i < 65536; i++ {
			w.Write(data[i : i+1])
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		return true
	}})
	cl := many()
	cl.crawl = slowness{over: 300 * time.Millisecond, rate: 1 << 20}
	store, physical := disk(t, nil)
	err := cl.Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
}

func TestNoSpaceIsReportedBeforeFirstRequest(t *testing.T) {
	s := serve(t, &server{data: noise(10)})
	store, physical := disk(t, nil)
	a := artifact(s.data, s.URL)
	a.Size = 1 << 60
	err := many().Fetch(t.Context(), a, store, part, nil)
	contains(t, err, "no space left", "are free", "free some space")
	if !errors.Is(err, syscall.ENOSPC) || len(s.header("Range")) != 0 {
		t.Errorf("%v after %d requests", err, len(s.header("Range")))
	}
	if info, err := os.Stat(physical); err != nil || info.Size() != 0 {
		t.Errorf("the part: %v %v", info, err)
	}
}

func TestAStoreThatCannotBeWrittenIsNamedBeforeTheFirstRequest(t *testing.T) {
	for _, why := range []error{syscall.EROFS, syscall.EACCES} {
		s := serve(t, &server{data: noise(10)})
		store, _ := disk(t, func(op fsys.Op) error {
			if op.Name == "create" {
				return why
			}
			return nil
		})
		err := many().Fetch(t.Context(), artifact(s.data, s.URL), store, part, nil)
		contains(t, err, "tiny", "open its part", why.Error())
		if !errors.Is(err, why) || len(s.header("Range")) != 0 {
			t.Errorf("%v after %d requests", err, len(s.header("Range")))
		}
	}
}
