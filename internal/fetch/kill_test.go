package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/proof"
)

const (
	killSize        = 64 << 20
	killConnections = 4
	killSockets     = 1 << 20 // what both ends' socket buffers of one connection may hold
)

// The test binary, started again with this variable, is the process to kill.
const childVariable = "AISYNC_TEST_FETCH"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		os.Exit(child(strings.Split(spec, " ")))
	}
	os.Exit(m.Run())
}

func child(args []string) int {
	root, url, digest := args[0], args[1], args[2]
	store := diskAt(new(testing.T), root, strconv.Itoa(os.Getpid()), nil)
	c := New(Options{Connections: killConnections, JournalEvery: time.Hour,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			}
			return conn, err
		}})
	if os.Getpid()%2 == 0 {
		c.patience = 0 // all connections at once
	}
	a := Artifact{Name: "big", Sources: []string{url}, Size: killSize, SHA256: digest}
	if err := c.Fetch(context.Background(), a, store, part, nil); err != nil {
		println(err.Error())
		return 1
	}
	return 0
}

// thirsty serves data in ranges and, whenever it has sent so many bytes in all,
// asks for its client to be killed and sends no more until that has happened.
type thirsty struct {
	data  []byte
	sent  atomic.Int64
	limit atomic.Int64
	reach chan struct{}
}

func (s *thirsty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var from, to int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
		http.Error(w, "no range", http.StatusBadRequest)
		return
	}
	to = min(to+1, len(s.data))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(s.data)))
	w.Header().Set("ETag", `"k"`)
	w.Header().Set("Content-Length", strconv.Itoa(to-from))
	w.WriteHeader(http.StatusPartialContent)
	for at := from; at < to; at += 64 << 10 {
		if s.sent.Load() >= s.limit.Load() {
			select {
			case s.reach <- struct{}{}:
			default:
			}
			<-r.Context().Done()
			return
		}
		n, err := w.Write(s.data[at:min(at+64<<10, to)])
		s.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// kills is how many, 12 unless AISYNC_KILLS says another number.
func kills(t *testing.T) int {
	raw := os.Getenv("AISYNC_KILLS")
	if raw == "" {
		return 12
	}
	n, err := strconv.Atoi(raw)
	must(t, err)
	return n
}

func TestKilledAgainAndAgainItFetchesLittleTwice(t *testing.T) {
	t.Parallel()
	proved := proof.Start(t, 3)
	const each = 4 // kills of one download
	const seed = 3
	data := noise(killSize)
	random := rand.New(rand.NewPCG(seed, seed))
	t.Logf("seed %d", seed)
	all := kills(t)
	for killed := 0; killed < all; killed += each {
		killedDownload(t, data, min(each, all-killed), random)
	}
	proved("kills", all)
}

// killedDownload kills one download n times, somewhere, and lets it end then.
func killedDownload(t *testing.T, data []byte, n int, random *rand.Rand) {
	s := &thirsty{data: data, reach: make(chan struct{}, 1)}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
		}
	}
	srv.Start()
	defer srv.Close()
	root := t.TempDir()
	diskAt(t, root, "parent", nil)
	start := func() (*exec.Cmd, chan error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{root, srv.URL, sum(data)}, " "))
		cmd.Stderr = os.Stderr
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, ended
	}
	for range n {
		select { // of one who was already killed
		case <-s.reach:
		default:
		}
		s.limit.Store(s.sent.Load() + random.Int64N(15<<20))
		cmd, ended := start()
		select {
		case <-s.reach:
			time.Sleep(time.Duration(random.Int64N(int64(3 * time.Millisecond)))) // somewhere in its writing, hashing or syncing
			must(t, cmd.Process.Kill())
			<-ended
		case err := <-ended:
			t.Fatalf("the child ended by itself: %v", err)
		}
	}
	s.limit.Store(1 << 62)
	_, ended := start()
	must(t, <-ended)
	holds(t, nil, root+string(part), data)

	// No record was due: each connection loses what it had not noted, a buffer and sockets.
	again, most := s.sent.Load()-killSize, int64(n*killConnections*(noteBytes+bufferSize+killSockets))
	if again > most {
		t.Errorf("%d kills made the server send %d bytes again, more than %d", n, again, most)
	}
	t.Logf("%d kills: %d bytes again", n, again)
	os.RemoveAll(root)
}
