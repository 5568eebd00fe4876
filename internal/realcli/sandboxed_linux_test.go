package realcli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Codex runs the commands of its model in a PID namespace, in both of its usual
// modes. What they ask aisync there about the other agents is true: beside a
// helper with a keeper, one without, and after its end.
func TestCodexSandboxKnowsOtherAgents(t *testing.T) {
	needWholeRun(t)
	p := lookUp(t, "codex")
	for _, mode := range []string{"workspace-write", "read-only"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, scope{}, []string{"codex"})
			w.write(w.project, ".ai/protocols.org", "")
			w.write(w.home, "tmp/.keep", "")
			w.aisync("apply", "--yes", "--trust")
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(bash)
			if err != nil {
				t.Fatal(err)
			}
			claude := filepath.Join(w.home, "claude")
			if err := os.WriteFile(claude, text, 0o755); err != nil {
				t.Fatal(err)
			}
			helper := func(script string) (stop func()) {
				ready := filepath.Join(w.home, "ready")
				cmd := exec.Command(claude, "-c", script+"; touch "+ready+"; while :; do read -rt 1 <> <(:); done")
				cmd.Dir, cmd.Env = w.project, w.environ(w.project, []string{"AI_AGENT_ID=helper-77aa", "AI_HELPER=1"})
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
				t.Cleanup(stop)
				for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					if os.Remove(ready) == nil {
						return stop
					}
					if time.Now().After(end) {
						t.Fatal("the helper did not start")
					}
				}
			}
			// asked is what commands print in the sandbox, by the model's second
			// request.
			asked := func() string {
				c := p.shell(binary + " roster --verbose; echo roster=$?; " + binary + " session list; " + binary + " session gate; echo gate=$?; " +
					binary + " session close; echo close=$?; readlink /proc/self/ns/pid")
				w.call.Store(&c)
				w.model.Take()
				argv := p.ask("Who is here?")
				i := slices.Index(argv, "exec") + 1
				// It makes no sandbox with a home below the folder of temporary files.
				env := append(p.environ(w.model.URL), "TMPDIR="+filepath.Join(w.home, "tmp"))
				r := w.try(w.project, env, slices.Insert(argv, i, "--sandbox", mode)...)
				all := ""
				for _, q := range w.model.Take() {
					all += string(q.Body)
				}
				if r.code != 0 || !strings.Contains(all, "pid:[") {
					t.Fatalf("exit code %d; the commands did not run:\n%s\n%s", r.code, r.out, all)
				}
				if strings.Contains(all, "pid:[4026531836]") {
					t.Skip("needs the sandbox of codex to have a PID namespace")
				}
				return all
			}
			check := func(when, got string, want ...string) {
				t.Helper()
				for _, text := range want {
					if !strings.Contains(got, text) {
						t.Errorf("%s: not said: %s\n%s", when, text, got)
					}
				}
				for _, text := range []string{"roster=0", "gate=0", "open: no helper", "no other agent is at work", "crashed"} {
					if strings.Contains(got, text) {
						t.Errorf("%s: said: %s\n%s", when, text, got)
					}
				}
			}
			stop := helper(binary + " session start")
			check("beside a helper with a keeper", asked(), "roster=1", "gate=1", "claude helper-77aa", "live    helper-77aa", "close=1")
			stop()
			stop = helper("true")
			check("beside one without", asked(), "roster=2", "gate=2", "stale   helper-77aa", "close=2")
			stop()
			check("after its end", asked(), "roster=2", "gate=2", "stale   helper-77aa", "close=2")
		})
	}
}
