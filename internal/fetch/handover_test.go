package fetch

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// A connection that hangs in the middle of a chunk, last of all or with others
// to come, loses the rest of it to one that works: not one byte comes twice,
// and nothing waits for the hanging one to be given up.
func TestASlowRangeIsHandedToAFastConnection(t *testing.T) {
	t.Parallel()
	for _, chunks := range []int{6, 40} {
		for _, sent := range []int{0, 1000} {
			t.Run(fmt.Sprintf("%d chunks, %d bytes", chunks, sent), func(t *testing.T) {
				t.Parallel()
				data := noise(chunks * 64 << 10)
				slow := make(chan string, 1)
				s := serve(t, &server{data: data, etag: `"a"`})
				s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
					if n != 3 {
						return false
					}
					var from, to int
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
					slow <- fmt.Sprintf("bytes=%d-%d", from+sent, to)
					w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
					w.Header().Set("Content-Length", fmt.Sprint(to+1-from))
					w.WriteHeader(http.StatusPartialContent)
					w.Write(data[from : from+sent])
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					return true
				}
				c := many(func(o *Options) {
					o.Connections, o.Stall = 2, 5*time.Minute
					o.Retry = func(_ string, why error, _ time.Duration, _, _ int) { t.Errorf("a failure: %v", why) }
				})
				c.handing = 10 * time.Millisecond
				store, physical := disk(t, nil)
				err := c.Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
				must(t, err)
				holds(t, err, physical, data)
				if asked, want := s.header("Range"), <-slow; !slices.Contains(asked, want) {
					t.Errorf("%s was not asked for in %q", want, asked)
				}
			})
		}
	}
}

// Which chunk goes to an idle worker, and when none does.
func TestAChunkIsHandedOverOnlyWhereThatSavesTime(t *testing.T) {
	const length = 1 << 20
	second := float64(length) // a chunk a second
	for name, c := range map[string]struct {
		speed  float64
		waited time.Duration
		got    int64
		handed int
		want   bool
		wait   bool
	}{
		"a slow one":                 {speed: 10 * second, waited: time.Minute, got: length / 10, want: true, wait: true},
		"no byte for long":           {speed: 10 * second, waited: time.Minute, want: true, wait: true},
		"no byte for a moment":       {speed: 10 * second, waited: 10 * time.Millisecond, wait: true},
		"nearly as quick":            {speed: second, waited: time.Second, got: length / 2, wait: true},
		"nearly done":                {speed: 10 * second, waited: 10 * time.Second, got: length * 99 / 100, wait: true},
		"the worker's speed unknown": {waited: time.Minute, got: length / 10},
		"handed too often":           {speed: 10 * second, waited: time.Minute, got: length / 10, handed: handovers},
	} {
		t.Run(name, func(t *testing.T) {
			k := newChunks(&memoryFile{}, length, length)
			stopped := false
			victim := &hold{cancel: func() { stopped = true }}
			victim.take(&k.have[0])
			victim.since = time.Now().Add(-c.waited)
			k.have[0].n, k.have[0].handed = c.got, c.handed
			thief := &hold{speed: c.speed, save: 250 * time.Millisecond}
			wait := k.handOver(thief, 1)
			if stopped != c.want || victim.lost != c.want || (k.have[0].heir == thief) != c.want || wait != c.wait {
				t.Errorf("stopped %v, lost %v, wait %v", stopped, victim.lost, wait)
			}
		})
	}
}
