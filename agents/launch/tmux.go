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

// Session is the tmux session for windows opened from outside tmux.
const Session = "ai"

// Tmux is the tmux server of an environment.
type Tmux struct {
	Environ []string
	Inside  bool // this process runs in one of its panes
}

// Window options that identify our windows.
const (
	optionRoot    = "@ai_project"
	optionLabel   = "@ai_runtime"
	optionCounted = "@ai_agent" // the id of a helper, which is not in its name
	optionStarted = "@ai_began" // the agent that started there
)

func (t Tmux) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u"}, args...)...) // outside a UTF-8 locale tmux replaces tabs and letters beyond ASCII
	cmd.Env = t.Environ
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("tmux %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// window is a window that this package opened.
type window struct{ id, name, root, label, helper string }

// list returns the windows of the server that this package opened; none where no
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

// Open opens and names a window for s, in which command runs, and returns the
// window's id and name. When a second window of a project opens, the first gets
// its runtime's name. pass is added to the server's environment.
func (t Tmux) Open(s Start, command, pass []string) (id, name string, err error) {
	lock, err := hold(s.Root, windows, true) // concurrent launches must see each other's windows
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
			return "", "", err // if the program has ended already, its window is gone
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

// Begin records in a pane's window which agent started there, for the launcher
// that opened it. Outside a window it does nothing.
func (t Tmux) Begin(pane, name string) {
	if pane != "" {
		_, _ = t.run("set-option", "-w", "-t", pane, optionStarted, name) // the launcher stops waiting after patience
	}
}

// patience bounds the wait of Began: a launcher starts in a tenth of a second.
const patience = 10 * time.Second

// Began returns the agent that started in a window. Where two windows open at
// once, the later agent may differ from the decision. It returns "" where the
// window is gone or no agent starts.
func (t Tmux) Began(id string) string {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		name, err := t.run("show-options", "-w", "-v", "-q", "-t", id, optionStarted)
		if err != nil || name != "" {
			return name
		}
	}
	return ""
}

// Find returns the latest window of a project that runs an agent of ours, of any
// project where root is ""; "" where there is none.
func (t Tmux) Find(root string) string {
	id := ""
	for _, w := range t.list() {
		if root == "" || w.root == root {
			id = w.id
		}
	}
	return id
}

// Attach returns the command that shows a window in this terminal.
func (t Tmux) Attach(id string) []string {
	if t.Inside {
		return []string{"tmux", "switch-client", "-t", id}
	}
	return []string{"tmux", "attach-session", "-t", id}
}

// promptPoll is the poll interval for a program's prompt.
const promptPoll = 100 * time.Millisecond

// typeOpening types the instruction into the program's pane, for a program that
// takes none as an argument: when the program shows its prompt, or after its
// delay.
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
		case <-time.After(promptPoll):
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
	time.Sleep(promptPoll) // a program that detects pasted text needs to see its end
	_, err := t.run("send-keys", "-t", r.Pane, "Enter")
	return err
}

// ready reports whether a screen shows the program's prompt. Screen lines have
// no trailing blanks.
func ready(screen, prompt string) bool {
	return strings.Contains(screen, strings.TrimRight(prompt, " "))
}
