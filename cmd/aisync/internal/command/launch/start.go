package launch

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
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// openWindow opens the agent's window and shows it.
func openWindow(ctx context.Context, a *cli.App, l *Launcher, d launch.Decision, f launchFlags, more []string) error {
	if err := Installed(a, l.Program.Runtime); err != nil {
		return err
	}
	if _, err := Cleared(ctx, a, l); err != nil {
		return err
	}
	if err := d.MakeID(l.root, cli.MachineName(), l.Choice.Label); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	t, s := tmux(a), launch.Plan(l.root, d, l.Choice, l.Program, more)
	id, name, err := t.Open(s, windowCommand(a, program, l, d, f, more), passedOn(a, l))
	if err != nil {
		launch.Unreserve(l.root, d.ID)
		return fmt.Errorf("open a window: %w", err)
	}
	began := d.ID
	if began == "" { // another agent may have become the primary first
		began = cmp.Or(t.Began(id), launch.Primary)
	}
	a.Printf("%s\n", termtext.Safe(began))
	switch {
	case t.Inside:
		a.Say("started in the window %s", termtext.Safe(name))
	case !a.Terminal():
		a.Say("started in the window %s; to show it: tmux attach -t %s", termtext.Safe(name), launch.Session)
	default:
		return show(a, t, id)
	}
	return nil
}

// show attaches this terminal to a window.
func show(a *cli.App, t launch.Tmux, id string) error {
	if !t.Inside && !a.Terminal() {
		return advice.Command(errors.New("cannot show the window: this is not a terminal"), "tmux attach -t "+launch.Session)
	}
	words := t.Attach(id)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = t.Environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, cli.Bare(a.Out), cli.Bare(a.Err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// windowCommand returns the command for the window: this program again, with the
// decision d. If another agent was faster, it decides again.
func windowCommand(a *cli.App, program string, l *Launcher, d launch.Decision, f launchFlags, more []string) []string {
	words := append(append([]string{program}, windowWords(program)...), "--no-tmux", "--type", "--runtime="+l.word)
	words = append(words, SameHost(a)...)
	if f.goOn {
		words = append(words, "--continue")
	}
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

// SameHost returns the global flags that make another start of this program use the
// same host and specs.
func SameHost(a *cli.App) []string {
	var words []string
	for _, g := range [][2]string{{"--config", a.Flags.Config}, {"--host", a.Flags.Host}, {"--facts", a.Flags.Facts}, {"--root", a.Flags.Root}, {"--user", a.Flags.User}} {
		if g[1] != "" {
			words = append(words, g[0]+"="+g[1])
		}
	}
	if a.Flags.Offline {
		words = append(words, "--offline")
	}
	return words
}

// windowWords returns the command word launch, unless the file program is called ai.
func windowWords(program string) []string {
	if quick.Links[filepath.Base(program)] != nil {
		return nil
	}
	return []string{"launch"}
}

// passedOn returns the variables that the window needs from this environment: a tmux
// server has the environment in which it was started.
func passedOn(a *cli.App, l *Launcher) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if start.Passed(name, l.Choice.Runtime.HomeVar) {
			out = append(out, name+"="+a.Env.Get(name))
		}
	}
	return out
}

// runAgent runs the agent in this terminal and returns the exit code of its program.
func runAgent(ctx context.Context, a *cli.App, l *Launcher, d launch.Decision, f launchFlags, more []string) error {
	if err := Installed(a, l.Program.Runtime); err != nil {
		return err
	}
	checks, err := Cleared(ctx, a, l)
	if err != nil {
		return err
	}
	if err := d.MakeID(l.root, cli.MachineName(), l.Choice.Label); err != nil {
		return err
	}
	hold, err := launch.HoldID(l.root, d.ID)
	if errors.Is(err, launch.ErrHeld) && d.ID == "" {
		a.Say("aisync: another agent just became the primary here: this one gets an id")
		d.Role, d.Recover = "agent", nil
		if err = d.MakeID(l.root, cli.MachineName(), l.Choice.Label); err == nil {
			hold, err = launch.HoldID(l.root, d.ID)
		}
	}
	if err != nil {
		return err
	}
	defer hold.Release()
	if f.typed {
		tmux(a).Begin(a.Env.Get("TMUX_PANE"), cmp.Or(d.ID, launch.Primary))
	}
	if d.ID == "" {
		if err := launch.Clear(l.root, d, cli.Now()); err != nil {
			return err
		}
	}
	if f.goOn {
		b := briefOf(ctx, a, l, d)
		if err := b.Write(l.root); err != nil {
			return err
		}
		d.Brief = b.Opening()
	}
	s := launch.Plan(l.root, d, l.Choice, l.Program, more)
	r := launch.Runner{
		Start: s, Environ: a.Env, Checks: checks, Streams: launch.Streams{In: a.In, Out: cli.Bare(a.Out), Err: cli.Bare(a.Err)},
		Roster: l.Agents,
	}
	switch {
	case f.typed:
		r.Pane = a.Env.Get("TMUX_PANE")
	case s.Type:
		a.Say("%s takes no instruction at its start; type this one:\n%s", s.Runtime, termtext.Safe(s.Opening))
	}
	over := recordSession(a, l, s)
	code, err := r.Run(ctx)
	over(code)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return err // the program was not started
	}
	if err != nil {
		a.Report(err)
	}
	return ProgramEnded{cli.ExitWith(code)}
}

// ProgramEnded carries the exit code of an agent's program. Signals were for the
// program, so they do not change the code.
type ProgramEnded struct{ Code cli.ExitWith }

func (e ProgramEnded) Error() string { return e.Code.Error() }
func (e ProgramEnded) Unwrap() error { return e.Code }

// printLaunch prints what would be run, quoted for a shell.
func printLaunch(a *cli.App, l *Launcher, d launch.Decision, more []string) error {
	if d.Role != launch.Primary && d.ID == "" {
		taken, err := session.Taken(l.root, roster.Roster{Root: l.root, Agents: d.Others})
		if err != nil {
			return err
		}
		d.ID = d.NewID(l.root, cli.MachineName(), l.Choice.Label, taken)
	}
	s := launch.Plan(l.root, d, l.Choice, l.Program, more)
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string `json:"format_version"`
			launch.Start
		}{cli.ViewVersion, s})
	}
	a.Printf("cd %s\n", shellquote.Terminal(s.Root))
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		a.Printf("export %s=%s\n", name, shellquote.Terminal(s.Environment[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Secrets)) {
		a.Printf("# %s holds a secret: aisync launch sets it\n", name)
	}
	var words []string
	for _, w := range s.Command {
		words = append(words, shellquote.Terminal(w))
	}
	a.Printf("%s\n", strings.Join(words, " "))
	if s.Type {
		a.Printf("# typed into the program: %s\n", termtext.Safe(s.Opening))
	}
	return nil
}
