package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/providers/providertest"
)

// steady serves content in ranges of small pieces. Once it has sent so many
// bytes it says so, sends no more and waits for its client to be gone.
type steady struct {
	content     []byte
	sent, limit atomic.Int64
	reached     chan struct{}
}

func (s *steady) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, to := 0, len(s.content)-1
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil {
		to = min(to, len(s.content)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(s.content)))
		w.Header().Set("Content-Length", strconv.Itoa(to+1-from))
		w.WriteHeader(http.StatusPartialContent)
	}
	for at := from; at <= to; {
		if s.sent.Load() >= s.limit.Load() {
			select {
			case s.reached <- struct{}{}:
			default:
			}
			<-r.Context().Done()
			return
		}
		n, err := w.Write(s.content[at:min(at+16<<10, to+1)])
		if err != nil {
			return
		}
		w.(http.Flusher).Flush()
		at += n
		s.sent.Add(int64(n))
	}
}

// The program itself, killed with SIGKILL again and again while it fetches a
// model, makes the server send at most 4 MiB a connection and kill again: what
// it had not noted, and what was on its way.
//
// AISYNC_TEST_KILLS says how often, and AISYNC_TEST_BINARY which program.
func TestSIGKILLCostsADownloadLittle(t *testing.T) {
	done := proof.Start(t, 3)
	const connections, size, most = 4, 256 << 20, 4 << 20
	const each = 4 // kills of one download
	kills := each
	if n, err := strconv.Atoi(os.Getenv("AISYNC_TEST_KILLS")); err == nil {
		kills = n
	}
	program := "aisync"
	if binary := os.Getenv("AISYNC_TEST_BINARY"); binary != "" {
		program = binary
	}
	s := &steady{content: make([]byte, size), reached: make(chan struct{}, 1)}
	noise := rand.NewChaCha8([32]byte{5})
	_, _ = noise.Read(s.content)
	server := httptest.NewUnstartedServer(s)
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
		}
	}
	server.Start()
	defer server.Close()
	r := providertest.Random(t)
	again, all := int64(0), 0
	for ; all < kills; all += each {
		began := s.sent.Load()
		killedPull(t, s, program, server.URL, connections, each, func() int64 { return 40<<20 + r.Int64N(16<<20) })
		again += s.sent.Load() - began - size
	}
	t.Logf("%d kills: %d bytes again", all, again)
	if limit := int64(all * connections * most); again > limit {
		t.Errorf("%d kills made the server send %d bytes again, more than %d", all, again, limit)
	}
	done("kills", all)
}

// killedPull kills one download so many times, each time after the server has
// sent step() bytes more, lets it end and looks at what it left.
func killedPull(t *testing.T, s *steady, program, address string, connections, kills int, step func() int64) {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "config")
	spec := fmt.Sprintf(`package aisync

hosts: velox: models: big: {}
catalog: models: big: {
	context: 2048
	quants: F32: files: [{path: "big.bin", size: %d, sha256: "%x", sources: ["%s/big.bin"]}]
}
`, len(s.content), sha256.Sum256(s.content), address)
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "velox.cue"), []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	pull := func(ctx context.Context) (*exec.Cmd, *bytes.Buffer) {
		c := exec.CommandContext(ctx, program, "models", "pull", "big", "--connections", strconv.Itoa(connections), "--host", "velox", "--config", config)
		c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "NO_PROXY=*")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		return c, &said
	}
	for range kills {
		select { // of a connection of the one before
		case <-s.reached:
		default:
		}
		s.limit.Store(s.sent.Load() + step())
		c, said := pull(t.Context())
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-s.reached:
			_ = c.Process.Kill()
			<-ended
		case err := <-ended:
			t.Fatalf("it ended by itself: %v\n%s", err, said)
		}
	}
	s.limit.Store(1 << 62)
	c, said := pull(t.Context())
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	found := 0
	err := filepath.WalkDir(filepath.Join(home, ".local/share/llm/models"), func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), ".part") {
			t.Errorf("%s is left", p)
		}
		if err == nil && d.Name() == "big.bin" {
			content, rerr := os.ReadFile(p)
			if rerr != nil || !bytes.Equal(content, s.content) {
				t.Errorf("%s is not what was served: %v", p, rerr)
			}
			found++
		}
		return err
	})
	if err != nil || found != 1 {
		t.Errorf("%d names of the model; %v", found, err)
	}
}
