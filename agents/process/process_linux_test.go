package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		"node /lib/@openai/codex/bin/codex.js exec":          "/lib/@openai/codex/bin/codex.js",
		"node --max-old-space-size=9 -r ts-node/register x":  "x",
		"/opt/cursor-agent/v1/node --use-system-ca index.js": "index.js",
		"node -e 1 claude":                   "",
		"node -pe 1 claude":                  "",
		"bun run pi.ts":                      "pi.ts",
		"python3.12 -m aider --model x":      "aider",
		"python3 -Ic claude":                 "",
		"python3 -X dev /usr/bin/aider":      "/usr/bin/aider",
		"bash -lc claude":                    "",
		"bash -c claude":                     "",
		"-bash -c claude":                    "",
		"bash -o pipefail /bin/claude":       "/bin/claude",
		"sh /home/me/bin/claude -p":          "/home/me/bin/claude",
		"bash --login -c cat_@openai/codex/": "",
		"vim /home/me/bin/claude":            "",
		"node":                               "",
		"noder x":                            "",
	} {
		if got := (Process{Args: strings.Fields(line)}).Script(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestNamesIgnoreArguments(t *testing.T) {
	for _, c := range []struct {
		p    Process
		name string
		want bool
	}{
		{Process{Comm: "claude"}, "claude", true},
		{Process{Comm: "2.1.3", Exe: "/share/claude/versions/2.1.3", Args: []string{"claude"}}, "claude", true},
		{Process{Comm: "node", Args: []string{"node", "/usr/bin/claude"}}, "claude", true},
		{Process{Comm: "claude-notes.sh", Args: []string{"sh", "claude-notes.sh"}}, "claude", false},
		{Process{Comm: "sshd", Args: []string{"sshd: me@pts/claude"}}, "claude", false},
		{Process{Comm: "tmux: server", Args: []string{"tmux", "new", "-s", "/x/claude"}}, "claude", false},
		{Process{Comm: "cat", Args: []string{"cat", "claude"}}, "claude", false},
		{Process{Comm: "claude", Args: []string{"/My Programs/claude"}}, "claude", true},
	} {
		if got := slices.Contains(c.p.Names(), c.name); got != c.want {
			t.Errorf("%+v: %v", c.p.Names(), got)
		}
	}
}

func TestReadOwnProcess(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.Dir, cmd.Env = dir, []string{"AI_AGENT_ID=a b=c"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	table := System()
	p, err := table.Read(pid)
	if err != nil || p.Comm != "sleep" || p.Parent != os.Getpid() || p.UID != os.Getuid() || p.Start == 0 || filepath.Base(p.Args[0]) != "sleep" {
		t.Errorf("%+v, %v", p, err)
	}
	if env, err := table.Env(pid); err != nil || env["AI_AGENT_ID"] != "a b=c" {
		t.Errorf("%v, %v", env, err)
	}
	if above := Ancestors(table, pid); len(above) == 0 || above[0].PID != os.Getpid() {
		t.Errorf("%+v", above)
	}
	if pids, err := table.PIDs(); err != nil || !slices.Contains(pids, pid) {
		t.Errorf("%v, %v", pids, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if cwd, err := table.Cwd(pid); err != nil || cwd != dir {
		t.Errorf("in a folder that is gone: %q, %v", cwd, err)
	}
	// Killed and not yet waited for, it is a zombie: no agent.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := table.Read(pid); errors.Is(err, ErrGone) {
			break
		}
	}
	_ = cmd.Wait()
	if _, err := table.Cwd(pid); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
	if _, err := table.Env(pid); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
}

// Reading a malformed table, or a loop of parents, terminates.
func TestBrokenTablesTerminate(t *testing.T) {
	dir := t.TempDir()
	write := func(pid, stat string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pid, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("10", "10 (a (b) c) S 11 0")
	write("11", "11 (x) S 10 0")
	write("12", "nonsense")
	write("13", "")
	table := At(dir, 10)
	if above := Ancestors(table, 10); len(above) != 1 || above[0].PID != 11 {
		t.Errorf("%+v", above)
	}
	if p, err := table.Read(10); err != nil || p.Comm != "a (b) c" || p.Parent != 11 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, pid := range []int{12, 13} {
		if _, err := table.Read(pid); err == nil {
			t.Errorf("%d was read", pid)
		}
	}
	if _, err := At(filepath.Join(dir, "missing"), 1).PIDs(); err == nil {
		t.Error("a table that is not there has processes")
	}
}
