package realcli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakemodel"
)

// drillScript is what an agent does: it begins its session and then edits todo.org
// and notes so in the ledger, again and again. The primary answers the test, too,
// whether its last pass over whole files may begin.
const drillScript = `
name=$1 heading=$2
failed() { # a step that the test has killed, perhaps before this shell, has not
	[ $? -gt 128 ] || echo "$name: $1" >>"$HOME/failed"
	return 1
}
aisync session start >/dev/null || exit 1
aisync ledger claim "src/$name" >/dev/null || exit 1
i=0
while [ ! -e "$HOME/stop-$name" ]; do
	aisync session edit todo.org --heading "$heading" --append "** TODO $name-$i" >/dev/null || failed "edit $i" || break
	aisync ledger note "$name-$i" >/dev/null || failed "note $i" || break
	i=$((i + 1))
	echo $i >"$HOME/count.tmp-$name" && mv "$HOME/count.tmp-$name" "$HOME/count-$name"
	if [ "$heading" = Inbox ] && [ -e "$HOME/ask" ]; then
		{ aisync session gate; echo "exit code $?"; } >"$HOME/answer.tmp" 2>&1
		rm "$HOME/ask" && mv "$HOME/answer.tmp" "$HOME/answer"
	fi
done
if [ "$heading" = Inbox ]; then
	aisync session gate >"$HOME/answer" 2>&1
	[ $? = 1 ] || { git add -A && git -c user.name=x -c user.email=x commit -qm wrap; } >>"$HOME/answer" 2>&1
fi
`

// TestCorruptionDrill has a primary and helpers, real programs, write to one file
// and one ledger at the same time, and kills the helpers: while one works, the
// primary's gate is shut; nothing that was written is lost, doubled or torn; each
// edit is in its agent's journal; and the primary's commit takes what the helpers
// left.
func TestCorruptionDrill(t *testing.T) {
	needPrograms(t)
	claude := lookUp(t, "claude")
	claude.flags = append(slices.Clone(claude.flags), "--allowedTools=Bash")
	w := newWorldOf(t, scope{"project", false, true}, []string{"claude"}, func(q fakemodel.Request) fakemodel.Reply {
		name := regexp.MustCompile(`You are (primary|helper-\d{4})\.`).FindSubmatch(q.Body)
		if name == nil || !slices.Contains(q.Tools, "Bash") {
			return fakemodel.Reply{Text: answer}
		}
		helper := string(name[1]) != "primary"
		steps := []string{"sh ../home/work.sh primary Inbox"}
		if helper {
			steps = []string{"git commit -qam sneaked --allow-empty", "sh ../home/work.sh " + string(name[1]) + " Later"}
		}
		if q.Turn >= len(steps) {
			return fakemodel.Reply{Text: answer}
		}
		c := claude.shell(steps[q.Turn])
		return fakemodel.Reply{Call: &c}
	})
	w.write(w.project, "aisync.cue", "package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [\"claude\"]\n\tagents: {\n\t\tsessions: true\n\t\tledger:   true\n\t}\n}\n")
	w.write(w.project, "todo.org", "* Inbox\n* Later\n")
	w.write(w.home, "work.sh", drillScript)
	w.run(w.project, nil, "git", "init", "-q", "-b", "main", ".")
	w.aisync("apply", "--yes", "--trust")
	w.run(w.project, nil, "git", "add", "-A")
	w.run(w.project, nil, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "one")

	in := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(w.home, name)) // "" until it is there
		return string(text)
	}
	count := func(name string) int {
		n, _ := strconv.Atoi(strings.TrimSpace(in("count-" + name)))
		return n
	}
	begin := func(name string, env ...string) (*exec.Cmd, *bytes.Buffer) {
		t.Helper()
		argv := claude.ask("You are " + name + ". Work on todo.org.")
		cmd := exec.Command(w.find(argv[0]), argv[1:]...)
		cmd.Dir, cmd.Env = w.project, append(w.environ(w.project, claude.environ(w.model.URL)), append(env, "DRILL="+name)...)
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { killAll(t, "DRILL="+name) })
		return cmd, out
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format, args...)
		w.keep()
	}
	gate := func() string {
		t.Helper()
		w.write(w.home, "ask", "")
		until(t, "the primary's answer", func() bool { return in("answer") != "" || in("failed") != "" })
		text := in("answer")
		_ = os.Remove(filepath.Join(w.home, "answer"))
		return text
	}
	// written are the numbers that an agent has written to todo.org, of which every
	// line is known.
	written := func(name string) (out []int) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(w.project, "todo.org"))
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			fail("todo.org: error %v\n%s", err, text)
		}
		line := regexp.MustCompile(`^(?:\* (?:Inbox|Later)|\*\* TODO (primary|helper-\d{4})-(\d+))$`)
		for _, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			m := line.FindStringSubmatch(l)
			if m == nil {
				fail("todo.org has a line that no agent has written: %q", l)
			} else if n, err := strconv.Atoi(m[2]); err == nil && m[1] == name {
				out = append(out, n)
			}
		}
		return out
	}
	// whole checks what is left of an agent that has done n steps, and perhaps
	// another one.
	whole := func(name, context string, n int) {
		t.Helper()
		got := written(name)
		if len(got) < n || len(got) > n+1 || !slices.IsSorted(got) || len(got) > 0 && got[len(got)-1] != len(got)-1 {
			fail("%s has done %d edits; of it todo.org has %v", name, n, got)
		}
		journal, err := os.ReadFile(filepath.Join(w.project, context))
		board := w.aisync("ledger", "board").out
		for i := range got {
			if !strings.Contains(string(journal), fmt.Sprintf("** TODO %s-%d\n", name, i)) {
				fail("%s (error %v) has no line of edit %d", context, err, i)
			}
			if i < n && !strings.Contains(board, fmt.Sprintf("\n%s-%d\n", name, i)) {
				fail("the blackboard has no note %s-%d", name, i)
			}
		}
	}

	primary, primaryOut := begin("primary")
	until(t, "the primary's first edits", func() bool { return count("primary") > 2 || in("failed") != "" })
	rounds := 3
	if everyWay {
		rounds = 30
	}
	for r := range rounds {
		name := fmt.Sprintf("helper-%04d", r)
		helper, out := begin(name, "AI_AGENT_ID="+name, "AI_HELPER=1")
		until(t, name+"'s first edits", func() bool { return count(name) > 2 || in("failed") != "" })
		if got := gate(); !strings.Contains(got, "exit code 1") || !strings.Contains(got, "live    "+name) && !strings.Contains(got, "live "+name) {
			fail("the gate beside %s: %s\n%s", name, got, out)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		killAll(t, "DRILL="+name)
		_ = helper.Wait() // it was killed
		whole(name, ".ai/session-context.d/"+name+".org", count(name))
		// Agents of this machine outside the namespace of the test may be anywhere: the
		// gate says so, and then the person does.
		archive := []string{"session", "archive", "--agent", name, "the drill"}
		switch got := gate(); {
		case strings.Contains(got, "hides its folder from this user") && strings.Contains(got, "exit code 2"):
			archive = append(archive, "--gone")
		case !strings.Contains(got, "exit code 0") || !strings.Contains(got, "crashed "+name):
			fail("the gate after %s: %s", name, got)
		}
		w.aisync(archive...)
		if w.try(w.project, nil, "aisync", "ledger", "verify").code != 0 { // one step between a file and its line may be undone
			w.aisync("ledger", "repair", "--by", "person")
			w.aisync("ledger", "verify")
		}
		w.aisync("ledger", "claim", "src/"+name, "--agent", "person")
	}
	w.write(w.home, "stop-primary", "")
	if err := primary.Wait(); err != nil || in("failed") != "" {
		fail("the primary: %v, failed: %s\n%s\n%s", err, in("failed"), in("answer"), primaryOut)
	}
	whole("primary", ".ai/session-context.org", count("primary"))
	if out := w.run(w.project, nil, "git", "status", "--porcelain", "todo.org").out; out != "" {
		fail("the primary's commit left %s: %s", out, in("answer"))
	}
	if log := w.run(w.project, nil, "git", "log", "--format=%s").out; strings.TrimSpace(log) != "wrap\none" {
		fail("a helper committed, or the primary did not:\n%s\n%s", log, in("answer"))
	}
}

// killAll kills every process that has the variable, until none is left.
func killAll(t *testing.T, variable string) {
	t.Helper()
	until(t, "the end of all of "+variable, func() bool {
		left := false
		found, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), variable) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
				left = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return !left
	})
}
