package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A signal ends an apply with its code once the journal is flushed: nothing is
// left to recover, and the next apply goes on where this one stopped.
func TestSignalEndsApplyInOrder(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			m := newMachine(t, "velox")
			content, err := os.ReadFile(filepath.Join(m.dir, "contract", "models", "tiny.gguf"))
			m.must(err)
			started := make(chan struct{})
			begin := sync.OnceFunc(func() { close(started) })
			slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "483136")
				_, _ = w.Write(content[:200_000])
				w.(http.Flusher).Flush()
				begin()
				<-r.Context().Done() // the rest never comes
			}))
			defer slow.Close()
			m.source(slow.URL)

			apply := exec.Command("aisync", "--root", filepath.Join(m.dir, "root"), "--config", filepath.Join(m.dir, "contract", "host"), "--facts", filepath.Join(m.dir, "facts.json"),
				"apply", "--yes", "--trust", "--exclude", "model:qwen*", "--exclude", "package:*")
			apply.Dir = m.project()
			apply.Env = append(os.Environ(), "HOME=/home/me", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", quickRaceExit)
			var said strings.Builder
			apply.Stderr = &said
			m.must(apply.Start())
			select {
			case <-started:
			case <-time.After(30 * time.Second):
				t.Fatal("the download did not begin")
			}
			m.must(apply.Process.Signal(signal))
			var exit *exec.ExitError
			if err := apply.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
				t.Fatalf("ended with %v, want exit code %d\n%s", err, code, said.String())
			}
			if !strings.Contains(said.String(), "interrupted") {
				t.Errorf("said %q", said.String())
			}
			if _, err := os.Stat(filepath.Join(m.dir, "root", "home", "me", ".local", "state", "aisync", "journal.jsonl")); err == nil {
				t.Error("the journal was not ended")
			}

			whole := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(m.dir, "contract", "models"))))
			defer whole.Close()
			m.source(whole.URL)
			m.run("apply", "--yes", "--trust", "--exclude", "model:qwen*", "--exclude", "package:*")
			got, err := os.ReadFile(filepath.Join(m.dir, "root", "home", "me", ".local", "share", "llm", "models", "local", "tiny", "tiny.gguf"))
			if err != nil || string(got) != string(content) {
				t.Errorf("the model is not what it should be: %v", err)
			}
			if out := m.run("plan", "--exclude", "model:qwen*", "--exclude", "package:*"); !strings.Contains(out, "No changes.") {
				t.Errorf("not everything was done:\n%s", out)
			}
		})
	}
}

// source makes the host's spec name url as the place of its model.
func (m *machine) source(url string) {
	m.t.Helper()
	spec := filepath.Join(m.dir, "contract", "host", "velox.cue")
	b, err := os.ReadFile(spec)
	m.must(err)
	before, rest, ok := strings.Cut(string(b), `sources: ["`)
	if !ok {
		m.t.Fatal("the spec names no source")
	}
	_, after, _ := strings.Cut(rest, `/tiny.gguf`)
	m.must(os.WriteFile(spec, []byte(before+`sources: ["`+url+`/tiny.gguf`+after), 0o644))
}
