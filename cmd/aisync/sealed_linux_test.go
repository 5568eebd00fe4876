package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/proof"
)

// uses is each command at least once, in an order in which they make sense;
// TestSealedUsesCoverEveryCommand fails where one is missing. A number is the exit
// code, 0 without one; X is any of this program's own but a panic's, where
// what the machine has decides.
var uses = []struct {
	line string
	code string
}{
	{line: "validate"}, {line: "plan"}, {line: "plan --take-over"}, {"plan --json --detailed-exitcode", "2"}, {line: "status"}, {line: "facts"}, {line: "version"}, {line: "completion bash"},
	{line: "plan --scope project --out p.json"}, {"show p.json", "X"}, {"show mcp a.b/c", "7"}, {line: "show source rulesets"}, {"outdated", "X"}, {"update --dry-run", "X"}, {line: "apply --scope project --yes --trust --accept none"}, {line: "drift"}, {line: "drift --scope all --format sarif --fail-on drift"},
	{line: "status --json"}, {"show p.json", "X"}, {"doctor", "X"}, {"doctor --deep", "X"}, {line: "lint ../rulesets"}, {line: "lint --format sarif"}, {line: "report"}, {"fleet ..", "X"}, {line: "detect"}, {"detect --role", "X"},
	{"roster", "X"}, {"roster --json", "X"}, {line: "who"}, {line: "session list"}, {line: "session start"}, {line: "session path"}, {"session id", "X"}, {"session gate", "X"},
	{"session close", "X"}, {"session journal --file AGENTS.md --heading A doing", "X"}, {"session edit AGENTS.md --heading A --show", "X"}, {"session snapshot AGENTS.md", "X"}, {line: "session archive"},
	{"message send velox.project hello", "1"}, {line: "message inbox"}, {"message read none", "1"}, {line: "message"}, {line: "ledger init --agent a"}, {line: "ledger status"}, {line: "hook SessionStart --runtime claude"}, {line: "hook pre-commit"}, {line: "mcp --runtime cursor"}, {line: "acp --runtime claude -- true"},
	{line: "models"}, {line: "models ls"}, {"models search qwen", "7"}, {line: "models fit"}, {"models bench", "X"}, {line: "models du"}, {"models path tiny", "X"}, {"models verify", "X"}, {"models pull tiny", "7"}, {"models push oci://127.0.0.1:1/x/y tiny", "X"}, {"bundles push oci://127.0.0.1:1/x/y rulesets", "X"}, {line: "models adopt"}, {line: "models gc"},
	{"models serve --listen 127.0.0.1:0", "X"},
	{line: "run init"}, {line: "run start --goal sealed"}, {line: "run list"}, {line: "run status"}, {line: "run show"}, {line: "run events"}, {line: "run evidence"}, {line: "run report"},
	{"run evidence add --name log --file AGENTS.md --kind artifact", "X"}, {line: "run worker register w1 --task main"}, {line: "run worker list"}, {"run claim main --worker w1", "X"},
	{"run renew no-token", "X"}, {"run worker ready no-token", "X"}, {"run worker heartbeat no-token", "X"}, {"run worker done no-token", "X"}, {"run worker fail no-token no", "X"}, {"run release no-token", "X"},
	{"run worker retain w1 --reason kept", "X"}, {"run worker let-go w1 --reason over", "X"}, {"run worker confirm w1 --reason looked", "X"}, {"run cleanup --safe --dry-run", "X"}, {"run recover", "X"},
	{"run stop w1", "X"}, {"run finish --as cancelled", "X"}, {"run approve none", "X"}, {"run supervise", "X"}, // that there is nothing to do
	{line: "task new sealed --goal x --file AGENTS.md --verify true"}, {line: "task list"}, {"task validate", "X"}, {"task show sealed", "X"}, {"task next --project guardrails", "X"}, {line: "task graph"},
	{"task report sealed", "X"}, {"task approve sealed --project guardrails", "X"}, {"task run-once --project guardrails --dry-run", "X"}, {"task run --project guardrails --max 1", "X"},
	{"task retry sealed", "X"}, {"task import ../none.yaml", "X"}, {"task import gitea me/x#1", "X"}, {"task nightly", "X"}, {line: "task trees"},
	{line: "runtimes"}, {line: "runtimes ls"}, {line: "runtimes matrix"}, {line: "runtimes show claude"}, {line: "context"}, {line: "context claude AGENTS.md"}, {line: "context --model qwen3-4b", code: "X"},
	{line: "services"}, {line: "services ls"}, {"services status", "X"}, {"services logs coder", "X"}, {"services start coder", "X"}, {"services restart coder", "X"}, {"services stop coder", "X"}, {"services slots save none 9 1", "X"}, {"services warm", "X"},
	{line: "add runtime codex"}, {line: "add mcp zz -- true"}, {"add bundle go", "X"}, {"add skill ../rulesets", "X"}, {"add plugin x@acme/none", "X"}, {"add model qwen3-4b", "X"}, {"add service zz", "X"}, {line: "remove mcp zz"}, {line: "remove runtime codex"},
	{"remove bundle go", "X"}, {"remove skill x", "X"}, {"remove plugin x", "X"}, {"remove model qwen3-4b", "X"}, {"remove service zz", "X"}, {"lock", "X"}, {"lock --update", "X"}, {"adopt file:AGENTS.md", "X"},
	{"import ../rulesets --to ../imported", "X"}, {"init", "X"}, {"launch nowhere", "X"}, {line: "gen-docs .."}, {"rollback --yes", "X"}, {"prune --yes", "X"}, {"destroy --scope project --yes", "X"}, {"converge", "X"}, {"converge --last", "X"}, {"state export ../state.zip", "X"}, {"state import ../state.zip", "X"},
}

// needNoUse are commands that only lead to others, and those that the program
// starts by itself.
var needNoUse = []string{"aisync", "aisync add", "aisync remove", "aisync session", "aisync task", "aisync run", "aisync run worker", "aisync services supervise", "aisync state", "aisync bundles", "aisync agents", "aisync run worker agent"}

// effectOf is what the command of a line says of itself.
func effectOf(t *testing.T, line string) (path, effect string) {
	t.Helper()
	c, _, err := rootCommand(&cli.App{Env: environ.Env{}}).Find(strings.Fields(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c.CommandPath(), c.Annotations["effect"]
}

func TestSealedUsesCoverEveryCommand(t *testing.T) {
	tried := slices.Clone(needNoUse)
	for _, u := range uses {
		path, _ := effectOf(t, u.line)
		tried = append(tried, path)
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !slices.Contains(tried, c.CommandPath()) {
			t.Errorf("%s is a new command: say in uses how it is tried", c.CommandPath())
		}
		if effect := c.Annotations["effect"]; c.Runnable() && effect != "read-only" && effect != "writes" && !c.HasSubCommands() && c.Name() != "ledger" {
			t.Errorf("%s says neither that it is read-only nor that it writes", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand(&cli.App{Env: environ.Env{}}))
}

// readers are the lines of uses that say they are read-only.
func readers(t *testing.T) (lines []string) {
	for _, u := range uses {
		if _, effect := effectOf(t, u.line); effect == "read-only" && !strings.Contains(u.line, "--out") && !strings.Contains(u.line, "serve") {
			lines = append(lines, u.line)
		}
	}
	return lines
}

// applied is a machine on which a project was applied, with a plan file.
func applied(t *testing.T) person {
	t.Helper()
	p := newPerson(t)
	p.must(t, "plan", "--scope", "project", "--out", "p.json")
	p.must(t, "apply", "--scope", "project", "--yes", "--trust")
	p.must(t, "run", "start", "--goal", "sealed")
	p.must(t, "task", "new", "sealed", "--goal", "x", "--file", "AGENTS.md", "--verify", "true")
	return p
}

// exitOf runs cmd and returns its exit code.
func exitCodeOf(t *testing.T, cmd *exec.Cmd) (code int, out string) {
	t.Helper()
	b, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// wrapped is cmd, run by another program.
func wrapped(t *testing.T, cmd *exec.Cmd, by ...string) *exec.Cmd {
	t.Helper()
	self, err := exec.LookPath("aisync")
	if err != nil {
		t.Fatal(err)
	}
	out := exec.Command(by[0], append(append(by[1:], self), cmd.Args[1:]...)...)
	out.Dir, out.Env = cmd.Dir, cmd.Env
	return out
}

var (
	writingCalls = "creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat," +
		"truncate,ftruncate,mknod,mknodat,utime,utimes,utimensat,futimesat,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,fallocate,mount,umount2"
	opening = regexp.MustCompile(`\bopen(?:at2?)?\(.*\b(?:O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE)\b`)
	onlyNil = regexp.MustCompile(`"/dev/(?:null|tty)"`)
	inside  = regexp.MustCompile(`htons\(0\)|sin_addr=inet_addr\("127\.|inet_pton\(AF_INET6, "(?:::ffff:127\.|::1")`)
)

// keeping are the lines that may write into the cache, and nowhere else: what
// agents run many times a minute. See docs/guarantees.md.
var keeping = []string{"detect", "roster", "roster --json", "who", "session path"}

var quotedText = regexp.MustCompile(`"[^"]*"`)

// onlyCache reports whether every path of a call is of the cache's folder.
func onlyCache(call string) bool {
	for _, path := range quotedText.FindAllString(call, -1) {
		if _, in, ok := strings.Cut(strings.Trim(path, `"`), "/home/me/.cache"); !ok || in != "" && !strings.HasPrefix(in+"/", "/aisync/") {
			return false
		}
	}
	return quotedText.MatchString(call)
}

// breach is a call of a traced program by which it writes, or leaves the
// machine; "" it does neither.
func breach(line string) string {
	switch _, call, _ := strings.Cut(line, " "); {
	case strings.HasPrefix(strings.TrimSpace(call), "connect("), strings.HasPrefix(strings.TrimSpace(call), "sendto("):
		if !strings.Contains(call, "AF_INET") || inside.MatchString(call) {
			return ""
		}
		return "dials"
	case strings.HasPrefix(strings.TrimSpace(call), "open"):
		if !opening.MatchString(call) || onlyNil.MatchString(call) {
			return ""
		}
		return "opens for writing"
	case strings.Contains(call, "resumed>"), strings.Contains(call, "???("), strings.HasPrefix(call, "+++"), strings.HasPrefix(call, "---"):
		return ""
	}
	return "changes the machine"
}

func TestReadOnlyCommandsMakeNoWritingCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace")
	}
	probe := filepath.Join(t.TempDir(), "trace")
	trace := []string{strace, "-f", "-qq", "-s", "256", "-e", "signal=none", "-e", "trace=open,openat,openat2,connect,sendto," + writingCalls, "-o", probe}
	if out, err := exec.Command(strace, append(trace[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("needs strace that may trace: %s", out)
	}
	done := proof.Start(t, 5)
	p := applied(t)
	calls, lines := 0, readers(t)
	for _, line := range lines {
		_, out := exitCodeOf(t, wrapped(t, p.aisync(append(strings.Fields(line), "--offline")...), trace...))
		b, err := os.ReadFile(probe)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for call := range strings.Lines(string(b)) {
			seen++
			if why := breach(strings.TrimSpace(call)); why != "" && !(slices.Contains(keeping, line) && onlyCache(call)) {
				t.Errorf("aisync %s %s: %s", line, why, call)
			}
		}
		if calls += seen; seen == 0 {
			t.Errorf("aisync %s: nothing was traced\n%s", line, out)
		}
	}
	done("commands", len(lines), "calls", calls)
}

// The test above sees what it is to see.
func TestWritingCallIsDetected(t *testing.T) {
	for call, want := range map[string]string{
		`1 openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3`:                                                                         "",
		`1 openat(AT_FDCWD, "/dev/null", O_RDWR) = 3`:                                                                              "",
		`1 openat(5, "a", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600 <unfinished ...>`:                                                "opens for writing",
		`1 openat(AT_FDCWD, "/a", O_RDWR|O_CLOEXEC) = -1 EROFS (Read-only file system)`:                                            "opens for writing",
		`1 mkdirat(AT_FDCWD, "/a", 0755) = 0`:                                                                                      "changes the machine",
		`1 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS`:             "dials",
		`1 connect(3, {sa_family=AF_INET, sin_port=htons(8081), sin_addr=inet_addr("127.0.0.1")}, 16) = 0`:                         "",
		`1 connect(3, {sa_family=AF_UNIX, sun_path="/run/dbus"}, 12) = 0`:                                                          "",
		`1 sendto(3, "", 0, 0, {sa_family=AF_INET6, sin6_port=htons(53), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28) = 0`: "dials",
	} {
		if got := breach(call); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}

// namespaces runs a program with a network that has no interface, not even a
// loopback that is up, and with dir read-only, unless it is "".
func namespaces(t *testing.T, dir string) []string {
	t.Helper()
	script := `exec "$@"`
	if dir != "" {
		script = fmt.Sprintf(`mount --bind %[1]q %[1]q && mount -o remount,bind,ro %[1]q && cd "$PWD" && exec "$@"`, dir)
	}
	by := []string{"unshare", "-r", "-m", "-n", "sh", "-c", script, "sh"}
	if out, err := exec.Command(by[0], append(by[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("needs namespaces of its own: %v %s", err, out)
	}
	return by
}

func TestReadOnlyCommandsWorkOnReadOnlyMachine(t *testing.T) {
	done := proof.Start(t, 5)
	p := applied(t)
	by := namespaces(t, p.dir)
	if code, out := exitCodeOf(t, exec.Command(by[0], append(by[1:], "touch", filepath.Join(p.dir, "x"))...)); code == 0 {
		t.Fatalf("the mount is not read-only: %s", out)
	}
	lines := readers(t)
	for _, line := range lines {
		args := append(strings.Fields(line), "--offline")
		want, open := exitCodeOf(t, p.aisync(args...))
		got, out := exitCodeOf(t, wrapped(t, p.aisync(args...), by...))
		hidden := got == 2 && (strings.Contains(out, "there may be more agents here") || strings.Contains(out, `"id_known": false`)) // outside, such as of a test beside this one
		if got != want && !hidden && !strings.HasPrefix(line, "doctor") || strings.Contains(out, "panic") {
			t.Errorf("aisync %s: exit code %d, and %d where it may write\n%s\n%s", line, got, want, out, open)
		}
	}
	done("commands", len(lines))
}

func TestCommandsRunWithoutNetworkInterface(t *testing.T) {
	done := proof.Start(t, 5)
	p := newPerson(t)
	by := namespaces(t, "")
	for _, u := range uses {
		if strings.Contains(u.line, "serve ") || u.line == "run supervise" || u.line == "services start coder" || u.line == "services restart coder" {
			continue // they stay
		}
		cmd := p.aisync(strings.Fields(u.line)...)
		if strings.HasPrefix(u.line, "ledger") {
			cmd.Args = append(cmd.Args[:1], strings.Fields(u.line)...) // it has flags of its own, and the environment says offline
		} else {
			cmd.Args = slices.Insert(cmd.Args, 1, "--offline")
		}
		code, out := exitCodeOf(t, wrapped(t, cmd, by...))
		if want := u.code; want != "X" && fmt.Sprint(code) != orZero(want) || !ownCode(code) || strings.Contains(out, "panic:") {
			t.Errorf("aisync %s: exit code %d, want %s\n%s", u.line, code, orZero(want), out)
		}
	}
	done("commands", len(uses))
}

func orZero(code string) string {
	if code == "" {
		return "0"
	}
	return code
}

// ownCode reports whether an exit code is one that the program is documented to
// have.
func ownCode(code int) bool { return code >= 0 && code <= 7 || code == 64 }
