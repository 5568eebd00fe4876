// Package stacktest makes machines for tests: a temporary home with specs, a
// project beside it, real files and git repositories. Call New, then Machine.
package stacktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/reconcile"
)

// Names of the files that New writes.
const (
	HostSpec    = "home/.config/aisync/host.cue"
	ProjectSpec = "p/aisync.cue"
	Rule        = "rules/languages/x/common/rules/x.md"
	Hook        = "rules/languages/x/claude/hooks/x.sh"
)

// Stage is a machine, which the test may change.
type Stage struct {
	Dir   string // holds all files of the machine
	Env   environ.Env
	Facts facts.Facts
	Set   func(*stack.Machine) // changes what Machine returns

	t    testing.TB
	mu   sync.Mutex
	told []string
}

// New returns a machine with a host that wants the runtime claude, and a project
// with a rule and a hook of a bundle. files replaces and adds files below Dir; an
// empty text leaves the file out.
func New(t testing.TB, files map[string]string) *Stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage{Dir: dir, t: t, Set: func(*stack.Machine) {}}
	s.Env = environ.Env{
		"HOME": s.Path("home"), "PATH": s.Path("bin") + ":" + os.Getenv("PATH"), "AISYNC_SERVICE_MANAGER": "supervise",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "LANG": "C.UTF-8",
	}
	s.Facts = facts.Facts{
		FormatVersion: facts.FormatVersion, Hostname: "me", OS: "linux", Arch: "amd64",
		Programs: map[string]string{"claude": s.Path("bin/claude"), "git": "git"},
	}
	all := map[string]string{
		HostSpec:     "package aisync\n\nhosts: me: {match: {}, runtimes: claude: {}}\n",
		ProjectSpec:  "package aisync\n\nproject: {name: \"p\", runtimes: [\"claude\"], sources: rules: \"../rules\", bundles: [\"rules//x\"]}\n",
		Rule:         "# X\n",
		Hook:         "#!/bin/sh\n",
		"bin/claude": "#!/bin/sh\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text != "" {
			s.Write(name, text)
		}
	}
	return s
}

// ModelHost returns a host spec with the model tiny, which a server of the test
// has, and more fields of the host. Calling packages lie two folders deep.
func ModelHost(t testing.TB, more string) string {
	t.Helper()
	hub := httptest.NewServer(http.FileServer(http.Dir("../../golden/contract/models")))
	t.Cleanup(hub.Close)
	return `package aisync

hosts: me: {match: {}, models: tiny: {}, ` + more + `}
catalog: models: tiny: {
	license: "MIT"
	context: 2048
	chat:    "chatml"
	quants: F32: files: [{path: "tiny.gguf", size: 483136, sha256: "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd", sources: ["` + hub.URL + `/tiny.gguf"]}]
}
`
}

// TinyFile is where the model of ModelHost lies after an apply.
const TinyFile = "home/.local/share/llm/models/local/tiny/tiny.gguf"

// Path returns the path of a file below Dir.
func (s *Stage) Path(name string) string { return filepath.Join(s.Dir, filepath.FromSlash(name)) }

// Write writes a file below Dir. A text that begins with #! is executable.
func (s *Stage) Write(name, text string) {
	s.t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	err := os.MkdirAll(filepath.Dir(s.Path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(s.Path(name), []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(s.Path(name), mode)
	}
	s.must(err)
}

// Read returns the text of a file below Dir.
func (s *Stage) Read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(s.Path(name))
	s.must(err)
	return string(b)
}

// Remove removes a file or a folder below Dir, which must be there.
func (s *Stage) Remove(name string) {
	s.t.Helper()
	_, err := os.Lstat(s.Path(name))
	s.must(err)
	s.must(os.RemoveAll(s.Path(name)))
}

// Git runs git in the project and returns what it prints.
func (s *Stage) Git(args ...string) string {
	s.t.Helper()
	args = append([]string{"-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)
	out, err := gitrepo.For(s.t.Context(), s.Env.List(), s.Path("p"), args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Machine returns the machine as a command in the project sees it.
func (s *Stage) Machine() *stack.Machine {
	s.t.Helper()
	p, err := place.Find(place.Options{Cwd: s.Path("p"), Env: s.Env})
	s.must(err)
	m := &stack.Machine{
		Places: p, Env: s.Env, Cwd: s.Path("p"), Version: "v1.0.0",
		Facts: func() (facts.Facts, error) { return s.Facts, nil },
		Log:   func(string, ...any) {},
		Notify: func(format string, args ...any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, fmt.Sprintf(format, args...))
		},
	}
	s.Set(m)
	return m
}

// Told returns what machines of s notified the person of.
func (s *Stage) Told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.told, "\n")
}

// Open returns the view of a machine, with what its specs ask for.
func (s *Stage) Open() *stack.View {
	s.t.Helper()
	v, err := stack.Open(s.t.Context(), s.Machine(), stack.ScopeAll)
	s.must(err)
	return v
}

// Hold returns a session of a machine, loaded and declared. The test releases it
// at its end unless it does so before.
func (s *Stage) Hold() *stack.Session {
	s.t.Helper()
	h, err := stack.HoldLoaded(s.t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "test"})
	s.must(err)
	if err := h.Declare(s.t.Context(), h.WritingResolver(pin.Pin)); err != nil {
		h.Release()
		s.t.Fatal(err)
	}
	return h
}

// Apply makes true what the specs ask for, as far as targets match, and returns
// the plan that it carried out. The person agrees to all effects.
func (s *Stage) Apply(targets ...string) *reconcile.Plan {
	s.t.Helper()
	h := s.Hold()
	defer h.Release()
	p, err := h.Plan(s.t.Context(), stack.Request{Targets: targets})
	s.must(err)
	all, _ := h.Effects(p)
	s.must(h.Agree(all))
	s.must(h.SavePins())
	_, err = h.Engine.Apply(s.t.Context(), h.WriteEnv(nil), h.Store, p, reconcile.ApplyOptions{ID: h.ApplyID, Command: "test", Version: h.Version, Ignored: h.Ignored})
	s.must(err)
	return p
}

func (s *Stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
