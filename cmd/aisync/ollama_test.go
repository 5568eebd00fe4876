package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ollamaVersion is the release that is tried where it is at hand:
//
//	GOBIN=~/.cache/aisync-test/ollama/v0.9.6 go install github.com/ollama/ollama@v0.9.6
//
// That takes a C++ compiler and some minutes.
const ollamaVersion = "v0.9.6"

// ollama is the real program, with a home and a port of its own.
type ollama struct {
	t         *testing.T
	bin, home string
	host      string
	server    *exec.Cmd
}

func newOllama(t *testing.T, home string) *ollama { return newOllamaOf(t, ollamaVersion, home) }

func newOllamaOf(t *testing.T, version, home string) *ollama {
	t.Helper()
	cache, err := os.UserCacheDir()
	bin := filepath.Join(cache, "aisync-test", "ollama", version, "ollama")
	if _, serr := os.Stat(bin); err != nil || serr != nil {
		t.Skipf("no ollama %s at %s: nothing of it was tried", version, bin)
	}
	return &ollama{t: t, bin: bin, home: home}
}

func (o *ollama) command(args ...string) *exec.Cmd {
	cmd := exec.Command(o.bin, args...)
	cmd.Env = []string{"HOME=" + o.home, "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=" + o.host}
	return cmd
}

func (o *ollama) run(args ...string) string {
	o.t.Helper()
	out, err := o.command(args...).CombinedOutput()
	if err != nil {
		o.t.Fatalf("ollama %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve starts the server and waits until it answers. It prunes what it does
// not know when it starts.
func (o *ollama) serve() {
	o.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.t.Fatal(err)
	}
	o.host = l.Addr().String()
	_ = l.Close()
	var said bytes.Buffer
	o.server = o.command("serve")
	o.server.Stdout, o.server.Stderr = &said, &said
	o.server.WaitDelay = 5 * time.Second // its runners hold the streams
	if err := o.server.Start(); err != nil {
		o.t.Fatal(err)
	}
	for range 300 {
		if resp, err := http.Get("http://" + o.host + "/api/version"); err == nil {
			resp.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	o.stop()
	o.t.Fatalf("ollama serve does not answer\n%s", said.String())
}

func (o *ollama) stop() {
	if o.server != nil {
		_ = o.server.Process.Signal(os.Interrupt)
		_ = o.server.Wait() // by a signal
		o.server = nil
	}
}

// generate has the model say a few tokens, and returns how many.
func (o *ollama) generate(model string) int {
	o.t.Helper()
	ask := fmt.Sprintf(`{"model":%q,"prompt":"hello","stream":false,"options":{"num_predict":4}}`, model)
	resp, err := http.Post("http://"+o.host+"/api/generate", "application/json", strings.NewReader(ask))
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var said struct {
		Done  bool `json:"done"`
		Count int  `json:"eval_count"`
	}
	if err := json.Unmarshal(body, &said); err != nil || resp.StatusCode != http.StatusOK || !said.Done {
		o.t.Fatalf("generate: %s %s", resp.Status, body)
	}
	return said.Count
}

// modelHost describes a host that wants the tiny model from source, with views.
func modelHost(t *testing.T, source, views string) (dir string, aisync func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	text := fmt.Sprintf(`package aisync

hosts: me: {
	store: "~/models"
	views: [%s]
	models: tiny: {}
}
catalog: models: tiny: quants: F32: files: [{
	path: "tiny.gguf", size: 483136
	sha256: %q
	sources: [%q]
}]
`, views, tinyDigest, source)
	for _, d := range []string{"home", "host"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "host", "me.cue"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, func(args ...string) string {
		t.Helper()
		cmd := exec.Command("aisync", append([]string{"--host", "me", "--config", filepath.Join(dir, "host")}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), quickRaceExit}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aisync %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

const tinyDigest = "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd"

func tinyModel(t *testing.T) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("..", "..", "golden", "contract", "models", "tiny.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The view of ollama is one that ollama itself lists, keeps when it starts, and
// serves; it is a name of the store's bytes and no second copy.
func TestOllamaServesModelView(t *testing.T) {
	t.Parallel()
	dir, aisync := modelHost(t, tinyModel(t), `"ollama"`)
	o := newOllama(t, filepath.Join(dir, "home"))
	defer o.stop()
	aisync("models", "pull", "tiny")
	for range 2 {
		o.serve()
		if list := o.run("list"); !strings.Contains(list, "tiny:latest") {
			t.Fatalf("ollama lists\n%s", list)
		}
		o.stop()
	}
	o.serve()
	if n := o.generate("tiny"); n < 1 {
		t.Errorf("it said %d tokens", n)
	}
	blob, err1 := os.Stat(filepath.Join(dir, "home", ".ollama", "models", "blobs", "sha256-"+tinyDigest))
	ours, err2 := os.Stat(filepath.Join(dir, "home", "models", "sha256", "59", tinyDigest))
	if err1 != nil || err2 != nil || !os.SameFile(blob, ours) {
		t.Errorf("%v, %v: not one file", err1, err2)
	}
	// What ollama removes is its own name alone; the next apply brings it back.
	o.run("rm", "tiny")
	aisync("models", "verify", "--deep", "tiny")
	aisync("apply", "--scope", "host", "--yes")
	if list := o.run("list"); !strings.Contains(list, "tiny:latest") {
		t.Errorf("after rm and apply ollama lists\n%s", list)
	}
}

// What ollama has is taken over without fetching, and outlives ollama's own.
func TestOllamaCreatedModelIsAdopted(t *testing.T) {
	t.Parallel()
	dir, aisync := modelHost(t, "http://127.0.0.1:1/tiny.gguf", "")
	o := newOllama(t, filepath.Join(dir, "home"))
	defer o.stop()
	o.serve()
	file := filepath.Join(dir, "Modelfile")
	if err := os.WriteFile(file, []byte("FROM "+tinyModel(t)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.run("create", "mine", "-f", file)
	if out := aisync("models", "adopt"); !strings.Contains(out, "(ollama), hardlink") {
		t.Errorf("adopt said\n%s", out)
	}
	o.run("rm", "mine")
	if out := aisync("models", "verify", "--deep"); !strings.Contains(out, "ok") {
		t.Errorf("verify said\n%s", out)
	}
}
