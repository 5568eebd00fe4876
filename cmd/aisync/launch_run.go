package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// openWindow opens the agent's window and shows it.
func (a *app) openWindow(ctx context.Context, l *launcher, d launch.Decision, f launchFlags, more []string) error {
	if err := a.installed(l.program.Runtime); err != nil {
		return err
	}
	if _, err := a.cleared(ctx, l); err != nil {
		return err
	}
	if err := d.MakeID(l.root, machineName(), l.choice.Label); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	t, s := a.tmux(), launch.Plan(l.root, d, l.choice, l.program, more)
	id, name, err := t.Open(s, a.windowCommand(program, l, d, f, more), a.passedOn(l))
	if err != nil {
		launch.Unreserve(l.root, d.ID)
		return fmt.Errorf("open a window: %w", err)
	}
	began := d.ID
	if began == "" { // others may become the primary first
		began = cmp.Or(t.Began(id), launch.Primary)
	}
	a.printf("%s\n", termtext.Safe(began))
	switch {
	case t.Inside:
		a.say("started in the window %s", termtext.Safe(name))
	case !a.terminal():
		a.say("started in the window %s; to see it: tmux attach -t %s", termtext.Safe(name), launch.Session)
	default:
		return a.show(t, id)
	}
	return nil
}

// show attaches this terminal to a window.
func (a *app) show(t launch.Tmux, id string) error {
	if !t.Inside && !a.terminal() {
		return advice.Command(errors.New("this is no terminal that could show it"), "tmux attach -t "+launch.Session)
	}
	words := t.Attach(id)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = t.Environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, bare(a.out), bare(a.err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// windowCommand is this program again, in the window: it decides by what is said
// here, and where somebody else was first, anew.
func (a *app) windowCommand(program string, l *launcher, d launch.Decision, f launchFlags, more []string) []string {
	words := append(append([]string{program}, windowWords(program)...), "--no-tmux", "--type", "--runtime="+l.word)
	words = append(words, a.sameHost()...)
	switch {
	case d.Recover != nil && f.recover != "":
		words = append(words, "--recover="+launch.NameOf(*d.Recover))
	case d.ID != "":
		words = append(words, "--id="+d.ID)
		if d.Role == "helper" {
			words = append(words, "--helper")
		}
	case f.fresh:
		words = append(words, "--fresh")
	}
	words = append(words, l.root)
	if len(more) > 0 {
		words = append(append(words, "--"), more...)
	}
	return words
}

// sameHost are the global flags by which this program, started anew, means the same
// host and specs.
func (a *app) sameHost() []string {
	var words []string
	for _, g := range [][2]string{{"--config", a.g.config}, {"--host", a.g.host}, {"--facts", a.g.facts}, {"--root", a.g.root}, {"--user", a.g.user}} {
		if g[1] != "" {
			words = append(words, g[0]+"="+g[1])
		}
	}
	if a.g.offline {
		words = append(words, "--offline")
	}
	return words
}

// windowWords make a launch of the program of a file: a copy of it may be called ai.
func windowWords(program string) []string {
	if quick.Links[filepath.Base(program)] != nil {
		return nil
	}
	return []string{"launch"}
}

// passedOn are the variables of this environment that a window needs to mean the
// same: a tmux server has those of whoever started it.
func (a *app) passedOn(l *launcher) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		if start.Passed(name, l.choice.Runtime.HomeVar) {
			out = append(out, name+"="+a.env.Get(name))
		}
	}
	return out
}

// runAgent runs the agent here, and ends as its program does.
func (a *app) runAgent(ctx context.Context, l *launcher, d launch.Decision, f launchFlags, more []string) error {
	if err := a.installed(l.program.Runtime); err != nil {
		return err
	}
	checks, err := a.cleared(ctx, l)
	if err != nil {
		return err
	}
	if err := d.MakeID(l.root, machineName(), l.choice.Label); err != nil {
		return err
	}
	hold, err := launch.HoldID(l.root, d.ID)
	if errors.Is(err, launch.ErrHeld) && d.ID == "" { // somebody was faster
		a.say("aisync: another agent has just become the primary here: this one gets an id")
		d.Role, d.Recover = "agent", nil
		if err = d.MakeID(l.root, machineName(), l.choice.Label); err == nil {
			hold, err = launch.HoldID(l.root, d.ID)
		}
	}
	if err != nil {
		return err
	}
	defer hold.Release()
	if f.typed {
		a.tmux().Begin(a.env.Get("TMUX_PANE"), cmp.Or(d.ID, launch.Primary))
	}
	if d.ID == "" {
		if err := launch.Clear(l.root, d, now()); err != nil {
			return err
		}
	}
	s := launch.Plan(l.root, d, l.choice, l.program, more)
	r := launch.Runner{
		Start: s, Environ: a.env, Checks: checks, Streams: launch.Streams{In: a.in, Out: bare(a.out), Err: bare(a.err)},
		Roster: func() (roster.Roster, error) { return l.everybody() },
	}
	switch {
	case f.typed:
		r.Pane = a.env.Get("TMUX_PANE")
	case s.Type:
		a.say("%s takes no instruction when it is started; give it this one:\n%s", s.Runtime, termtext.Safe(s.Opening))
	}
	over := a.recordSession(l, s)
	code, err := r.Run(ctx)
	over(code)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return err // there was no program
	}
	if err != nil {
		a.report(err)
	}
	return programEnded{exitWith(code)}
}

// programEnded carries the exit code of an agent's program. What signals that
// had is its own matter: they were for it.
type programEnded struct{ code exitWith }

func (e programEnded) Error() string { return e.code.Error() }
func (e programEnded) Unwrap() error { return e.code }

// printLaunch shows what would be run, in words that a shell takes.
func (a *app) printLaunch(l *launcher, d launch.Decision, more []string) error {
	if d.Role != launch.Primary && d.ID == "" {
		taken, err := session.Taken(l.root, roster.Roster{Root: l.root, Agents: d.Others})
		if err != nil {
			return err
		}
		d.ID = d.NewID(l.root, machineName(), l.choice.Label, taken)
	}
	s := launch.Plan(l.root, d, l.choice, l.program, more)
	if a.g.json {
		return a.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			launch.Start
		}{viewVersion, s})
	}
	a.printf("cd %s\n", shellquote.Terminal(s.Root))
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		a.printf("export %s=%s\n", name, shellquote.Terminal(s.Environment[name]))
	}
	var words []string
	for _, w := range s.Command {
		words = append(words, shellquote.Terminal(w))
	}
	a.printf("%s\n", strings.Join(words, " "))
	if s.Type {
		a.printf("# typed into it: %s\n", termtext.Safe(s.Opening))
	}
	return nil
}
