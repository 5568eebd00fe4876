package realcli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakemodel"
)

// A program whose server is gone in the middle of its work is followed by one of
// this machine, which is told the unfinished step and the last turns.
func TestLocalProgramGoesOn(t *testing.T) {
	needWholeRun(t)
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("needs script of util-linux, for a terminal")
	}
	for _, first := range []string{"claude", "codex"} {
		t.Run(first, func(t *testing.T) {
			p := lookUp(t, first)
			said, step := mark("said", "turn"), mark("unfinished", "step")
			w := newWorldOf(t, scope{"host", true, false}, []string{first, "opencode"}, func(fakemodel.Request) fakemodel.Reply {
				return fakemodel.Reply{Text: "The first half is done: " + said + "."}
			})
			local, err := fakemodel.Start(func(fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Text: answer} })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { local.Close() })
			w.write(w.home, ".config/aisync/host.cue", fmt.Sprintf(`package aisync

hosts: here: {
	trust: true
	runtimes: {%s: {endpoint: "far"}, "local-openai": {cli: "opencode"}}
	services: {
		far: {kind: "external", url: %q, model: "fake", context: 200000}
		near: {kind: "external", url: %q, model: "near", context: 200000, apis: ["chat"]}
	}
	endpoint: "near"
	default: %q
}
`, first, w.model.URL+"/v1", local.URL+"/v1", first))
			w.write(w.project, ".ai/protocols.org", "* Protocols\n")
			w.write(w.project, ".ai/session-context.org", "#+TITLE: Session context\n#+RUNTIME: "+first+"\n\n* Summary\n- [X] the first half\n- [ ] write the second half, "+step+"\n")
			w.write(w.project, "half.txt", "one\n")
			w.aisync("apply", "--yes", "--trust")
			w.run(w.project, p.environ(w.model.URL), p.ask("Write both halves.")...)
			w.model.Close()
			cut := time.Now()

			self := filepath.Join(w.home, "ai")
			if err := os.Symlink(w.find("aisync"), self); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("script", "-qec", self+" --no-tmux .", "/dev/null")
			cmd.Dir = w.project
			cmd.Env = slices.DeleteFunc(w.environ(w.project, nil), func(v string) bool { return v == "AISYNC_OFFLINE=1" })
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			var screen bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &screen, &screen, 5*time.Second
			keys, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(keys, "\ny\n") // start the local program; resume the session
			asked := ""
			for until := cut.Add(2 * time.Minute); time.Now().Before(until) && !strings.Contains(asked, step); time.Sleep(200 * time.Millisecond) {
				for _, q := range local.Take() {
					asked += string(q.Body)
				}
			}
			took := time.Since(cut)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			_ = keys.Close()
			_ = cmd.Wait() // it was ended
			t.Logf("%.1f s", took.Seconds())
			if !strings.Contains(asked, step) || !strings.Contains(asked, ".ai/brief.md") || took > time.Minute {
				t.Errorf("after %s the local model was asked %q; on the screen:\n%s", took, asked, screen.Bytes())
			}
			text, err := os.ReadFile(filepath.Join(w.project, ".ai/brief.md"))
			for _, want := range []string{"Unfinished step: write the second half, " + step, "> The first half is done: " + said, "> Write both halves.", "> half.txt"} {
				if err != nil || !strings.Contains(string(text), want) {
					t.Errorf("the brief (error %v) does not have %q:\n%s", err, want, text)
				}
			}
		})
	}
}
