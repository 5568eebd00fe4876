package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/fetch/hubtest"
)

// crashSite is what machines of one test have in common: programs, of which npm
// and pacman are stand-ins, and the servers that models come from.
type crashSite struct {
	bin, hub, www, program string
}

// stand-ins do what aisync needs of them and nothing else. With a file "half"
// in $MACHINE the next of them fails; if it says so, npm leaves half a package,
// or what it renames one to before it removes it, and aisync is killed with it.
var standIns = map[string]string{
	"npm": `#!/bin/sh
for last; do :; done
case $1 in
view)
	version=${2##*@}
	[ "$version" != latest ] || version=2.0.0
	printf '{"name":"%s","version":"%s"}\n' "${2%@*}" "$version"
	exit ;;
install) name=${last%@*} ;;
uninstall) name=$last ;;
esac
verb=$1
while [ "$1" != --prefix ]; do shift; done
prefix=$2 modules=$2/lib/node_modules/$name program=opencode
case $name in *claude*) program=claude ;; esac
if [ -e "$MACHINE/half" ]; then
	how=$(cat "$MACHINE/half")
	rm "$MACHINE/half"
	[ "$how" = half+kill ] || exit 1
	if [ $verb = uninstall ]; then
		mv "$modules" "${modules%/*}/.${modules##*/}-a1B2c3D4"
	else
		mkdir -p "$modules"
		printf '{"version":"%s"}\n' "${last##*@}" >"$modules/package.json"
	fi
	kill -9 $PPID
	exit 1
fi
rm -rf "$modules" "$prefix/bin/$program"
[ "$verb" = install ] || exit 0
mkdir -p "$modules" "$prefix/bin"
printf '#!/bin/sh\n' >"$modules/$program"
chmod +x "$modules/$program"
printf '{"version":"%s"}\n' "${last##*@}" >"$modules/package.json"
ln -s "../lib/node_modules/$name/$program" "$prefix/bin/$program"
`,
	"pacman": `#!/bin/sh
for last; do :; done
local=$2/var/lib/pacman/local
case "$*" in
*" -Q"*) for p in "$local"/*; do [ -d "$p" ] && echo "${p##*/} 1.0-1"; done; exit 0 ;;
esac
if [ -e "$MACHINE/half" ]; then
	how=$(cat "$MACHINE/half")
	rm "$MACHINE/half"
	[ "$how" != half+kill ] || kill -9 $PPID
	exit 1
fi
case "$*" in
*" -R "*) rmdir "$local/$last" ;;
*) mkdir -p "$local/$last" ;;
esac
`,
}

// newCrashSite needs a POSIX shell and git. The program under test is this
// test's own, or the one that AISYNC_TEST_BINARY names.
func newCrashSite(t *testing.T) *crashSite {
	t.Helper()
	s := &crashSite{bin: memoryDir(t), program: "aisync"}
	for name, text := range standIns {
		must(t, os.WriteFile(filepath.Join(s.bin, name), []byte(text), 0o755))
	}
	for _, name := range []string{"sh", "git", "env", "cat", "rm", "rmdir", "mkdir", "chmod", "ln", "mv", "tail", "aisync", "llama-server"} {
		at, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(at, filepath.Join(s.bin, name)))
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "golden", "contract", "models", "tiny.gguf"))
	must(t, err)
	hub := hubtest.New(t)
	hub.OnceEach()
	hub.Add("me/small", hubtest.File{Path: "small.gguf", Data: append(bytes.Clone(content), "another"...)})
	www := httptest.NewServer(http.FileServer(http.Dir(filepath.Join("..", "..", "golden", "contract", "models"))))
	www.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(www.Close)
	s.hub, s.www = hub.URL, www.URL
	return s
}

// memoryDir is t.TempDir in memory, where there is such a place: it is no loss
// of power that these tests are about, and they sync many thousand times.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "aisync-crash-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crashMachine is one machine of a site, with the contract's host and project.
type crashMachine struct {
	*crashSite
	dir  string // holds root/, host/, project/, rulesets/
	args []string
	env  []string

	serving bool
	port    string
}

// What people had before aisync came. It must come through everything.
var usersFiles = map[string]string{
	"root/home/me/.claude/settings.json":           "{\n  \"model\" :  \"opus\",\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}\n",
	"root/home/me/.claude.json":                    "{\"numStartups\": 7,\n \"mcpServers\": {\"mine\": {\"command\": \"mine\"}}}",
	"root/home/me/.config/opencode/opencode.json":  "{\n  // mine\n  \"theme\": \"dark\", // dark\n}\n",
	"root/home/me/.claude/rules/commits.md":        "my own, which apply is told to replace\n",
	"project/.gitignore":                           "*.o\r\n",
	"project/.mcp.json":                            "{\"mcpServers\": {\"own\": {\"command\": \"own\"}}}\n",
	"project/AGENTS.md":                            "# Mine\n\nwords of mine",
	"project/src/main.el":                          ";;; untouched\n",
	"root/home/me/.config/something/else/settings": "nor this\n",
}

// newCrashMachine makes a machine before the first apply. Where serving, its
// services run; else nothing does, and all that can be below a root is.
func newCrashMachine(t *testing.T, s *crashSite, serving bool) *crashMachine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	m := &crashMachine{crashSite: s, dir: memoryDir(t), serving: serving, port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	for _, name := range []string{"host", "project", "rulesets"} {
		must(t, os.CopyFS(m.at(name), os.DirFS(filepath.Join("..", "..", "golden", "contract", name))))
	}
	must(t, os.WriteFile(m.at("rulesets/bundle.json"), []byte(scopedByProse), 0o644))
	for rel, text := range usersFiles {
		must(t, os.MkdirAll(filepath.Dir(m.at(rel)), 0o755))
		must(t, os.WriteFile(m.at(rel), []byte(text), 0o644))
	}
	must(t, os.MkdirAll(m.at("root/var/lib/pacman/local"), 0o755))
	home := "/home/me"
	m.args = []string{"--host", "velox", "--config", m.at("host"), "--project", m.at("project")}
	if serving {
		home = m.at("root/home/me")
	} else {
		m.args = append(m.args, "--root", m.at("root"))
		for _, name := range []string{"pacman", "llama-server"} { // programs of a root are looked for in it
			must(t, os.MkdirAll(m.at("root"+s.bin), 0o755))
			must(t, os.WriteFile(m.at("root"+s.bin+"/"+name), nil, 0o755))
		}
	}
	m.env = []string{
		"HOME=" + home, "PATH=" + s.bin, "MACHINE=" + m.dir, "HF_ENDPOINT=" + s.hub, "LANG=C", quickRaceExit,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "AISYNC_SERVICE_MANAGER=supervise",
	}
	m.edit(t, "host/velox.cue",
		"qwen3-coder-30b\": {quant: \"auto\"}", "small\": {}", "\"qwen3-8b\": {quant: \"Q4_K_M\"}", "",
		`model: "qwen3-coder-30b"`, `model: "small"`, `model: "qwen3-8b"`, `model: "small"`, "8081", m.port,
		"http://127.0.0.1:18080", s.www,
		"catalog: models: tiny: {", "catalog: models: small: {license: \"MIT\", context: 2048, quants: F32: files: [{path: \"small.gguf\", size: 483143, repo: \"me/small\"}]}\ncatalog: models: tiny: {")
	if serving || os.Geteuid() != 0 { // only root may install for a whole machine
		m.edit(t, "host/velox.cue", `packages: ["tmux", "git"]`, "")
	}
	git := exec.Command("git", "init", "-q", "-b", "main", "--template=", m.at("project"))
	git.Env = m.env
	out, err := git.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return m
}

func (m *crashMachine) at(rel string) string { return filepath.Join(m.dir, rel) }

// edit replaces text in a file, which must hold it.
func (m *crashMachine) edit(t *testing.T, rel string, oldnew ...string) {
	t.Helper()
	b, err := os.ReadFile(m.at(rel))
	must(t, err)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(b), oldnew[i]) {
			t.Fatalf("%s does not hold %q", rel, oldnew[i])
		}
		b = []byte(strings.ReplaceAll(string(b), oldnew[i], oldnew[i+1]))
	}
	must(t, os.WriteFile(m.at(rel), b, 0o644))
}

// command is aisync, not yet started, in a process group of its own.
func (m *crashMachine) command(args ...string) *exec.Cmd {
	c := exec.Command(m.program, append(append([]string{}, m.args...), args...)...)
	c.Dir, c.Env = m.at("project"), m.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// run runs aisync and returns its exit code, -1 for one that was killed, and
// what it said. Programs that it had started are at their end as well.
func (m *crashMachine) run(fault crash.Fault, args ...string) (int, string) {
	c := m.command(args...)
	if fault != (crash.Fault{}) {
		fault.Dir = m.dir
		c.Env = append(c.Env, fault.Env())
	}
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Start()
	if err == nil {
		err = c.Wait()
		m.groupEnded(c.Process.Pid)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 125, err.Error()
	}
	return c.ProcessState.ExitCode(), last(out.String()) + said.String()
}

// here is run within this process, which takes a third of the time: where
// nothing is killed, and there are no services to start.
func (m *crashMachine) here(fault crash.Fault, args ...string) (int, string) {
	if m.serving || fault.How.Kills() {
		return m.run(fault, args...)
	}
	var hook gate.Gate
	if fault != (crash.Fault{}) {
		fault.Dir = m.dir
		hook = gate.Gate(fault.Hook())
	}
	var out, said bytes.Buffer
	code := execute(hook, append(append([]string{"aisync"}, m.args...), args...), strings.NewReader(""), &out, &said, m.env)
	return code, last(out.String()) + said.String()
}

// last is the end of a text.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n") + "\n"
}

// groupEnded waits for what a killed aisync had started. A service that goes on
// has a session of its own.
func (m *crashMachine) groupEnded(group int) {
	for range 500 {
		if syscall.Kill(-group, 0) != nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// wants runs aisync, which must end with code.
func (m *crashMachine) wants(t testing.TB, code int, args ...string) string {
	t.Helper()
	got, said := m.run(crash.Fault{}, args...)
	if got != code {
		t.Fatalf("aisync %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, said)
	}
	return said
}

// serves says which context the coder serves that answers, "" if none does.
func (m *crashMachine) serves(t testing.TB) string {
	t.Helper()
	if !m.serving {
		return ""
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	answer, err := http.Get("http://127.0.0.1:" + m.port + "/props")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	must(t, json.NewDecoder(answer.Body).Decode(&props))
	return strconv.Itoa(props.Settings.Context)
}

// Parts of a machine that are judged apart.
const (
	stateRel = "root/home/me/.local/state/aisync"
	npmRel   = "root/home/me/.local/share/aisync/npm"
	storeRel = "root/home/me/.local/share/llm"
)

func underAny(rel string, dirs ...string) bool {
	for _, d := range dirs {
		if rel == d || strings.HasPrefix(rel, d+"/") {
			return true
		}
	}
	return false
}

// bookkeeping is what aisync notes for itself, and git for itself.
func bookkeeping(rel string) bool {
	in, git := strings.CutPrefix(rel, "project/.git/")
	return underAny(rel, stateRel, "root/home/me/.cache", storeRel+"/models/tmp") || git && in != "config" || rel == "half"
}

// look is everything on the machine but bookkeeping; whole is everything.
func (m *crashMachine) look(t testing.TB) crash.Tree {
	t.Helper()
	tree, err := crash.Look(m.dir, bookkeeping)
	must(t, err)
	return tree
}

func (m *crashMachine) whole(t testing.TB) crash.Tree {
	t.Helper()
	tree, err := crash.Keep(m.dir)
	must(t, err)
	return tree
}

// stat is everything without what is in it; but what services note of themselves.
func (m *crashMachine) stat(t testing.TB) crash.Tree {
	t.Helper()
	tree, err := crash.Stat(m.dir, func(rel string) bool {
		return rel == stateRel+"/lock" || underAny(rel, stateRel+"/services") // the lock is signed by who holds it
	})
	must(t, err)
	return tree
}
