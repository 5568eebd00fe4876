package realcli

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every program does a task of a run in a sandbox, where it has a separate home
// and no way out but the model. aisync commits its work, which goes on to the
// next task. What the model has it try beside its task fails: to read a key and
// the project, and to write the project, git's hooks, the run and another
// worker's tree.
func TestProgramsWorkInSandboxOfRun(t *testing.T) {
	needWholeRun(t)
	for _, id := range []string{"codex", "opencode", "claude", "qwen"} {
		t.Run(id, func(t *testing.T) {
			p := lookUp(t, id)
			w, env := runWorld(t, id)
			w.write(w.home, ".ssh/id_ed25519", mark("run", "key"))
			other := filepath.Join(w.home, ".ilchul/worktrees", "other/r0/x.1")
			w.write(other, "theirs", "")
			w.write(w.project, "graph.json", fmt.Sprintf(`{"schemaVersion": 1, "worktrees": true, "tasks": [
				{"id": "greet", "adapter": %q, "sandbox": true, "goal": "Write %s."},
				{"id": "check", "dependsOn": ["greet"], "sandbox": true, "command": ["grep", "-qx", "world", "src/hello.txt"]}]}`, id, mark("run", "task")))
			// Hidden from the program, which may look at the paths of a command itself.
			attack := strings.NewReplacer("HOME", w.home, "PROJECT", w.project, "OTHER", other, "MODEL", strings.TrimPrefix(w.model.URL, "http://127.0.0.1:")).Replace(`
cat HOME/.ssh/id_ed25519 && echo read the key >>escaped
cat PROJECT/graph.json && echo read the project >>escaped
(echo x >PROJECT/src/hello.txt) && echo wrote the project >>escaped
(mkdir -p PROJECT/.git/hooks && echo x >PROJECT/.git/hooks/post-commit) && echo wrote a hook >>escaped
echo x >>PROJECT/.git/config && echo wrote the settings of git >>escaped
(echo x >PROJECT/.ilchul/config.json) && echo wrote the run >>escaped
(echo x >OTHER/theirs) && echo wrote the tree of another >>escaped
git commit -qam mine && echo committed >>escaped
(echo >/dev/tcp/127.0.0.1/MODEL) && echo dialled the model >>escaped
test -n "$AISYNC_CLAIM" && echo holds the claim >>escaped
true`)
			c := p.shell("echo " + base64.StdEncoding.EncodeToString([]byte(attack)) + " | base64 -d | bash; echo world >src/hello.txt")
			w.call.Store(&c)
			w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1")
			w.model.Take()
			r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
			log, _ := os.ReadFile(filepath.Join(w.project, ".ilchul/runs/r1/logs/greet.1.log"))
			if r.code != 0 {
				t.Fatalf("exit code %d:\n%s\n%.3000s", r.code, r.out, log)
			}
			if got := w.run(w.project, nil, "git", "show", "aisync/r1/greet.1:src/hello.txt"); got.out != "world\n" {
				t.Errorf("the branch has %q", got.out)
			}
			if got := w.run(w.project, nil, "git", "show", "--stat", "--format=", "aisync/r1/greet.1"); strings.Contains(got.out, "escaped") || !strings.Contains(got.out, "1 file changed") {
				t.Errorf("the branch has:\n%s\n%s", got.out, w.try(w.project, nil, "git", "show", "aisync/r1/greet.1:escaped").out)
			}
			if got := w.run(w.project, nil, "git", "status", "--porcelain", "--untracked-files=no"); got.out != "" {
				t.Errorf("the person's tree has changed:\n%s", got.out)
			}
			asked := ""
			for _, q := range w.model.Take() {
				asked += string(q.Body)
			}
			if !strings.Contains(asked, mark("run", "task")) || !strings.Contains(asked, "aisync commits what you leave") || strings.Contains(asked, mark("run", "key")) {
				t.Errorf("the request lacks the task, or contains the key that the sandbox hides:\n%.2000s", asked)
			}
			if got := w.run(w.project, env, "aisync", "run", "status", "r1"); strings.Count(got.out, " in a sandbox ") != 2 {
				t.Errorf("the status does not say who is confined:\n%s", got.out)
			}
			if _, err := os.Stat(filepath.Join(w.home, ".ssh")); err != nil {
				t.Fatal(err)
			}
			if left := w.processes(); len(left) > 0 {
				t.Errorf("it left running: %+v", left)
			}
			t.Logf("%.1f s\n%s", r.took.Seconds(), r.out)
		})
	}
}

// A program that takes no server but its maker's would need its login in the
// sandbox: no worker starts.
func TestProgramWithoutEndpointIsNotConfined(t *testing.T) {
	needPrograms(t)
	w, env := runWorld(t, "gemini")
	w.write(w.project, ".ilchul/config.json", `{"schemaVersion": 1, "adapters": {"gemini": {"enabled": true}}}`)
	w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--adapter", "gemini", "--worktrees", "--sandbox", "--id", "r1")
	r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
	if r.code != 3 || !strings.Contains(r.out, "task main has no worker: gemini cannot work in a sandbox") || !strings.Contains(r.out, "accepts only its vendor's server") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}
