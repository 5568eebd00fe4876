package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/internal/gguf/gguftest"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// A real llama-server stays within what was counted for it, conversation after
// conversation, and below the limit of its unit.
func TestRealServerStaysWithinItsNeed(t *testing.T) {
	cache, err := os.UserCacheDir()
	program := filepath.Join(cache, "aisync-test/llama-server/bin/llama-server")
	if _, missing := os.Stat(program); err != nil || missing != nil || testing.Short() {
		t.Skip("needs a real llama-server: scripts/llama-server ~/.cache/aisync-test/llama-server")
	}
	for _, m := range gguftest.Small() {
		t.Run(m.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "model.gguf")
			if err := m.Write(file); err != nil {
				t.Fatal(err)
			}
			h, err := gguf.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			shape, err := gguf.Shape(h)
			if err != nil {
				t.Fatal(err)
			}
			// The machine has little, so that five conversations are more than a
			// server may keep.
			f := facts.Facts{Memory: facts.Memory{Total: 5 << 30}}
			s := spec.Service{Name: "x", Kind: "llama-server", Model: m.Name, Context: 8192, Enabled: true, Port: freePort(t)}
			v := hosts.Fit([]hosts.Load{{Name: s.Name, Model: m.Name, Weights: h.TensorBytes, Shape: &shape, Context: int64(s.Context)}}, f)
			host := Host{Facts: &f, Offload: func(spec.Service, string) Offload {
				n := v.Loads[0]
				return Offload{Backend: n.Backend, GPULayers: n.GPULayers, Prompts: n.Prompts, Checkpoints: n.Checkpoints}
			}}
			c := host.command(s, program, []served{{id: m.Name, file: fsys.LogicalPath(file), context: int64(s.Context)}}, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
			cmd.Env = os.Environ()
			for name, value := range c.env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &log, &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				cancel()
				_ = cmd.Wait() // killed
				if t.Failed() {
					t.Log(log.String())
				}
			}()
			base := strings.TrimSuffix(BaseURL(s), "/v1")
			within(t, base+"/health", cmd.Process.Pid)
			need, most := v.MemoryOf(s.Name), bound(v.MemoryOf(s.Name), &f)
			var sizes []string
			for i := range 5 {
				converse(t, base, i)
				resident := memoryOf(t, cmd.Process.Pid)
				sizes = append(sizes, fmt.Sprint(resident>>20))
				if resident > need || resident > most {
					t.Errorf("conversation %d: the server takes %d MiB, and was counted with %d, its unit with %d", i+1, resident>>20, need>>20, most>>20)
				}
			}
			t.Logf("%s: %s MiB after each conversation; counted %d, of it %d for old ones and %d checkpoints of %d; limit %d", m.Name, strings.Join(sizes, ", "), need>>20, v.Loads[0].Prompts>>20, v.Loads[0].Checkpoints, v.Loads[0].Checkpoint>>20, most>>20)
		})
	}
}

func within(t *testing.T, address string, pid int) {
	for range 600 {
		if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err != nil || bytes.Contains(text, []byte(") Z ")) {
			t.Fatal("the server ended")
		}
		if r, err := http.Get(address); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the server does not load")
}

// converse asks two questions of one conversation, of some 3,000 tokens: a token is a
// byte.
func converse(t *testing.T, base string, i int) {
	text := strings.Repeat(fmt.Sprintf("conversation %d says what others do not. ", i), 75)
	for _, question := range []string{text, text + "And then?"} {
		body, err := json.Marshal(map[string]any{"max_tokens": 4, "messages": []map[string]string{{"role": "user", "content": question}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.Post(base+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatal(r.Status)
		}
	}
}

// memoryOf is what a process takes, with the files that it has mapped.
func memoryOf(t *testing.T, pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	x := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if x == nil {
		t.Fatal("no memory")
	}
	n, err := strconv.ParseInt(string(x[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
