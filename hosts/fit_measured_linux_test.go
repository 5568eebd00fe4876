package hosts

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/internal/gguf/gguftest"
)

const (
	measuredPage  = "../docs/models.md"
	measuredBegin = "<!-- measured: written by go test ./hosts -run Measured -update, with a real llama-server -->\n"
	measuredEnd   = "<!-- /measured -->\n"
)

// What fit counts is what a real llama-server says of itself as it loads, for each
// architecture, and within its memory.
func TestMeasuredFit(t *testing.T) {
	cache, err := os.UserCacheDir()
	program := filepath.Join(cache, "aisync-test/llama-server/bin/llama-server")
	if _, missing := os.Stat(program); err != nil || missing != nil || testing.Short() {
		t.Skip("needs a real llama-server: scripts/llama-server ~/.cache/aisync-test/llama-server")
	}
	var b strings.Builder
	b.WriteString("| model | architecture | weights | cache, F16 | cache, q8_0, of two | states, of two | buffers | aisync's sum of the server's |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range gguftest.Models() {
		file := filepath.Join(t.TempDir(), "model.gguf")
		if err := m.Write(file); err != nil {
			t.Fatal(err)
		}
		h, err := gguf.ReadFile(file)
		if err != nil {
			t.Fatal(m.Name, err)
		}
		shape, err := gguf.Shape(h)
		if err != nil {
			t.Fatal(m.Name, err)
		}
		one := Load{Name: m.Name, Weights: h.TensorBytes, Shape: &shape, Context: 8192}
		two := one
		two.Sequences, two.Cache = 2, "q8_0"
		first := loaded(t, program, file, "--ctx-size", "8192", "--parallel", "1")
		second := loaded(t, program, file, "--ctx-size", "16384", "--parallel", "2", "--cache-type-k", "q8_0", "--cache-type-v", "q8_0")
		if err := os.Remove(file); err != nil { // its holes fill the page cache
			t.Fatal(err)
		}
		n, q := one.need(true), two.need(true)
		window := min(8192, (shape.Window+ubatch+cells-1)/cells*cells)
		own := minimumProgram + 256*shape.Vocabulary
		buffers := one.buffers(n.Context, window, true) - own
		sum := [2]int64{n.Total - n.Weights/20, first.model + first.cache + first.state + first.compute + first.rest}
		for _, x := range []struct {
			name       string
			is, server int64
			off        float64
		}{
			{"weights", n.Weights, first.model, 0.1},
			{"cache", n.KV, first.cache, 0.01},
			{"cache of two in q8_0", q.KV, second.cache, 0.01},
			{"states", n.State, first.state, 0.01},
			{"states of two", q.State, second.state, 0.01},
			{"buffers", buffers, first.compute, 0.1},
			{"sum", sum[0], sum[1], 0.1},
		} {
			if d := float64(x.is - x.server); math.Abs(d) > x.off*float64(x.server)+1<<16 {
				t.Errorf("%s: %s: fit has %s, the server %s MiB", m.Name, x.name, mebibytes(x.is), mebibytes(x.server))
			}
		}
		if first.rest > own {
			t.Errorf("%s: the program takes %s beside its buffers, and fit has %s MiB", m.Name, mebibytes(first.rest), mebibytes(own))
		}
		pair := func(is, server int64) string {
			if is == 0 && server == 0 {
				return "–"
			}
			return mebibytes(is) + " / " + mebibytes(server)
		}
		ours, theirs := n.Weights+n.KV+n.State+buffers, first.model+first.cache+first.state+first.compute
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d %% |\n", m.Name, m.Arch, pair(n.Weights, first.model), pair(n.KV, first.cache), pair(q.KV, second.cache), pair(q.State, second.state), pair(buffers, first.compute), (100*ours+theirs/2)/theirs)
	}
	text, err := os.ReadFile(measuredPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), measuredBegin)
	is, after, closed := strings.Cut(rest, measuredEnd)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no place for the table:\n%s", measuredPage, b.String())
	case flag.Lookup("update").Value.String() == "true":
		if err := os.WriteFile(measuredPage, []byte(before+measuredBegin+b.String()+measuredEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		if diff := cmp.Diff(is, b.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

// figures are what a server says that it takes, and what it takes beside that.
type figures struct{ model, cache, state, compute, rest int64 }

var bufferLine = regexp.MustCompile(`(model|KV|RS|compute) buffer size = +([0-9.]+) MiB`)

// loaded starts a server, which neither computes nor repacks weights, and returns its
// figures once it has loaded.
func loaded(t *testing.T, program, file string, args ...string) figures {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"--model", file, "--port", port, "--no-warmup", "--no-repack", "--fit", "off", "--n-gpu-layers", "0", "--jinja", "--log-verbosity", "5"}, args...)...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	status := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status"
	for {
		select {
		case err := <-ended:
			t.Fatalf("%v\n%s", err, log.String()[max(0, log.Len()-2000):])
		case <-time.After(100 * time.Millisecond):
		}
		if r, err := http.Get("http://127.0.0.1:" + port + "/health"); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				break
			}
		}
	}
	memory, err := os.ReadFile(status)
	cancel()
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	for _, x := range bufferLine.FindAllStringSubmatch(log.String(), -1) {
		n, err := strconv.ParseFloat(x[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		*map[string]*int64{"model": &f.model, "KV": &f.cache, "RS": &f.state, "compute": &f.compute}[x[1]] += int64(n * (1 << 20))
	}
	x := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(memory)
	if x == nil || f.model == 0 || f.compute == 0 {
		t.Fatalf("%+v\n%s", f, memory)
	}
	anonymous, err := strconv.ParseInt(string(x[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.rest = max(0, anonymous<<10-f.cache-f.state) // buffers are not touched yet
	return f
}
