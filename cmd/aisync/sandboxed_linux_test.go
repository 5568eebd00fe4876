package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sandboxes are ways to run a command without a view of the other processes.
var sandboxes = []struct {
	name string
	line []string
}{
	{"namespace", []string{"unshare", "-U", "-r", "-p", "-f", "--mount-proc"}},
	{"outer proc", []string{"unshare", "-U", "-r", "-p", "-f"}},
	{"bwrap", []string{"bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-pid", "--proc", "/proc"}},
	{"bwrap read-only", []string{"bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-pid", "--proc", "/proc"}},
	{"hidden proc", []string{"bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/proc"}},
	{"container", []string{"bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-user", "--unshare-pid", "--unshare-uts", "--hostname", "box", "--unshare-ipc", "--proc", "/proc"}},
	{"podman", []string{"podman", "run", "--rm", "--network", "none", "--env-host", "-v", "{temp}:{temp}", "-w", "{project}", "--rootfs", "/:O"}},
}

// withPodman says to try a container of podman, too, whose starts take a minute in
// all: make night does.
var withPodman = os.Getenv("AISYNC_TEST_PODMAN") != ""

// inSandboxes runs a test in each sandbox that the machine permits.
func inSandboxes(t *testing.T, test func(t *testing.T, s *sandboxed)) {
	for _, box := range sandboxes {
		t.Run(box.name, func(t *testing.T) {
			if box.name == "podman" && !withPodman {
				t.Skip("make night does it")
			}
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := &sandboxed{root: filepath.Join(top, "project"), bin: filepath.Join(top, "bin"), home: filepath.Join(top, "home")}
			if err := os.Mkdir(s.root, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, word := range box.line {
				s.line = append(s.line, strings.NewReplacer("{temp}", os.TempDir(), "{project}", s.root).Replace(word))
			}
			if out, err := exec.Command(s.line[0], append(s.line[1:], "true")...).CombinedOutput(); err != nil {
				t.Skipf("needs %s, and that the machine lets it work: %v: %s", s.line[0], err, out)
			}
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(bash)
			if err = errors.Join(err, os.MkdirAll(filepath.Join(s.root, ".ai"), 0o755), os.MkdirAll(s.bin, 0o755), os.MkdirAll(s.home, 0o755),
				os.WriteFile(filepath.Join(s.root, ".ai/protocols.org"), nil, 0o644),
				os.WriteFile(filepath.Join(s.bin, "claude"), text, 0o755), os.WriteFile(filepath.Join(s.bin, "codex"), text, 0o755)); err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

// sandboxed is a project, with programs that are called like those of agents.
type sandboxed struct {
	root, bin, home string
	line            []string // of the sandbox
}

func (s *sandboxed) command(t *testing.T, env []string, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = s.root, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home}, env...)
	return cmd
}

// agent runs a script as an agent named claude, outside the sandbox, until the
// test ends, and waits until the script has made the file ready.
func (s *sandboxed) agent(t *testing.T, script string, env ...string) *exec.Cmd {
	t.Helper()
	ready := filepath.Join(s.home, "ready")
	cmd := s.command(t, env, filepath.Join(s.bin, "claude"), "-c", script+"; touch "+ready+"; while :; do read -rt 1 <> <(:); done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			return cmd
		}
		if time.Now().After(end) {
			t.Fatal("the agent did not start")
		}
	}
}

// run runs a command of aisync as an agent named codex in the sandbox.
func (s *sandboxed) run(t *testing.T, line string, env ...string) (code int, out string) {
	t.Helper()
	return exitCodeOf(t, s.command(t, env, append(s.line, filepath.Join(s.bin, "codex"), "-c", line+"; exit $?")...))
}

const helperEnv, helperFlag = "AI_AGENT_ID=helper-77aa", "AI_HELPER=1"

func TestSandboxNeverSaysAlone(t *testing.T) {
	inSandboxes(t, func(t *testing.T, s *sandboxed) {
		s.agent(t, "true", helperEnv, helperFlag)
		for _, c := range []struct {
			line string
			bad  []string // answers that it cannot know
		}{
			{"aisync roster", nil},
			{"aisync session gate", []string{"open:"}},
			{"aisync session close", []string{"no other agent"}},
		} {
			code, out := s.run(t, c.line)
			if want := 2; code != want && code != 1 || code == 1 && !strings.Contains(out, "helper-77aa") && !strings.Contains(out, s.root) {
				t.Errorf("%s: exit code %d\n%s", c.line, code, out)
			}
			for _, bad := range c.bad {
				if strings.Contains(out, bad) {
					t.Errorf("%s:\n%s", c.line, out)
				}
			}
		}
	})
}

func TestSandboxSeesAgentsByTheirKeepers(t *testing.T) {
	inSandboxes(t, func(t *testing.T, s *sandboxed) {
		helper := s.agent(t, "aisync session start", helperEnv, helperFlag)
		for line, want := range map[string]string{
			"aisync roster --verbose": "claude helper-77aa",
			"aisync session list":     "live    helper-77aa",
			"aisync session gate":     "live    helper-77aa",
			"aisync who":              "helper-77aa",
		} {
			code, out := s.run(t, line)
			if !strings.Contains(out, want) || strings.Contains(line, "roster") && code != 1 || strings.Contains(line, "gate") && code != 1 {
				t.Errorf("%s: exit code %d\n%s", line, code, out)
			}
		}
		if code, out := s.run(t, "aisync session archive --agent helper-77aa --gone"); code != 1 || !strings.Contains(out, "is at work") {
			t.Errorf("archive of a live agent: exit code %d\n%s", code, out)
		}
		_ = helper.Process.Kill()
		_ = helper.Wait()
		live := filepath.Join(s.root, ".ai/session-context.d/.live")
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if left, err := os.ReadDir(live); err == nil && len(left) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the keeper outlives its agent")
			}
		}
		if code, out := s.run(t, "aisync session list"); code != 0 || !strings.Contains(out, "stale   helper-77aa") {
			t.Errorf("after its end: exit code %d\n%s", code, out)
		}
	})
}

// In a namespace, a second agent without an id started, journalled into the
// primary's file and archived it.
func TestSandboxLeavesPrimaryItsContext(t *testing.T) {
	for _, began := range []string{"keeper", "no keeper"} {
		t.Run(began, func(t *testing.T) {
			inSandboxes(t, func(t *testing.T, s *sandboxed) {
				s.agent(t, "aisync session start && aisync session journal --file x mine")
				if began == "no keeper" {
					if err := os.RemoveAll(filepath.Join(s.root, ".ai/session-context.d/.live")); err != nil {
						t.Fatal(err)
					}
				}
				file := filepath.Join(s.root, ".ai/session-context.org")
				before, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range []string{"aisync session start", "aisync session journal --file y theirs", "aisync session archive", "aisync session archive --agent primary"} {
					for _, env := range [][]string{nil, {"CODEX_THREAD_ID=0199-bb"}} {
						if code, out := s.run(t, line, env...); code == 0 {
							t.Errorf("%s: exit code 0\n%s", line, out)
						}
					}
				}
				if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
					t.Errorf("the primary's context is now %q, %v", after, err)
				}
				// What the message says to type works.
				if code, out := s.run(t, `export AI_AGENT_ID=$(aisync session id); aisync session start && aisync session journal --file y theirs`); code != 0 && !strings.Contains(out, "read-only") {
					t.Errorf("with an id: exit code %d\n%s", code, out)
				}
			})
		})
	}
}

// An agent that is alone in its sandbox begins the primary's context and knows it
// again, by the session that its program names.
func TestSandboxedAgentKeepsItsContext(t *testing.T) {
	inSandboxes(t, func(t *testing.T, s *sandboxed) {
		own, other := "CODEX_THREAD_ID=0199-aa", "CODEX_THREAD_ID=0199-bb"
		if code, out := s.run(t, "aisync session start", own); code != 0 {
			if strings.Contains(out, "read-only file system") {
				return // then it has none
			}
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if code, out := s.run(t, "aisync session journal --file x first", own); code != 0 {
			t.Errorf("journal of the same session: exit code %d\n%s", code, out)
		}
		if code, out := s.run(t, "aisync session list", own); code != 0 || !strings.Contains(out, "live    primary (this agent)") {
			t.Errorf("list: exit code %d\n%s", code, out)
		}
		for _, line := range []string{"aisync session start", "aisync session archive"} {
			if code, out := s.run(t, line, other); code == 0 {
				t.Errorf("%s in another session: exit code 0\n%s", line, out)
			}
		}
		// From outside, its lease tells.
		if code, out := exitCodeOf(t, s.command(t, nil, filepath.Join(s.bin, "claude"), "-c", "aisync session list; aisync roster; exit $?")); code != 1 || !strings.Contains(out, "live    primary") {
			t.Errorf("from outside: exit code %d\n%s", code, out)
		}
		if code, out := s.run(t, "aisync session archive", own); code != 0 {
			t.Errorf("archive of the same session: exit code %d\n%s", code, out)
		}
	})
}

// A person says that a container's namespace shows all agents; a sandbox within
// it has another name.
func TestNamespaceThatShowsAll(t *testing.T) {
	inSandboxes(t, func(t *testing.T, s *sandboxed) {
		const set = "export AI_PID_NAMESPACE=$(readlink /proc/self/ns/pid); "
		ownTable := !slices.Contains(s.line, "--tmpfs") && (s.line[0] == "bwrap" || slices.Contains(s.line, "--mount-proc"))
		if code, out := s.run(t, set+"aisync roster"); ownTable && code != 0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
		nested := set + "unshare -U -r -p -f --mount-proc aisync roster"
		if code, out := s.run(t, nested); code == 0 {
			t.Errorf("in a sandbox within: exit code 0\n%s", out)
		}
	})
}
