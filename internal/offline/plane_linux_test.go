package offline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// passenger is the person on the plane.
type passenger struct {
	t   *testing.T
	dir string
}

// run runs a program in the project and returns what it prints, and its code.
func (p passenger) run(argv ...string) (string, int) {
	p.t.Helper()
	in := filepath.Join(p.dir, "project")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = in, environ(p.dir, in)
	for _, v := range cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok && !filepath.IsAbs(argv[0]) {
			for _, folder := range filepath.SplitList(path) {
				if name := filepath.Join(folder, argv[0]); executable(name) {
					cmd.Path, cmd.Err = name, nil
					break
				}
			}
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 5*time.Second
	begin := time.Now()
	err := cmd.Run()
	if err := remember(p.dir, argv); err != nil {
		p.t.Error(err)
	}
	p.t.Logf("%s: %.1f s", strings.Join(argv, " "), time.Since(begin).Seconds())
	if cmd.ProcessState == nil {
		p.t.Fatalf("%q: %v", argv, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// watch runs a program on a new terminal until its model was asked with
// all of rules and has answered, for two minutes at most, and returns what it asked.
func (p passenger) watch(argv []string, ear *ear, rules []string) string {
	p.t.Helper()
	in := filepath.Join(p.dir, "project")
	cmd := exec.Command("script", "-qec", strings.Join(argv, " "), "/dev/null") // the paths have no spaces
	cmd.Dir, cmd.Env = in, append(environ(p.dir, in), "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var screen bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &screen, &screen, 5*time.Second
	keys, err := cmd.StdinPipe() // a program whose input ends may end as well
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = remember(p.dir, argv)
	}
	if err != nil {
		p.t.Fatalf("%q: %v", argv, err)
	}
	asked := ""
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		asked += ear.take()
		if ear.answered() && !slices.ContainsFunc(rules, func(r string) bool { return !strings.Contains(asked, r) }) {
			break
		}
	}
	answered := ear.answered()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	_ = keys.Close()
	_ = cmd.Wait() // it was ended
	if !answered {
		p.t.Errorf("%s: its model did not answer; on its screen:\n%q", strings.Join(argv, " "), screen.Bytes())
	}
	return asked
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// must is run for what has to end well.
func (p passenger) must(argv ...string) string {
	p.t.Helper()
	out, code := p.run(argv...)
	if code != 0 {
		p.t.Fatalf("%s: exit code %d\n%s", strings.Join(argv, " "), code, out)
	}
	return out
}

// sick is doctor where something is wrong: it must say each of these.
func (p passenger) sick(args []string, wants ...string) {
	p.t.Helper()
	out, code := p.run(append([]string{binary, "doctor", "--offline"}, args...)...)
	if code != 1 {
		p.t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			p.t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
}

// ear passes requests on to the service, and keeps what was asked. A tiny model
// of random weights seldom comes to an end, so answers are bounded here, and
// what was cut off is said to be whole: pi shows nothing of what was cut off.
type ear struct {
	mu     sync.Mutex
	heard  bytes.Buffer
	tokens bool // the model said something to the last that was asked
}

func (e *ear) answered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tokens
}

func (e *ear) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.heard.Reset()
	return e.heard.String()
}

func listenBefore(t *testing.T) *ear {
	t.Helper()
	e := &ear{}
	to := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		b, err := io.ReadAll(r.In.Body)
		if err != nil {
			return
		}
		e.mu.Lock()
		e.heard.Write(b)
		e.tokens = false
		e.mu.Unlock()
		var request map[string]any
		if json.Unmarshal(b, &request) == nil && request["messages"] != nil {
			request["max_tokens"] = 24
			b, _ = json.Marshal(request) // came from JSON: cannot fail
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Out.Header.Del("Accept-Encoding")
	}, ModifyResponse: func(r *http.Response) error {
		body := r.Body
		in, out := io.Pipe()
		r.Body = in
		r.ContentLength = -1
		r.Header.Del("Content-Length")
		go func() {
			defer body.Close()
			for lines := bufio.NewReader(body); ; {
				line, err := lines.ReadBytes('\n')
				if bytes.Contains(line, []byte(`"content":"`)) && !bytes.Contains(line, []byte(`"content":""`)) {
					e.mu.Lock()
					e.tokens = true
					e.mu.Unlock()
				}
				if _, gone := out.Write(bytes.Replace(line, []byte(`"finish_reason":"length"`), []byte(`"finish_reason":"stop"`), 1)); gone != nil || err != nil {
					out.CloseWithError(err) // io.EOF is the end
					return
				}
			}
		}()
		return nil
	}}
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(listener))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: proxy}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return e
}

// TestAPlane is the whole story: what was set up at home works where there is
// no network, with the real ollama and two real agent programs, and everything
// that can go wrong on the way is named.
func TestAPlane(t *testing.T) {
	if binary == "" {
		t.Skip("make test-offline runs it")
	}
	list, err := net.Interfaces()
	if err != nil || len(list) != 1 || list[0].Flags&net.FlagLoopback == 0 {
		t.Fatalf("this is no plane: interfaces %+v, error %v", list, err)
	}
	p := passenger{t, os.Getenv(plane)}
	ear := listenBefore(t)
	p.sick([]string{"--no-prompt"}, "fail service-local", "it does not run", "fail port-local", "nothing listens on port 11997", "fail endpoint-local")

	p.must(binary, "services", "start", "local")
	t.Cleanup(func() { p.run(binary, "services", "stop", "local") })
	out := p.must(binary, "doctor", "--offline")
	for _, want := range []string{"ok   drift", "ok   models", "ok   port-local", "ok   endpoint-local", "ok   prompt-local", "ok   prompt-heard", "ok   runtime-pi"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}

	t.Run("agents answer, with the rules of home and project", func(t *testing.T) {
		p := passenger{t, p.dir}
		for _, c := range []struct {
			name string
			argv []string
		}{
			{"pi", []string{"pi", "-p", "Say hello."}},
			// ai has the generic runtime begin by itself, on a terminal.
			{"local-openai", []string{filepath.Join(p.dir, "ai"), "--runtime", "local-openai", "--no-tmux", "."}},
		} {
			rules := []string{"zqhostruleqz", "zqprojectruleqz", "zqhouseruleqz", "zqnotesqz"}
			ear.take()
			var asked string
			if c.name == "pi" {
				if said := p.must(c.argv...); strings.TrimSpace(said) == "" {
					t.Errorf("%s says nothing", c.name)
				}
				asked = ear.take()
			} else {
				asked = p.watch(c.argv, ear, rules)
			}
			for _, rule := range rules {
				if !strings.Contains(asked, rule) {
					t.Errorf("%s asked its model without %s", c.name, rule)
				}
			}
		}
	})
	t.Run("ai goes on where another one stopped", func(t *testing.T) {
		p := passenger{t, p.dir}
		if out := p.must(filepath.Join(p.dir, "ai"), "--continue", "--runtime", "local-openai", "--print", "."); !strings.Contains(out, "opencode") {
			t.Errorf("ai --continue would start\n%s", out)
		}
	})
	t.Run("doctor --deep has them answer too", func(t *testing.T) {
		p := passenger{t, p.dir}
		out := p.must(binary, "doctor", "--offline", "--deep")
		for _, want := range []string{"ok   agent-pi", "ok   agent-local-openai", "ok   contents"} {
			if !strings.Contains(out, want) {
				t.Errorf("doctor does not say %q:\n%s", want, out)
			}
		}
	})
	t.Run("a rule is gone", func(t *testing.T) {
		p := passenger{t, p.dir}
		if err := os.Remove(filepath.Join(p.dir, "home/.config/rulesets/runtimes/local-openai/rules/zig.md")); err != nil {
			t.Fatal(err)
		}
		p.sick([]string{"--no-prompt"}, "fail drift", "local-openai/rules/zig.md is not as it was made: deleted since the last apply")
		p.must(binary, "apply", "--offline", "--yes", "--restore")
		p.must(binary, "doctor", "--offline", "--no-prompt")
	})
	t.Run("a rule was edited, and shall stay so", func(t *testing.T) {
		p := passenger{t, p.dir}
		overwrite(t, filepath.Join(p.dir, "home/.config/rulesets/runtimes/local-openai/rules/zig.md"), []byte("# Zig\n\nMine.\n"))
		p.sick([]string{"--no-prompt"}, "fail drift", "aisync adopt")
		p.must(binary, "adopt", "file:~/.config/rulesets/runtimes/local-openai/rules/zig.md")
		p.must(binary, "doctor", "--offline", "--no-prompt")
	})
	t.Run("the model is damaged", func(t *testing.T) {
		p := passenger{t, p.dir}
		name := filepath.Join(p.dir, "home/.local/share/llm/models/local/tiny/tiny.gguf")
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Clone(whole)
		damaged[len(damaged)/2] ^= 1
		overwrite(t, name, damaged)
		p.sick([]string{"--no-prompt"}, "fail models", "is not what was verified", "aisync apply --target model:tiny")
		if said, code := p.run(binary, "apply", "--yes", "--target", "model:tiny"); code != 1 || !strings.Contains(said, "sha256 mismatch") || !strings.Contains(said, "run aisync apply --restore --target model:tiny") {
			t.Errorf("exit code %d\n%s", code, said)
		}
		overwrite(t, name, whole)
		p.must(binary, "apply", "--offline", "--yes", "--restore")
		p.must(binary, "doctor", "--offline", "--no-prompt")
	})
	t.Run("the service does not answer", func(t *testing.T) {
		p := passenger{t, p.dir}
		p.must(binary, "services", "restart", "local")
		if said := p.must(binary, "services", "logs", "local"); !strings.Contains(said, "Listening on 127.0.0.1:11997") {
			t.Errorf("the log of ollama says\n%s", said)
		}
		p.must(binary, "doctor", "--offline", "--no-prompt")
	})
	t.Run("the service stops", func(t *testing.T) {
		p := passenger{t, p.dir}
		p.must(binary, "services", "stop", "local")
		p.sick(nil, "fail service-local", "it does not run", "fail port-local", "fail endpoint-local", "nothing listens", "skip prompt-local")
	})
	t.Run("another program takes the port", func(t *testing.T) {
		p := passenger{t, p.dir}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.NotFoundHandler()}
		go func() { _ = s.Serve(l) }()
		defer s.Close()
		p.sick(nil, "fail service-local", "fail port-local", "port 11997 is held by offline.test (process "+strconv.Itoa(os.Getpid())+"), which is not local", "404 Not Found")
	})
	t.Run("every command of the page was run", func(t *testing.T) { everyCommandOf(t, p.dir) })
}

// Whatever docs/offline.md tells a person to type was typed on the way.
func everyCommandOf(t *testing.T, dir string) {
	doc, err := os.ReadFile("../../docs/offline.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "commands"))
	if err != nil {
		t.Fatal(err)
	}
	ran := strings.Split(string(b), "\n")
	told := regexp.MustCompile("(?m)^(?:aisync|ai) .*$|`((?:aisync|ai) [^`]+)`").FindAllString(string(doc), -1)
	if len(told) < 12 {
		t.Errorf("only %d commands were found: %q", len(told), told)
	}
	for _, line := range told {
		words := strings.Fields(strings.NewReplacer("`", "", "NAME", "local", "ID", "tiny").Replace(line))
		if !slices.ContainsFunc(ran, func(r string) bool {
			has := strings.Fields(r)
			return len(has) > 0 && has[0] == words[0] && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) })
		}) {
			t.Errorf("docs/offline.md says %q, which was not run", line)
		}
	}
}

// overwrite changes the bytes of a file in place, as a bad disk would.
func overwrite(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
