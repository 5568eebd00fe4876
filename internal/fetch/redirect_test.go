package fetch

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/oci"
)

// abroad is a client for which the hosts in names are where they say, so that a
// server of this machine can be one elsewhere.
func abroad(names map[string]string) *Client {
	return New(Options{Stall: 5 * time.Second, Chunk: 16 << 20, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if to, ok := names[addr]; ok {
				conn, err := new(net.Dialer).DialContext(ctx, network, to)
				if err == nil && strings.HasSuffix(addr, ".example:80") {
					conn = elsewhere{conn}
				}
				return conn, err
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
}

// elsewhere is a connection to another machine, as far as can be seen.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

func TestARedirectFromOutsideDoesNotReachThisMachine(t *testing.T) {
	data := noise(1000)
	for _, target := range []string{
		"http://127.0.0.1:PORT/f", "http://localhost:PORT/f", "http://LOCALHOST.:PORT/f", "http://me.localhost:PORT/f", "http://[::1]:PORT/f",
		"http://[::ffff:127.0.0.1]:PORT/f", "http://0.0.0.0:PORT/f", "http://169.254.169.254/f", "http://rebound.test:PORT/f",
		"file:///etc/hostname", "ftp://127.0.0.1:PORT/f", "gopher://127.0.0.1:PORT/f",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			inner := serve(t, &server{data: data})
			_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
			to := strings.ReplaceAll(target, "PORT", port)
			outer := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.URL.Path == "/again" {
					w.Header().Set("Location", to)
				} else {
					w.Header().Set("Location", "http://second.example/again")
				}
				w.WriteHeader(http.StatusTemporaryRedirect)
				return true
			}})
			at := outer.Listener.Addr().String()
			c := abroad(map[string]string{"first.example:80": at, "second.example:80": at, "rebound.test:" + port: inner.Listener.Addr().String()})
			store, physical := disk(t, nil)
			err := c.Fetch(t.Context(), artifact(data, "http://first.example/f"), store, part, nil)
			holds(t, err, physical, data)
			dst := filepath.Join(t.TempDir(), "out")
			tree := c.Tree(t.Context(), "http://first.example/f.tar.gz", dst)
			if err == nil || tree == nil {
				t.Errorf("followed: %v, %v", err, tree)
			}
			if n := len(inner.header("Range")); n > 0 {
				t.Errorf("a server of this machine was asked %d times", n)
			}
			if n := len(outer.header("Range")); n != 4 {
				t.Errorf("%d requests, want 4: nothing is gained by trying again; %v", n, err)
			}
			if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a tree was made")
			}
			alone(t, dst)
		})
	}
}

// Where logins are looked at is said by the registry: it is one more way to be led.
func TestARegistryElsewhereNamesNoTokenServiceOfThisMachine(t *testing.T) {
	inner := serve(t, &server{})
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	for _, realm := range []string{"http://rebound.test:" + port, "http://127.0.0.1:" + port, "http://registry.example:" + port} {
		registry := serve(t, &server{first: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}})
		c := abroad(map[string]string{"registry.example:80": registry.Listener.Addr().String(),
			"rebound.test:" + port: inner.Listener.Addr().String(), "registry.example:" + port: inner.Listener.Addr().String()})
		_, err := oci.Client{HTTP: c.HTTP()}.Resolve(t.Context(), "oci+http://registry.example/me/m:v1")
		if n := len(inner.header("Range")); err == nil || n > 0 {
			t.Errorf("%s: a server of this machine was asked %d times; %v", realm, n, err)
		}
	}
}

// What a person names may be here, and may lead to another place here; and a
// server elsewhere may lead to others.
func TestARedirectWithinThisMachineOrAbroadIsFollowed(t *testing.T) {
	data := noise(1000)
	content := serve(t, &server{data: data})
	_, port, _ := net.SplitHostPort(content.Listener.Addr().String())
	for from, to := range map[string]string{
		"": "http://localhost:" + port + "/f", "http://first.example": "http://second.example/f",
	} {
		first := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, to, http.StatusFound)
			return true
		}})
		if from == "" {
			from = first.URL
		}
		c := abroad(map[string]string{"first.example:80": first.Listener.Addr().String(), "second.example:80": content.Listener.Addr().String(),
			"localhost:" + port: content.Listener.Addr().String()})
		store, physical := disk(t, nil)
		err := c.Fetch(t.Context(), artifact(data, from+"/f"), store, part, nil)
		must(t, err)
		holds(t, err, physical, data)
	}
}

func TestARedirectInCirclesEnds(t *testing.T) {
	s := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, "/f.tar.gz", http.StatusFound)
		return true
	}})
	store, physical := disk(t, nil)
	data := noise(1000)
	err := quick(nil).Fetch(t.Context(), artifact(data, s.URL+"/f.tar.gz"), store, part, nil)
	holds(t, err, physical, data)
	contains(t, err, "redirects more than 10 times")
	before := len(s.header("Range"))
	contains(t, quick(nil).Tree(t.Context(), s.URL+"/f.tar.gz", filepath.Join(t.TempDir(), "out")), "10 redirects")
	if n := len(s.header("Range")); n > before+11 || before > 11 {
		t.Errorf("%d and %d requests", before, n-before)
	}
}

// An archive that comes a byte at a time, never silent, is given up too.
func TestSlowArchiveIsGivenUp(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{first: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		for r.Context().Err() == nil {
			w.Write([]byte{0x1f})
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Millisecond)
		}
		return true
	}})
	c := quick(nil)
	c.http.Transport.(*guard).crawl = slowness{over: 200 * time.Millisecond, rate: 1 << 20}
	dst := filepath.Join(t.TempDir(), "out")
	contains(t, c.Tree(t.Context(), s.URL+"/x.tar.gz", dst), "bytes arrived in")
	alone(t, dst)
}
