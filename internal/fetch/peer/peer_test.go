package peer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// shelf is a store of real files.
type shelf map[string]string // digest to path

func (s shelf) Find(sha256 string) (string, int64, bool) {
	path, ok := s[sha256]
	if !ok {
		return "", 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return path, 10, true // gone since
	}
	return path, info.Size(), true
}

func (s shelf) List() ([]Blob, error) {
	var all []Blob
	for d := range s {
		_, size, _ := s.Find(d)
		all = append(all, Blob{d, size})
	}
	return all, nil
}

const content = "GGUF, and much more of it"

// put writes data and returns its digest and a store that has it.
func put(t *testing.T, data string) (string, shelf) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, []byte(data), 0o444); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(data))
	digest := hex.EncodeToString(sum[:])
	return digest, shelf{digest: path}
}

// serve starts a peer; its end is checked when the test ends.
func serve(t *testing.T, s Store, o Options) (addr string) {
	t.Helper()
	ln, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, s, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return ln.Addr().String()
}

// ask makes one request and reads the answer.
func ask(t *testing.T, method, url string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestAPeerServesByDigestAndNothingElse(t *testing.T) {
	digest, s := put(t, content)
	gone := strings.Repeat("d", 64)
	s[gone] = filepath.Join(t.TempDir(), "gone")
	s[strings.Repeat("e", 64)] = t.TempDir()
	url := "http://" + serve(t, s, Options{})
	span := func(v string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Range", v) }
	}
	for _, c := range []struct {
		method, path string
		change       func(*http.Request)
		status       int
		body         string // "" is not compared
	}{
		{"GET", "/sha256/" + digest, nil, 200, content},
		{"HEAD", "/sha256/" + digest, nil, 200, ""},
		{"GET", "/sha256/" + digest, span("bytes=4-7"), 206, content[4:8]},
		{"GET", "/sha256/" + digest, span("bytes=99-"), 416, ""},
		{"GET", "/sha256/" + strings.ToUpper(digest), nil, 404, ""},
		{"GET", "/sha256/" + strings.Repeat("0", 64), nil, 404, ""},
		{"GET", "/sha256/" + gone, nil, 404, ""},
		{"GET", "/sha256/" + strings.Repeat("e", 64), nil, 404, ""},
		{"GET", "/sha256/" + digest + "/", nil, 404, ""},
		{"GET", "/sha256/../etc/passwd", nil, 404, ""},
		{"GET", "/sha256/%2e%2e%2f" + digest, nil, 404, ""},
		{"GET", "/", nil, 404, ""},
		{"PUT", "/sha256/" + digest, nil, 405, ""},
		{"DELETE", "/sha256/" + digest, nil, 405, ""},
		{"POST", "/sha256/", nil, 405, ""},
		{"GET", "/sha256/" + digest, func(r *http.Request) { r.Host = "attacker.example" }, 421, ""},
		{"GET", "/sha256/" + digest, func(r *http.Request) { r.Host = "localhost:80" }, 200, content},
	} {
		resp, body := ask(t, c.method, url+c.path, c.change)
		if resp.StatusCode != c.status || c.body != "" && body != c.body {
			t.Errorf("%s %s: %s %q, want %d %q", c.method, c.path, resp.Status, body, c.status, c.body)
		}
		if resp.StatusCode/100 == 2 && (resp.Header.Get("ETag") != `"`+digest+`"` || resp.Header.Get("Content-Type") != "application/octet-stream") {
			t.Errorf("%s %s: %v", c.method, c.path, resp.Header)
		}
		if strings.Contains(body, s[digest]) {
			t.Errorf("%s %s tells where the file lies: %q", c.method, c.path, body)
		}
	}
}

func TestTheIndexListsDigestsAndSizes(t *testing.T) {
	digest, s := put(t, content)
	var got []Blob
	resp, body := ask(t, "GET", "http://"+serve(t, s, Options{})+"/sha256/", nil)
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" || len(got) != 1 || got[0] != (Blob{digest, int64(len(content))}) {
		t.Errorf("%q, %v, %v", body, got, err)
	}
	if _, body := ask(t, "GET", "http://"+serve(t, shelf{}, Options{})+"/sha256/", nil); strings.TrimSpace(body) != "[]" {
		t.Errorf("an empty store gave %q", body)
	}
}

func TestOtherMachinesAreServedOnlyWhereItIsSaid(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0"} {
		if ln, err := Listen(addr, false); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v, %v", addr, ln, err)
		}
	}
	if _, err := Listen("127.0.0.1", false); err == nil {
		t.Error("an address without a port was taken")
	}
	for _, c := range []struct {
		addr   string
		beyond bool
	}{{"127.0.0.1:0", false}, {"localhost:0", false}, {"0.0.0.0:0", true}} {
		ln, err := Listen(c.addr, c.beyond)
		if err != nil {
			t.Errorf("%s: %v", c.addr, err)
			continue
		}
		ln.Close()
	}
}

func TestEveryAnswerHasOneLine(t *testing.T) {
	digest, s := put(t, content)
	lines := make(chan Access, 1)
	url := "http://" + serve(t, s, Options{Access: func(a Access) { lines <- a }})
	ask(t, "GET", url+"/sha256/"+digest, func(r *http.Request) { r.Header.Set("Range", "bytes=0-3") })
	if a := <-lines; a.Status != 206 || a.Bytes != 4 || a.Path != "/sha256/"+digest || a.Range != "bytes=0-3" || !strings.HasPrefix(a.Remote, "127.0.0.1:") {
		t.Errorf("%+v", a)
	}
	ask(t, "GET", url+"/a%0Ab%1b[31m", nil)
	if a := <-lines; a.Status != 404 || strings.ContainsAny(a.String(), "\n\x1b") {
		t.Errorf("%q", a)
	}
}

func TestConnectionsOverTheLimitWait(t *testing.T) {
	base, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ln := limited(base, 1, time.Minute)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", base.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var free atomic.Bool
	second := make(chan error)
	go func() {
		_, err := ln.Accept()
		if !free.Load() {
			err = errors.New("accepted over the limit")
		}
		second <- err
	}()
	free.Store(true)
	first.Close()
	first.Close() // frees its slot once
	if err := <-second; err != nil {
		t.Error(err)
	}
	third := make(chan error)
	go func() {
		_, err := ln.Accept()
		third <- err
	}()
	ln.Close()
	if err := <-third; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the third got %v although two held one slot", err)
	}
}

func TestAClientThatTakesNothingIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30)); err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("a", 64)
	lines := make(chan Access, 1)
	addr := serve(t, shelf{digest: path}, Options{Stall: 20 * time.Millisecond, Access: func(a Access) { lines <- a }})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /sha256/"+digest+" HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
	if a := <-lines; a.Status != 200 || a.Bytes >= 1<<30 {
		t.Errorf("%+v", a)
	}
}

func TestServingEndsInTheMiddleOfAnAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30)); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("a", 64)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, ln, shelf{digest: path}, Options{}) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/sha256/" + digest)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestASourceNamesAHostAndNothingElse(t *testing.T) {
	digest := strings.Repeat("a", 64)
	got, header, err := Source{}.Locate(t.Context(), "peer://pearl.lan:7848", 1, strings.ToUpper(digest))
	if err != nil || header != nil || got != "http://pearl.lan:7848/sha256/"+digest {
		t.Error(got, header, err)
	}
	for _, bad := range []string{"peer://pearl", "peer://:7848", "peer://u:p@pearl:7848", "peer://pearl:7848/x", "http://pearl:7848", "peer://pearl:7848?x", "peer:"} {
		if got, _, err := (Source{}).Locate(t.Context(), bad, 1, digest); err == nil {
			t.Errorf("%s gave %s", bad, got)
		}
	}
	if _, _, err := (Source{}).Locate(t.Context(), "peer://pearl:7848", 1, "../../etc"); err == nil {
		t.Error("a digest that is none was put into a URL")
	}
}

// sink stands for a connection to a client that takes everything; what counts
// is how often it is given more time.
type sink struct {
	net.Conn
	taken     int64
	deadlines int
}

func (s *sink) SetWriteDeadline(time.Time) error { s.deadlines++; return nil }

func (s *sink) Write(p []byte) (int, error) {
	s.taken += int64(len(p))
	return len(p), nil
}

func TestAClientThatTakesSomethingIsGivenMoreTime(t *testing.T) {
	for _, unlimited := range []bool{false, true} {
		to := &sink{}
		c := &conn{Conn: to, stall: time.Minute}
		var from io.Reader = io.LimitReader(zeros{}, 3*piece+1)
		if unlimited {
			from = struct{ io.Reader }{from}
		}
		if n, err := c.ReadFrom(from); err != nil || n != 3*piece+1 || to.taken != n || to.deadlines != 4 {
			t.Errorf("%d bytes sent, %d taken, %d times more time, %v", n, to.taken, to.deadlines, err)
		}
		if _, err := c.Write([]byte("x")); err != nil || to.deadlines != 5 {
			t.Errorf("a write gave more time %d times, %v", to.deadlines, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
