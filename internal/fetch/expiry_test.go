package fetch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnAddressThatExpiresIsAskedForAgain(t *testing.T) {
	t.Parallel()
	data := noise(600_000)
	for name, each := range map[string]int64{"every request": 1, "every third": 3} {
		t.Run(name, func(t *testing.T) {
			var used, given atomic.Int64
			content := serve(t, &server{data: data, etag: `"a"`})
			content.first = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.URL.Query().Get("sig") != fmt.Sprint(given.Load()) || used.Add(1) > each {
					w.WriteHeader(http.StatusForbidden)
					return true
				}
				return false
			}
			sign := func() string { used.Store(0); return fmt.Sprintf("%s/blob?sig=%d", content.URL, given.Add(1)) }
			front := serve(t, &server{})
			front.first = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				http.Redirect(w, r, sign(), http.StatusFound)
				return true
			}
			c := many(func(o *Options) {
				o.Connections = 1
				o.Resolve = map[string]Resolver{"hf": func(_ context.Context, source string, size int64, sha string) (string, http.Header, error) {
					if source != "hf://me/tiny@main/f" || size != int64(len(data)) || sha != sum(data) {
						t.Errorf("asked for %s, %d bytes, %s", source, size, sha)
					}
					return sign(), nil, nil
				}}
			})
			for _, src := range []string{front.URL, "hf://me/tiny@main/f"} {
				store, physical := disk(t, nil)
				err := c.Fetch(t.Context(), artifact(data, src), store, part, nil)
				if err != nil {
					t.Error(err)
				}
				holds(t, err, physical, data)
			}
			if asked := int64(len(front.header("Range"))); asked > 10/each+2 {
				t.Errorf("the front was asked %d times", asked)
			}
		})
	}
}

// Signatures expire under sixteen connections at once, after so many requests
// or in the middle of a body: each asks for another address, none pauses, no
// connection is given up and no range comes twice.
func TestAddressesThatExpireUnderManyConnectionsAreNoFailures(t *testing.T) {
	t.Parallel()
	data := noise(64 * 64 << 10)
	for name, c := range map[string]struct{ each, status int }{
		"each request":                {1, http.StatusForbidden},
		"every fifth":                 {5, http.StatusForbidden},
		"every fifth, with S3's 400":  {5, http.StatusBadRequest},
		"every fifth, it is gone":     {5, http.StatusGone},
		"every fifth, not authorized": {5, http.StatusUnauthorized},
	} {
		for _, redirected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, redirected %v", name, redirected), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				given, left, sent := 0, 0, 0
				content := serve(t, &server{data: data, etag: `"a"`})
				content.first = func(w http.ResponseWriter, r *http.Request, _ int) bool {
					mu.Lock()
					defer mu.Unlock()
					if r.URL.Query().Get("sig") != fmt.Sprint(given) || left == 0 {
						w.WriteHeader(c.status)
						return true
					}
					left--
					sent++
					return false
				}
				sign := func() string {
					mu.Lock()
					defer mu.Unlock()
					given, left = given+1, c.each
					return fmt.Sprintf("%s/blob?sig=%d", content.URL, given)
				}
				front := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
					http.Redirect(w, r, sign(), http.StatusFound)
					return true
				}})
				client := many(func(o *Options) {
					o.Connections = 16
					o.Retry = func(_ string, why error, _ time.Duration, _, _ int) { t.Errorf("counted as a failure: %v", why) }
					o.Resolve = map[string]Resolver{"hf": func(context.Context, string, int64, string) (string, http.Header, error) {
						return sign(), nil, nil
					}}
				})
				source := "hf://me/tiny@main/f"
				if redirected {
					source = front.URL
				}
				store, physical := disk(t, nil)
				err := client.Fetch(t.Context(), artifact(data, source), store, part, nil)
				must(t, err)
				holds(t, err, physical, data)
				if sent != 64 {
					t.Errorf("%d ranges were served, want each of 64 once", sent)
				}
			})
		}
	}
}
