package fetch

import (
	"context"
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
)

const (
	killSize    = 64 << 20
	killJournal = 4 << 20
	killSockets = 1 << 20 // what both ends' socket buffers may hold
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
	c := New(Options{JournalBytes: killJournal, JournalEvery: time.Hour,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			}
			return conn, err
		}})
	a := Artifact{Name: "big", Sources: []string{url}, Size: killSize, SHA256: digest}
	if err := c.Fetch(context.Background(), a, store, part, nil); err != nil {
		println(err.Error())
		return 1
	}
	return 0
}

// thirsty serves data and, whenever it has sent so many bytes in all, asks for
// its client to be killed and sends no more until that has happened.
type thirsty struct {
	data   []byte
	sent   atomic.Int64
	limit  atomic.Int64
	reach  chan struct{}
	starts []int64 // of the ranges, one request at a time
}

func (s *thirsty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := int64(0)
	if h := r.Header.Get("Range"); h != "" {
		from, _ = strconv.ParseInt(strings.TrimPrefix(strings.Split(h, "-")[0], "bytes="), 10, 64)
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.Itoa(killSize-1)+"/"+strconv.Itoa(killSize))
	}
	s.starts = append(s.starts, from)
	w.Header().Set("ETag", `"k"`)
	w.Header().Set("Content-Length", strconv.FormatInt(killSize-from, 10))
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	for at := from; at < killSize; at += 64 << 10 {
		if s.sent.Load() >= s.limit.Load() {
			s.reach <- struct{}{}
			<-r.Context().Done()
			return
		}
		n, err := w.Write(s.data[at:min(at+64<<10, killSize)])
		s.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

func TestKilledAgainAndAgainItFetchesLittleTwice(t *testing.T) {
	t.Parallel()
	const kills = 3
	data := noise(killSize)
	s := &thirsty{data: data, reach: make(chan struct{})}
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
	for range kills {
		s.limit.Store(s.sent.Load() + 16<<20 + rand.Int64N(4<<20))
		cmd, ended := start()
		select {
		case <-s.reach:
		case err := <-ended:
			t.Fatalf("the child ended by itself: %v", err)
		}
		time.Sleep(rand.N(3 * time.Millisecond)) // somewhere in its writing, hashing or syncing
		must(t, cmd.Process.Kill())
		<-ended
	}
	s.limit.Store(1 << 62)
	_, ended := start()
	must(t, <-ended)
	holds(t, nil, root+string(part), data)

	// Starting anew each time would send at least 16 MiB a kill too much. A record may be two intervals behind: one is being saved while the next
	// is being collected. Behind that come the buffers.
	if most := int64(killSize + kills*(2*killJournal+buffers*bufferSize+killSockets)); s.sent.Load() > most {
		t.Errorf("the server sent %d bytes, more than %d", s.sent.Load(), most)
	}
	for i := 1; i < len(s.starts); i++ {
		if s.starts[i] < s.starts[i-1] {
			t.Errorf("starts %d go back", s.starts)
			break
		}
	}
	t.Logf("%d bytes for %d, requests from %d", s.sent.Load(), killSize, s.starts)
}
