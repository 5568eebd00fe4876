package offline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/netjail"
	"aisync.dev/aisync/internal/realcli"
)

// binary is the aisync that is judged; make test-offline sets it. Without it
// nothing is installed and nothing run.
var binary = os.Getenv("AISYNC_TEST_OFFLINE")

// plane is where the second half of this test runs: its home. The process with
// this variable has no network but loopback.
const plane = "AISYNC_TEST_PLANE"

// ollama is built once, into the cache of the tests: it takes some minutes, and
// a C++ compiler.
const ollama = "v0.9.6"

// TestMain has everything set up with a network, then goes on the plane: it
// runs itself once more, without one.
func TestMain(m *testing.M) {
	if binary == "" {
		os.Exit(m.Run())
	}
	if os.Getenv(plane) != "" {
		if err := netjail.LoopbackUp(); err != nil {
			fmt.Fprintln(os.Stderr, "offline: loopback:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "aisync-plane-")
	if err == nil {
		err = pack(dir)
	}
	if err == nil {
		err = board(dir)
	}
	os.RemoveAll(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "offline:", err)
		os.Exit(1)
	}
}

// board runs the tests in a separate network.
func board(dir string) error {
	runtime.LockOSThread() // Pdeathsig is about the thread
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), plane+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = netjail.Namespaces()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Run()
}

// The ports of the service and of what stands before it.
const (
	port     = 11997
	listener = 11996
)

// agents are the programs that are asked.
func agents() (list []realcli.Package) {
	for _, p := range realcli.Agents {
		if p.ID == "pi" || p.ID == "opencode" {
			list = append(list, p)
		}
	}
	return list
}

// environ is all that a program gets to know.
func environ(dir, in string) []string {
	cache, _ := realcli.DefaultCache() // pack has seen it
	path := []string{filepath.Dir(binary), filepath.Join(string(cache), "ollama", ollama), cache.NodeBin()}
	for _, p := range agents() {
		path = append(path, cache.Bin(p))
	}
	path = append(path, "/usr/local/bin", "/usr/bin", "/bin")
	return []string{
		"HOME=" + filepath.Join(dir, "home"), "PWD=" + in, "PATH=" + strings.Join(path, ":"), "LANG=C.UTF-8", "NO_COLOR=1",
		"GIT_CONFIG_NOSYSTEM=1", "AISYNC_SERVICE_MANAGER=supervise", "npm_config_fetch_retries=0",
	}
}

// pack is what a person does at home: programs, a spec, an apply.
func pack(dir string) error {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return err
	}
	say := func(f string, a ...any) { fmt.Printf(f+"\n", a...) }
	if err := cache.Install(context.Background(), say, agents()...); err != nil {
		return err
	}
	if err := buildOllama(filepath.Join(string(cache), "ollama", ollama)); err != nil {
		return err
	}
	source := httptest.NewServer(http.FileServer(http.Dir("../../golden/contract/models")))
	defer source.Close()
	for name, text := range map[string]string{
		"home/.config/aisync/host.cue":              fmt.Sprintf(hostSpec, source.URL),
		"home/rules/agent-rules/brief.md":           "# Brief\n\nKeep to zqhostruleqz.\n",
		"home/rules/agent-rules/zig.md":             "---\npaths: [\"**/*.zig\"]\n---\n# Zig\n\nKeep lines short.\n",
		"project/aisync.cue":                        projectSpec,
		"project/AGENTS.md":                         "# Notes\n\nKeep to zqnotesqz.\n",
		"project/rules/agent-rules/house.md":        "# House\n\nKeep to zqhouseruleqz.\n",
		"project/rules/languages/zig/rules/safe.md": "# Safe\n\nKeep to zqprojectruleqz.\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	project, elsewhere := filepath.Join(dir, "project"), filepath.Join(dir, "elsewhere")
	if err := errors.Join(os.MkdirAll(filepath.Join(elsewhere, "home"), 0o755), os.Symlink(binary, filepath.Join(dir, "ai"))); err != nil {
		return err
	}
	for _, x := range []struct {
		dir, in string
		argv    []string
	}{
		{dir, project, []string{"git", "init", "-q"}},
		{elsewhere, elsewhere, []string{binary, "init"}}, // the spec of this test is written already
		{dir, project, []string{binary, "models", "fit"}},
		{dir, project, []string{binary, "apply", "--yes", "--trust"}},
		{dir, project, []string{binary, "services", "stop", "local"}},
	} {
		cmd := exec.Command(x.argv[0], x.argv[1:]...)
		cmd.Dir, cmd.Env = x.in, environ(x.dir, x.in)
		if out, err := cmd.CombinedOutput(); err != nil {
			stop := exec.Command(binary, "services", "stop", "local")
			stop.Dir, stop.Env = project, environ(dir, project)
			_ = stop.Run() // it may run already
			return fmt.Errorf("at home: %s: %w\n%s", strings.Join(x.argv, " "), err, out)
		}
		if err := remember(dir, x.argv); err != nil {
			return err
		}
	}
	return nil
}

// remember notes a command that was run.
func remember(dir string, argv []string) error {
	f, err := os.OpenFile(filepath.Join(dir, "commands"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, filepath.Base(argv[0]), strings.Join(argv[1:], " "))
	return errors.Join(err, f.Close())
}

func buildOllama(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "ollama")); err == nil {
		return nil
	}
	fmt.Println("building ollama", ollama, "(some minutes)")
	tmp := dir + ".partial"
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "install", "github.com/ollama/ollama@"+ollama)
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=", "CGO_ENABLED=1")
	cmd.Dir = "/" // not in our module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install ollama (it needs g++): %w\n%s", err, out)
	}
	return os.Rename(tmp, dir)
}

const hostSpec = `package aisync

hosts: laptop: {
	match: {}
	runtimes: {
		"local-openai": {cli: "opencode"}
		pi: {endpoint: true}
	}
	bundles: core: {source: "~/rules", parts: ["rules"]}
	models: tiny: {}
	services: {
		local: {kind: "ollama", port: 11997, models: ["tiny"], context: 512}
		// What stands before it in this test: it writes down what is asked, and bounds the answers.
		heard: {kind: "external", url: "http://127.0.0.1:11996/v1", model: "tiny", context: 32768, apis: ["chat"]}
	}
	endpoint: "heard"
	trust: true
}
catalog: models: tiny: {
	license: "MIT"
	context: 2048
	chat: "chatml"
	quants: F32: files: [{
		path:    "tiny.gguf"
		size:    483136
		sha256:  "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd"
		sources: ["%s/tiny.gguf"]
	}]
}
`

const projectSpec = `package aisync

project: {
	name: "trip"
	runtimes: ["local-openai", "pi"]
	sources: here: "./rules"
	bundles: ["here//zig"]
}
`
