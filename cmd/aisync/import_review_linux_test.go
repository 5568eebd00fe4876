package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/app/gather/gathertest"
)

// On a terminal import shows what it would do and asks before its first byte; a
// no, and an empty answer, write nothing. --yes, --json and --dry-run ask nothing.
func TestImportAsksOnTerminal(t *testing.T) {
	const question = "Write 2 files below "
	for _, test := range []struct {
		args   []string
		answer string // "": nothing is asked
		code   int
		writes bool
	}{
		{nil, "y\n", 0, true},
		{nil, "n\n", 1, false},
		{nil, "\n", 1, false},
		{[]string{"--yes"}, "", 0, true},
		{[]string{"--json"}, "", 0, true},
		{[]string{"--dry-run"}, "", 0, false},
	} {
		t.Run(strings.Join(append(test.args, strings.TrimSpace(test.answer)), " "), func(t *testing.T) {
			i := newImported(t)
			gathertest.Parse("small", []byte("-- .claude/rules/a.md --\n# A\n-- .claude/commands/b.md --\nB\n")).Unpack(t, i.project, i.home, nil)
			before := i.entries()
			outer, inner := terminal(t)
			cmd := exec.Command("aisync", append([]string{"import"}, test.args...)...)
			cmd.Dir, cmd.Env = i.project, i.environ()
			cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			person := &typist{outer: outer}
			go person.listen()
			must(t, cmd.Start())
			if test.answer != "" {
				at := person.awaits(t, "runtimes/claude/rules/a.md", 0)
				person.awaits(t, question, at)
				if !maps.Equal(before, i.entries()) {
					t.Error("something was written before the answer")
				}
				_, err := io.WriteString(outer, test.answer)
				must(t, err)
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != test.code {
				t.Errorf("exit code %d, want %d\n%s", got, test.code, person.text())
			}
			if asked := strings.Contains(person.text(), question); asked != (test.answer != "") {
				t.Errorf("asked: %t\n%s", asked, person.text())
			}
			if _, err := os.Stat(i.project + "/aisync.cue"); (err == nil) != test.writes {
				t.Errorf("written: %t, want %t\n%s", err == nil, test.writes, person.text())
			}
			if !test.writes && !maps.Equal(before, i.entries()) {
				t.Errorf("written:\n%s", difference(before, i.entries()))
			}
		})
	}
}
