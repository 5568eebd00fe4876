package netjail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain makes this the program that a jail starts: first as Main, then as one
// that asks the URLs in its arguments.
func TestMain(m *testing.M) {
	if IsInside(os.Args) {
		os.Exit(Main(os.Args))
	}
	if len(os.Args) > 2 && os.Args[1] == "ask" {
		client := http.Client{Timeout: 5 * time.Second}
		for _, at := range os.Args[2:] {
			resp, err := client.Post(at, "text/plain", strings.NewReader("question"))
			if err != nil {
				fmt.Println("no answer")
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			fmt.Printf("%s\n", text)
		}
		os.Exit(5)
	}
	os.Exit(m.Run())
}

func answers(t *testing.T, text string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s
}

func TestProgramReachesOnlyItsServer(t *testing.T) {
	server, other := answers(t, "from the server"), answers(t, "from another")
	var asked, served atomic.Bool
	p := Program{
		Argv: []string{os.Args[0], "ask", server.URL, other.URL}, Env: os.Environ(), Dir: t.TempDir(), To: server.Listener.Addr().String(),
		Sent: func(b []byte) { asked.Store(asked.Load() || bytes.HasPrefix(b, []byte("POST "))) },
		Got:  func(b []byte) { served.Store(served.Load() || bytes.HasPrefix(b, []byte("HTTP/1.1 200"))) },
	}
	want := "from the server\nfrom another\n"
	text, jailed, err := p.Run(t.Context())
	if jailed {
		want = "from the server\nno answer\n"
	}
	if text != want || jailed != asked.Load() || jailed != served.Load() || err == nil || err.Error() != "exit status 5" {
		t.Errorf("jailed %v: %q, %v; asked %v, served %v", jailed, text, err, asked.Load(), served.Load())
	}
	p.To, p.Must = "", "this is a test"
	switch text, strict, err := p.Run(t.Context()); {
	case strict != jailed:
		t.Errorf("jailed %v, and where it must be %v: %v", jailed, strict, err)
	case !jailed && (!errors.Is(err, ErrNone) || !strings.Contains(err.Error(), ", and this is a test (") || text != ""):
		t.Errorf("without a jail: %q, %v", text, err)
	case jailed && text != "no answer\nno answer\n":
		t.Errorf("without a way out: %q, %v", text, err)
	}
}

func TestForwarderCarriesUntilItIsClosed(t *testing.T) {
	server := answers(t, "answer")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var f Forwarder
	f.Serve(l, server.Listener.Addr().String())
	resp, err := http.Get("http://" + l.Addr().String()) // its connection stays open
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "answer" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	f.Close()
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("it listens after its close")
	}
	late, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.Serve(late, "127.0.0.1:1")
	if _, err := late.Accept(); err == nil {
		t.Error("a listener that came late was kept")
	}
}
