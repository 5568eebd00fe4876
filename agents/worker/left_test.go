package worker

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// daemon is a script that leaves a process in another session, writes its number
// to pid, and goes on with more.
func daemon(more string) string {
	return `setsid sh -c 'echo $$ > pid; exec sleep 77' & until test -s pid; do sleep 0.05; done; ` + more
}

// daemonOf returns the number of that process.
func daemonOf(t *testing.T, j Job) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	return pid
}

func lives(pid int) bool {
	_, err := process.System().Read(pid)
	return err == nil
}

func TestAgentLeavesNoProcess(t *testing.T) {
	for name, in := range map[string]string{"process": Process, "tmux": Tmux} {
		t.Run(name, func(t *testing.T) {
			s := starter()
			if in == Tmux {
				s = inTmux(t)
			}
			folder, j := job(t, daemon("exit 0"))
			j.Substrate, j.Agent = in, true
			start(t, s, folder, j)
			o := await(t, folder, j, "gone", gone)
			if pid := daemonOf(t, j); lives(pid) || o.Exit == nil || len(o.Exit.Left) == 0 || !strings.Contains(o.String(), "what it left running was ended: ") {
				t.Errorf("process %d lives: %v; seen: %s", pid, lives(pid), o)
			}
		})
	}
	// A command may start a server on purpose.
	folder, j := job(t, daemon("exit 0"))
	start(t, starter(), folder, j)
	o := await(t, folder, j, "ended", func(o Observation) bool { return o.State == Ended })
	if pid := daemonOf(t, j); !lives(pid) || len(o.Exit.Left) != 0 {
		t.Errorf("what a command started was ended: %s", o)
	}
}

// A process whose parent dies while the list of processes is read hangs from no
// process in it: an empty list is no proof that none is left.
func TestAgentLeavesNoHoppingProcess(t *testing.T) {
	folder, j := job(t, `trap '' TERM; cat >hop <<'EOF'
test "$1" -gt 0 || { echo $$ >pid; exec sleep 77; }
sh hop $(($1 - 1)) &
EOF
sh hop 300 & exit 0`)
	j.Agent = true
	start(t, starter(), folder, j)
	o := await(t, folder, j, "gone", gone)
	for _, left := range Leftovers(process.System(), j.Marker)[j.Marker] {
		t.Errorf("%s is left: %s", left, o)
		t.Cleanup(func() { _ = unix.Kill(left.PID, unix.SIGKILL) })
	}
}

func TestLeftoversOfKilledKeeperAreFound(t *testing.T) {
	folder, j := job(t, daemon("exec sleep 78"))
	j.Agent = true
	start(t, starter(), folder, j)
	o := await(t, folder, j, "running", running)
	await(t, folder, j, "a daemon", func(Observation) bool {
		text, _ := os.ReadFile(filepath.Join(j.Dir, "pid"))
		return len(text) > 0
	})
	pid := daemonOf(t, j)
	kill(t, o, unix.SIGKILL)
	await(t, folder, j, "an orphan", func(o Observation) bool { return o.Keeper == Gone })
	left := Leftovers(process.System(), j.Marker, "another")
	if len(left[j.Marker]) < 2 || !strings.Contains(Names(left[j.Marker]), "sleep 77") || len(left["another"]) != 0 {
		t.Errorf("found %v", left)
	}
	if err := EndLeft(context.Background(), process.System(), j.Marker); err != nil || lives(pid) {
		t.Errorf("process %d lives: %v, %v", pid, lives(pid), err)
	}
	await(t, folder, j, "gone", gone)
}

// A dialog looks like a prompt: it is reported, and the worker is ready when the
// prompt is there without it.
func TestDialogIsNotReady(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, `printf '  Trust this folder? It can run code.\n\n› 1. Trust and continue\n'; until test -e go; do sleep 0.05; done; clear; printf '› Ask me\n'; exec sleep 60`)
	j.Substrate, j.Ready, j.ReadyDelay, j.Dialogs = Tmux, "› ", 300, []string{"Trust this folder?"}
	start(t, s, folder, j, "TERM=xterm")
	o := await(t, folder, j, "asking", func(o Observation) bool { return o.Asks != nil })
	if o.Ready != nil || o.Asks.Text != "Trust this folder? It can run code." || !strings.Contains(o.String(), `waiting for an answer to "Trust this folder? It can run code."`) {
		t.Errorf("seen: %s, ready %+v", o, o.Ready)
	}
	if err := os.WriteFile(filepath.Join(j.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := await(t, folder, j, "answered", func(o Observation) bool { return running(o) && o.Asks == nil }); o.Ready.How != "shows that it takes input" || strings.Contains(o.String(), "waiting") {
		t.Errorf("seen: %s, %s", o, o.Ready.How)
	}
}

func TestDialogAfterPromptIsReported(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, `printf '› Ask me\n'; until test -e go; do sleep 0.05; done; clear; printf 'Trust this folder?\n› 1. Trust\n'; until test -e on; do sleep 0.05; done; clear; echo working; exec sleep 60`)
	j.Substrate, j.Ready, j.Dialogs = Tmux, "› ", []string{"Trust this folder?"}
	start(t, s, folder, j, "TERM=xterm")
	await(t, folder, j, "ready", running)
	for _, step := range []struct {
		file string
		asks bool
	}{{"go", true}, {"on", false}} {
		if err := os.WriteFile(filepath.Join(j.Dir, step.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, folder, j, step.file, func(o Observation) bool { return (o.Asks != nil) == step.asks })
	}
}
