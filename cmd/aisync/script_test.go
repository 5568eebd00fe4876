package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/fakegitea"
	"aisync.dev/aisync/internal/fakellama"
	"aisync.dev/aisync/internal/fakemcpregistry"
	"aisync.dev/aisync/internal/fakenpm"
	"aisync.dev/aisync/internal/fetch/ocitest"
	"aisync.dev/aisync/internal/filelock"
)

// scopedByProse is the manifest of a bundle source whose rules say in prose which
// files they are for.
const scopedByProse = `{"scope": "applies-to"}` + "\n"

// run is the program without a gate.
func run(argv []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	return execute(nil, argv, stdin, stdout, stderr, environ)
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"aisync":       breakable,
		"failing":      failing,
		"ai":           main,
		"ensemble":     main,
		"fake-npx":     fakeNpx,
		"llama-server": func() { os.Exit(fakellama.Main(os.Args[1:])) },
	})
}

// breakable is the program, with the fault that the environment asks for. What
// it starts has none.
func breakable() {
	hook, err := crash.FromEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	_ = os.Unsetenv(crash.Variable)
	os.Exit(runProcess(gate.Gate(hook)))
}

// failing runs a program whose system calls of one name all fail: failing CALL
// ERRNO COMMAND [ARG...]. Where that cannot be had, it ends with 125.
func failing() {
	errnos := map[string]syscall.Errno{"EIO": syscall.EIO, "ESTALE": syscall.ESTALE}
	at, err := exec.LookPath(os.Args[3])
	if err == nil {
		err = crash.FailSyscalls(errnos[os.Args[2]], os.Args[1])
	}
	if err == nil {
		err = syscall.Exec(at, os.Args[3:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "failing:", err)
	os.Exit(125)
}

// canFail reports whether failing works on this machine.
var canFail = sync.OnceValue(func() bool {
	cmd := exec.Command("failing", "flistxattr", "EIO", "true")
	return cmd.Run() == nil
})

// TestScripts runs testdata/script/*.txtar: one session each, as a person would
// type it, against a fresh copy of the contract's specs.
//
//	$CONTRACT  the copy: host/ project/ rulesets/ models/; its host installs nothing
//	$ROOT      an empty machine: nothing but a home folder, /home/me
//	$FACTS     recorded facts of the host velox, with no package manager and the programs of its spec
//	$FLAGS     --root, --host, --config and --facts for all of that
//
// Beside testscript's own commands: code N COMMAND… wants that exit code; serve
// DIR hands out a folder over HTTP on loopback and points the model's source
// at it; hold takes the lock of the state; hub and peer are in script_hub_test.go,
// oci in script_oci_test.go, registry in script_npm_test.go; silent points
// HF_ENDPOINT to a server that never answers; within TIME COMMAND… wants an error
// before that; source and refused are in script_source_test.go,
// model in script_model_test.go, gitea in script_gitea_test.go, mcpregistry in script_mcp_test.go.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Setup:              prepare,
		Condition: func(cond string) (bool, error) {
			if name, ok := strings.CutPrefix(cond, "command:"); ok {
				return hasCommand(name), nil
			}
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "failing":
				return canFail(), nil
			case "ollama":
				return ollamaFolder() != "", nil
			case "llama":
				return llamaFolder() != "", nil
			case "router":
				return startsItself(llamaFolder()), nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": wantCode, "serve": serveFolder, "hold": holdLock, "hub": hubCommand, "peer": peerCommand, "registry": npmCommand, "oci": registryCommand, "silent": silentCommand, "within": within,
			"source": sourceCommand, "refused": refusedCommand,
			"freeport": freePort, "squat": squat, "ask": ask, "chat": chat, "look": look, "gguf": ggufCommand, "mcpregistry": mcpRegistryCommand, "model": modelCommand, "gitea": giteaCommand,
		},
	})
}

// hasCommand reports whether this version has the command name.
func hasCommand(name string) bool {
	root := rootCommand(&cli.App{Env: environ.Env{}})
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

func prepare(e *testscript.Env) error {
	e.Values[hubKey{}] = startHub(e.T())
	artifacts := ocitest.New()
	e.Defer(artifacts.Close)
	e.Values[registryKey{}] = artifacts
	registry := fakenpm.New()
	e.Defer(registry.Close)
	e.Values[npmKey{}] = registry
	servers := fakemcpregistry.New()
	e.Defer(servers.Close)
	e.Values[mcpRegistryKey{}] = servers
	e.Values[giteaKey{}] = new(*fakegitea.Server)
	e.Defer(func() { endServices(e.WorkDir) })
	at := func(elem ...string) string { return filepath.Join(append([]string{e.WorkDir}, elem...)...) }
	contract, root, facts := at("contract"), at("root"), at("velox.json")
	if err := os.CopyFS(contract, os.DirFS(filepath.Join("..", "..", "golden", "contract"))); err != nil {
		return err
	}
	// A rule for some files lies in a folder, whichever programs there are.
	if err := os.WriteFile(filepath.Join(contract, "rulesets", "bundle.json"), []byte(scopedByProse), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "home", "me"), 0o755); err != nil {
		return err
	}
	f, ok := hosts.Recorded("velox")
	if !ok {
		return errors.New("no recorded facts of velox")
	}
	// Nothing is to be installed, but where a script is about that.
	f.Managers, f.Programs["claude"], f.Programs["opencode"] = nil, "/usr/bin/claude", "/usr/bin/opencode"
	velox := filepath.Join(contract, "host", "velox.cue")
	text, err := os.ReadFile(velox)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`\{install: \{[^}]*\}\}`).ReplaceAll(text, []byte("{}"))
	if err := os.WriteFile(velox, text, 0o644); err != nil {
		return err
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(facts, b, 0o644); err != nil {
		return err
	}
	for k, v := range map[string]string{
		"CONTRACT": contract, "ROOT": root, "FACTS": facts, "HOME": "/home/me", "LANG": "C", "HF_ENDPOINT": "http://127.0.0.1:1",
		"FLAGS":  fmt.Sprintf("--root '%s' --host velox --config '%s' --facts '%s'", root, filepath.Join(contract, "host"), facts),
		"STATE":  filepath.Join(root, "home", "me", ".local", "state", "aisync"),
		"OLLAMA": ollamaFolder(), "LLAMA": llamaFolder(),
		"USERID": strconv.Itoa(os.Getuid()),
		"GORACE": strings.TrimPrefix(quickRaceExit, "GORACE="),
		// What git needs to be the same everywhere.
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@localhost",
		"GIT_COMMITTER_NAME": "me", "GIT_COMMITTER_EMAIL": "me@localhost",
	} {
		e.Setenv(k, v)
	}
	return nil
}

// wantCode runs a command and wants one exit code.
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(first(args))
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARG...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Logf("[stdout]\n%s[stderr]\n%s", ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// serveFolder serves a folder until the script ends, and puts its address in
// place of the one that the host's spec names. With a second argument, each
// answer takes that many bytes and then stands still.
func serveFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	s := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(s.Close)
	ts.Setenv("WWW", s.URL)
	spec := filepath.Join(ts.Getenv("CONTRACT"), "host", "velox.cue")
	text := strings.ReplaceAll(ts.ReadFile(spec), "http://127.0.0.1:18080", s.URL)
	ts.Check(os.WriteFile(spec, []byte(text), 0o644))
}

// holdLock takes the lock of the state, as an apply of another process would.
func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hold")
	}
	dir := ts.Getenv("STATE")
	ts.Check(os.MkdirAll(dir, 0o700))
	file := filepath.Join(dir, "lock")
	l, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	ts.Check(err)
	ts.Check(filelock.Try(l, filelock.Exclusive))
	ts.Check(os.WriteFile(file, []byte(`{"pid": 4242, "host": "elsewhere", "command": "aisync apply"}`), 0o600))
	ts.Defer(func() { ts.Check(filelock.Unlock(l)) })
}

// silentCommand makes HF_ENDPOINT an address that accepts and never answers.
func silentCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: silent")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("HF_ENDPOINT", "http://"+l.Addr().String())
}

// within runs a command that must fail, and soon.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: within TIME COMMAND [ARG...]")
	}
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	if ts.Exec(args[1], args[2:]...) == nil {
		ts.Fatalf("it did not fail")
	}
	if took := time.Since(began); took > most {
		ts.Fatalf("it took %s", took)
	}
}

// Each command of a script is this test binary, started anew: what its variables make at
// the start is made some ten thousand times.
func TestCommandsOfScriptsStartSmall(t *testing.T) {
	cmd := exec.Command("aisync", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	seen := 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, `).FindAllSubmatch(trace, -1) {
		seen++
		if bytes, err := strconv.Atoi(string(m[2])); err != nil || bytes > 2<<20 {
			t.Errorf("%s makes %s bytes at the start of each command: make them in a function", m[1], m[2])
		}
	}
	if seen == 0 {
		t.Errorf("no init among:\n%s", trace)
	}
}
