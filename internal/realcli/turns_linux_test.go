package realcli

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/gguf/gguftest"
)

// next asks a program that has a session a further question.
var next = map[string]func(p program, prompt string) []string{
	"claude":   after(1, "--continue"),
	"codex":    after(2, "resume", "--last"),
	"opencode": after(2, "--continue"),
	"qwen":     after(1, "--continue"),
	"pi":       after(1, "--continue"),
}

// after adds words behind the first n of a question.
func after(n int, words ...string) func(p program, prompt string) []string {
	return func(p program, prompt string) []string {
		argv := p.ask(prompt)
		return slices.Concat(argv[:n:n], words, argv[n:])
	}
}

// The second question of a session, and the first after the real llama-server was
// started anew, have it read at most a twentieth of the prompt, by its own count: the
// programs begin each prompt as the last one, and the server's slots outlive it. What a
// new session costs is only printed: docs/services.md has the figures.
func TestFurtherTurnsReadLittle(t *testing.T) {
	needWholeRun(t)
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	llama := filepath.Join(string(cache), "llama-server/bin")
	if _, err := os.Stat(filepath.Join(llama, "llama-server")); err != nil {
		t.Skip("needs a real llama-server: scripts/llama-server ~/.cache/aisync-test/llama-server")
	}
	for _, id := range []string{"claude", "codex", "opencode", "qwen", "pi"} {
		t.Run(id, func(t *testing.T) {
			w := newWorld(t, scope{"host", true, false}, []string{id})
			s := newLongServer(t, w, llama, id)
			p := lookUp(t, id)
			first := s.ask(p.ask("What is this folder?"))
			second := s.ask(next[id](p, "And what is it for?"))
			w.run(w.project, s.env, "aisync", "services", "restart", "coder")
			s.restored()
			third := s.ask(next[id](p, "Who needs it?"))
			other := s.ask(p.ask("What is missing?"))
			t.Logf("| %s %s | %s | %s | %s | %s |", id, p.Package.Version, first, second, third, other)
			if first.prompt < 1000 {
				t.Errorf("the first prompt has %d tokens", first.prompt)
			}
			for name, x := range map[string]turn{"the second question": second, "the question after the restart": third} {
				if x.prompt < first.longest || x.read*20 > x.prompt {
					t.Errorf("%s: the server read %d of %d tokens", name, x.read, x.prompt)
				}
			}
		})
	}
}

// turn is what a server read of the prompts of one question.
type turn struct {
	read, prompt, longest int
	took                  time.Duration
}

func (x turn) String() string {
	return fmt.Sprintf("%d of %d, %.1f s", x.read, x.prompt, x.took.Seconds())
}

// longServer is a real llama-server that aisync runs for a program, of a model whose
// tokens are bytes and whose answers are some letters.
type longServer struct {
	w    *world
	env  []string
	tail int // lines of its log that were looked at
}

func newLongServer(t *testing.T, w *world, llama, id string) *longServer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "long.gguf")
	if err := gguftest.Long(gguftest.Chat("chatml")).Write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	w.write(w.home, ".config/aisync/host.cue", fmt.Sprintf(`package aisync

hosts: here: {
	trust: true
	models: long: {}
	runtimes: %q: {endpoint: true}
	services: coder: {kind: "llama-server", model: "long", port: %d, context: 120000, gpuLayers: 0, args: ["--ubatch-size", "2048", "--predict", "24", "--logit-bias", "107+40", "--logit-bias", "111+40", "--logit-bias", "257+40"]}
	endpoint: "coder"
}
catalog: models: long: {license: "MIT", context: 131072, quants: F32: files: [{path: "long.gguf", size: %d, sha256: "%x", sources: [%q]}]}
`, id, port, len(text), sha256.Sum256(text), file))
	s := &longServer{w: w, env: []string{"AISYNC_SERVICE_MANAGER=supervise", "PATH=" + strings.Join(append([]string{llama}, w.path()...), ":")}}
	w.run(w.project, s.env, "aisync", "apply", "--yes", "--trust", "--offline")
	t.Cleanup(func() { w.try(w.project, s.env, "aisync", "services", "stop", "coder") })
	s.log()
	return s
}

// log returns what the server wrote since the last call.
func (s *longServer) log() string {
	s.w.t.Helper()
	out := s.w.run(s.w.project, s.env, "aisync", "services", "logs", "coder", "--lines", "100000").out
	lines := strings.SplitAfter(out, "\n")
	new := strings.Join(lines[min(s.tail, len(lines)):], "")
	s.tail = len(lines) - 1
	return new
}

var (
	evaluated = regexp.MustCompile(`task (\d+) \| prompt eval time = .* / +(\d+) tokens`)
	answered  = regexp.MustCompile(`task (\d+) \| +eval time = .* / +(\d+) tokens`)
	held      = regexp.MustCompile(`task (\d+) \| stop processing: n_tokens = (\d+)`)
)

// ask runs a program, and adds up what the server says of each request.
func (s *longServer) ask(argv []string) turn {
	s.w.t.Helper()
	p := lookUp(s.w.t, s.w.set[0])
	env := slices.Clone(s.env)
	for _, set := range []map[string]string{p.Launch.Environment, p.Launch.Offline} {
		for name, value := range set {
			env = append(env, name+"="+value)
		}
	}
	r := s.w.try(s.w.project, env, argv...)
	log := s.log()
	count := func(x *regexp.Regexp) map[string]int {
		out := map[string]int{}
		for _, m := range x.FindAllStringSubmatch(log, -1) {
			out[m[1]], _ = strconv.Atoi(m[2]) // digits
		}
		return out
	}
	x := turn{took: r.took}
	answer, all := count(answered), count(held)
	for task, n := range count(evaluated) {
		prompt := all[task] - answer[task] + 1
		x.read, x.prompt, x.longest = x.read+n, x.prompt+prompt, max(x.longest, prompt)
	}
	if r.code != 0 || x.prompt == 0 {
		s.w.t.Fatalf("%s: exit code %d\n%s\n%s", strings.Join(argv, " "), r.code, r.out, log)
	}
	s.w.t.Logf("%s: %s\n%s", strings.Join(argv, " "), x, r.out)
	return x
}

// restored waits until the server has its slots again.
func (s *longServer) restored() {
	s.w.t.Helper()
	log := ""
	for range 300 {
		if log += s.log(); strings.Contains(log, "aisync: restored ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.w.t.Fatalf("nothing is restored:\n%s", log)
}
