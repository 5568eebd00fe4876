package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Session is the tmux session that windows are opened in from outside of tmux.
const Session = "ai"

// Tmux is the tmux server that an environment leads to.
type Tmux struct {
	Environ []string
	Inside  bool // we run in one of its panes
}

// Options of windows, by which they are found again.
const (
	optionRoot    = "@ai_project"
	optionLabel   = "@ai_runtime"
	optionCounted = "@ai_agent" // the id of a helper, which has a name of its own
	optionBegan   = "@ai_began" // who the agent is that began there
)

func (t Tmux) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", args...)
	cmd.Env = t.Environ
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("tmux %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// window is one of ours.
type window struct{ id, name, root, label, helper string }

// list are the windows of the server that this package opened; none where no
// server runs.
func (t Tmux) list() []window {
	out, err := t.run("list-windows", "-a", "-F", strings.Join([]string{"#{window_id}", "#{window_name}", "#{" + optionRoot + "}", "#{" + optionLabel + "}", "#{" + optionCounted + "}"}, "\t"))
	if err != nil {
		return nil
	}
	var ours []window
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Split(line, "\t")
		if len(f) == 5 && f[2] != "" {
			ours = append(ours, window{f[0], f[1], f[2], f[3], f[4]})
		}
	}
	return ours
}

// Open opens a window for s, in which command runs, and names it; the first
// window of a project gets its runtime's name when a second one comes. pass is
// the environment that the window gets on top of the server's. It returns the
// window's id and name.
func (t Tmux) Open(s Start, command, pass []string) (id, name string, err error) {
	lock, err := hold(s.Root, windows, true) // two launches must see each other's windows
	if err != nil {
		return "", "", err
	}
	defer lock.Release()
	var beside []window
	for _, w := range t.list() {
		if w.root == s.Root && w.helper == "" {
			beside = append(beside, w)
		}
	}
	name = s.Window(len(beside) > 0)
	if id, err = t.open(s.Root, name, command, pass); err != nil {
		return "", "", err
	}
	helper := ""
	if s.Role == "helper" {
		helper = s.ID
	} else {
		for _, w := range beside {
			if plain := (Start{Root: s.Root}).Window(false); w.name == plain {
				if _, err := t.run("rename-window", "-t", w.id, plain+":"+w.label); err != nil {
					return "", "", err
				}
			}
		}
	}
	for _, o := range [][2]string{{optionRoot, s.Root}, {optionLabel, s.Label}, {optionCounted, helper}, {"allow-rename", "off"}, {"automatic-rename", "off"}} {
		if _, err := t.run("set-option", "-w", "-t", id, o[0], o[1]); err != nil && len(t.list()) > len(beside) {
			return "", "", err // where the program has ended at once, its window is gone
		}
	}
	return id, name, nil
}

func (t Tmux) open(dir, name string, command, pass []string) (string, error) {
	var env []string
	for _, kv := range pass {
		env = append(env, "-e", kv)
	}
	args := slices.Concat([]string{"-P", "-F", "#{window_id}", "-n", name, "-c", dir}, env, []string{"--"}, command)
	if t.Inside {
		return t.run(append([]string{"new-window"}, args...)...)
	}
	if _, err := t.run("has-session", "-t", "="+Session); err != nil {
		id, err := t.run(append([]string{"new-session", "-d", "-s", Session}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "duplicate session") {
			return id, err
		}
	}
	return t.run(append([]string{"new-window", "-t", "=" + Session + ":"}, args...)...)
}

// Begin notes in the window of a pane who has begun there: the launcher that
// opened it may wait for that. Outside of a window it does nothing.
func (t Tmux) Begin(pane, name string) {
	if pane != "" {
		_, _ = t.run("set-option", "-w", "-t", pane, optionBegan, name) // the other one waits no longer than it has patience
	}
}

// patience is how long Began waits: a launcher begins in a tenth of a second.
const patience = 10 * time.Second

// Began waits for who has begun in a window: where two are opened in the same
// moment, the one that comes later is somebody else than it was to be. "" where
// the window has gone, or nobody begins.
func (t Tmux) Began(id string) string {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		name, err := t.run("show-options", "-w", "-v", "-q", "-t", id, optionBegan)
		if err != nil || name != "" {
			return name
		}
	}
	return ""
}

// Find is the window of a project that an agent of ours was opened in last, or
// with an empty root of any project; "" where there is none.
func (t Tmux) Find(root string) string {
	id := ""
	for _, w := range t.list() {
		if root == "" || w.root == root {
			id = w.id
		}
	}
	return id
}

// Attach is the command that shows a window in this terminal.
func (t Tmux) Attach(id string) []string {
	if t.Inside {
		return []string{"tmux", "switch-client", "-t", id}
	}
	return []string{"tmux", "attach-session", "-t", id}
}

// typeEvery is how often a program is looked at until it takes input.
const typeEvery = 100 * time.Millisecond

// typeOpening types the instruction into the program's pane, for one that takes
// none as an argument: once it shows that it is ready, or after its delay.
func (r Runner) typeOpening(done <-chan struct{}) error {
	if !r.Start.Type || r.Pane == "" || r.Start.Opening == "" {
		return nil
	}
	var environ []string
	for name, value := range r.Environ {
		environ = append(environ, name+"="+value)
	}
	t := Tmux{Environ: environ}
	delay := time.Duration(r.Start.ReadyDelay) * time.Millisecond
	if delay == 0 {
		delay = 3 * time.Second
	}
	for began := time.Now(); time.Since(began) < delay; {
		select {
		case <-done:
			return nil
		case <-time.After(typeEvery):
		}
		if r.Start.Ready == "" {
			continue
		}
		if shown, err := t.run("capture-pane", "-p", "-t", r.Pane); err == nil && ready(shown, r.Start.Ready) {
			break
		}
	}
	if _, err := t.run("send-keys", "-t", r.Pane, "-l", "--", r.Start.Opening); err != nil {
		return fmt.Errorf("type the opening instruction: %w", err)
	}
	time.Sleep(typeEvery) // a program that takes pasted text apart needs to see its end
	_, err := t.run("send-keys", "-t", r.Pane, "Enter")
	return err
}

// ready reports whether a screen shows what a program prints when it takes
// input. A screen has no blanks at the end of its lines.
func ready(screen, prompt string) bool {
	return strings.Contains(screen, strings.TrimRight(prompt, " "))
}
