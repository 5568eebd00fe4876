package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// typist types at a terminal, as a person does who waits for each question.
type typist struct {
	outer *os.File
	mu    sync.Mutex
	seen  bytes.Buffer
}

// listen reads what the terminal shows until it is gone.
func (p *typist) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := p.outer.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// awaits waits for text that was not there before from.
func (p *typist) awaits(t *testing.T, text string, from int) (shown int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all := p.text()
		if i := strings.Index(all[from:], text); i >= 0 {
			return from + i + len(text)
		}
	}
	t.Fatalf("never asked %q:\n%s", text, p.text())
	return 0
}

// awaitRead waits until a thread of the process reads its standard input or its
// terminal: only then has a command that asks nothing begun.
func awaitRead(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		must(t, err)
		for _, task := range tasks {
			call, err := os.ReadFile(task) // the number of the call and its arguments, or "running"
			if errors.Is(err, fs.ErrPermission) {
				time.Sleep(time.Second) // where /proc tells this user nothing
				return
			}
			var number, file int
			if n, _ := fmt.Sscanf(string(call), "%d 0x%x", &number, &file); n != 2 || number != syscall.SYS_READ {
				continue
			}
			if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, file)); err == nil && (to == "/dev/tty" || strings.HasPrefix(to, "/dev/pts/")) {
				return
			}
		}
	}
	t.Fatal("it never read")
}

// text is all that the terminal showed.
func (p *typist) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Ctrl-C at a question ends the command at once, with its code, and nothing is
// changed by it; so does SIGTERM.
func TestSignalEndsCommandAtPrompt(t *testing.T) {
	applied := func(t *testing.T, p person) { p.must(t, "apply", "--scope", "project", "--yes", "--trust") }
	for _, c := range []struct {
		name   string
		before func(t *testing.T, p person) // brings the machine to where the question comes
		args   []string
		talk   []string // questions, and between them the answers
	}{
		{"apply, effects", nil, []string{"apply", "--scope", "project"}, []string{"for your yes"}},
		{"apply, changes", nil, []string{"apply", "--scope", "project"}, []string{"for your yes", "y\n", "Apply these"}},
		{"destroy", applied, []string{"destroy", "--scope", "project"}, []string{"Uninstall"}},
		{"rollback", applied, []string{"rollback"}, []string{"Undo"}},
		{"prune", func(t *testing.T, p person) {
			applied(t, p)
			must(t, os.Rename(p.project(), p.project()+"-moved"))
		}, []string{"prune"}, []string{"Uninstall its leftovers?"}},
		{"launch", func(t *testing.T, p person) {
			must(t, os.WriteFile(filepath.Join(p.project(), ".mcp.json"), []byte(`{"mcpServers": {"theirs": {"command": "theirs"}}}`), 0o644))
			must(t, os.WriteFile(filepath.Join(p.dir, "claude"), []byte("#!/bin/sh\n"), 0o755))
		}, []string{"launch", "--no-tmux", "--runtime", "claude", "."}, []string{"Start claude with these?"}},
		{"import", func(t *testing.T, p person) {
			must(t, os.Remove(filepath.Join(p.project(), "aisync.cue")))
			must(t, os.MkdirAll(filepath.Join(p.project(), ".cursor/rules"), 0o755))
			must(t, os.WriteFile(filepath.Join(p.project(), ".cursor/rules/tabs.mdc"), []byte("---\nalwaysApply: true\n---\nUse tabs.\n"), 0o644))
		}, []string{"import"}, []string{"and the spec? [y/N]"}},
		{"a text that is typed", nil, []string{"message", "send", "pearl.p", "-"}, nil},
	} {
		for _, signal := range []struct {
			name string
			send func(terminal *os.File, program *os.Process) error
			code int
		}{
			{"Ctrl-C", func(terminal *os.File, _ *os.Process) error { _, err := io.WriteString(terminal, "\x03"); return err }, 130},
			{"SIGTERM", func(_ *os.File, program *os.Process) error { return program.Signal(syscall.SIGTERM) }, 143},
		} {
			t.Run(c.name+" "+signal.name, func(t *testing.T) {
				p := newPerson(t)
				if c.before != nil {
					c.before(t, p)
				}
				outer, inner := terminal(t)
				cmd := p.aisync(c.args...)
				if _, err := os.Stat(cmd.Dir); err != nil {
					cmd.Dir = p.dir
				}
				cmd.Env = append(slices.Clone(p.env), "AISYNC_OFFLINE=", "PATH="+p.dir+":"+os.Getenv("PATH"))
				cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
				before := changeable(t, p)
				must(t, cmd.Start())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				who := &typist{outer: outer}
				go who.listen()
				at := 0
				for i, text := range c.talk {
					if i%2 == 0 {
						at = who.awaits(t, text, at)
					} else if _, err := io.WriteString(outer, text); err != nil {
						t.Fatal(err)
					}
				}
				awaitRead(t, cmd.Process.Pid)
				began := time.Now()
				must(t, signal.send(outer, cmd.Process))
				select {
				case err := <-ended:
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() != signal.code {
						t.Errorf("ended after %v with %v, want exit code %d\n%s", time.Since(began), err, signal.code, who.text())
					}
				case <-time.After(20 * time.Second):
					must(t, cmd.Process.Kill())
					<-ended
					t.Fatalf("it goes on\n%s", who.text())
				}
				if after := changeable(t, p); !maps.Equal(before, after) {
					t.Errorf("something was changed:\n%v\nwas\n%v", after, before)
				}
			})
		}
	}
}

// changeable is the tree of p without what aisync notes for itself.
func changeable(t *testing.T, p person) map[string]string {
	t.Helper()
	all := tree(t, p.dir)
	maps.DeleteFunc(all, func(name, _ string) bool {
		return strings.Contains(name+"/", "/.local/state/") || strings.HasSuffix(name, "/.local") || strings.Contains(name+"/", "/.cache/")
	})
	return all
}
