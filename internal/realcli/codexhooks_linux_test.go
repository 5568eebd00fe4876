package realcli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hookOfCodex is what the program says of one hook.
type hookOfCodex struct {
	Key, CurrentHash, TrustStatus string
}

// hooksOfCodex asks the program which hooks it has in the project.
func (w *world) hooksOfCodex() []hookOfCodex {
	w.t.Helper()
	cmd := exec.Command(w.find("codex"), "app-server")
	cmd.Dir, cmd.Env = w.project, w.environ(w.project, nil)
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { in.Close(); cmd.Process.Kill(); cmd.Wait() }()
	for _, line := range []string{
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"aisync","version":"1"}}}`, `{"method":"initialized"}`,
		fmt.Sprintf(`{"id":2,"method":"hooks/list","params":{"cwds":[%q]}}`, w.project),
	} {
		fmt.Fprintln(in, line)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var answer struct {
			ID     int
			Result struct {
				Data []struct{ Hooks []hookOfCodex }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err == nil && answer.ID == 2 && len(answer.Result.Data) == 1 {
			return answer.Result.Data[0].Hooks
		}
	}
	w.t.Fatal("codex does not list its hooks")
	return nil
}

// allows answers what p asks its user about hooks: Codex alone does.
func (w *world) allows(p program) {
	w.t.Helper()
	if p.Package.ID == "codex" {
		w.allowHooks()
	}
}

// allowHooks answers as a person does with /hooks: each hook that codex has may run.
// It writes what the program itself writes then, with the program's own digests.
func (w *world) allowHooks() {
	w.t.Helper()
	config := filepath.Join(w.home, ".codex/config.toml")
	text, err := os.ReadFile(config)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for _, h := range w.hooksOfCodex() {
		if h.TrustStatus == "trusted" {
			continue
		}
		if strings.Contains(string(text), fmt.Sprintf("[hooks.state.%q]", h.Key)) {
			w.t.Fatalf("codex has a record of %s already, and calls it %s", h.Key, h.TrustStatus)
		}
		text = fmt.Appendf(text, "\n[hooks.state.%q]\ntrusted_hash = %q\n", h.Key, h.CurrentHash)
	}
	if err := os.WriteFile(config, text, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// Codex runs a hook only once its user has allowed it. Until then doctor fails, as
// one of them is required; afterwards it is silent, and the hooks run.
func TestCodexRunsAllowedHooks(t *testing.T) {
	needWholeRun(t)
	for _, s := range []scope{{"project", false, true}, {"host", true, false}} {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld(t, s, []string{"codex"})
			p := lookUp(t, "codex")
			w.aisync("apply", "--yes", "--trust")
			const says = "has not been allowed to run in codex"
			ask := func(want int) {
				t.Helper()
				w.run(w.project, p.environ(w.model.URL), p.ask("Say a word.")...)
				if n := w.ran(s.name, "start"); n != want {
					t.Errorf("the hook ran %d times, want %d", n, want)
				}
			}
			ask(0)
			if r := w.try(w.project, nil, "aisync", "doctor"); r.code == 0 || !strings.Contains(r.out, says) || !strings.Contains(r.out, "/hooks") {
				t.Errorf("doctor, exit code %d:\n%s", r.code, r.out)
			}
			w.allowHooks()
			ask(1)
			if r := w.try(w.project, nil, "aisync", "doctor"); strings.Contains(r.out, says) {
				t.Errorf("doctor, after they are allowed:\n%s", r.out)
			}
			if r := w.aisync("plan"); !strings.Contains(r.out, "No changes.") {
				t.Errorf("plan, after they are allowed:\n%s", r.out)
			}
		})
	}
}
