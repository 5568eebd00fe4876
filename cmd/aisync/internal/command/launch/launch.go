// Package launch is the commands that start and find agents: launch, detect,
// roster.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

// launchFlags are those of launch.
type launchFlags struct {
	runtime, id, recover                              string
	attach, list, helper, print, noTmux, fresh, typed bool
}

// What --id and --recover mean without a value.
const (
	newID    = "new"
	whatever = "last"
)

// LaunchCommand builds the command launch.
func LaunchCommand(a *cli.App) *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch [PROJECT] [-- ARG...]",
		Short: "start an agent in a project, beside those that are there",
		Long: `Starts an agent program in a project: a folder with .ai/protocols.org, named by
its path or by its name below one of the host's roots. Without PROJECT it lets
you choose. Called as ai it does the same.

The first agent in a project is its primary: it has no id, and its session file
is .ai/session-context.org. One that is started beside it, or with --id, gets an
id, HOST.PROJECT.RUNTIME.1f3a, and a session file of its own. With --helper it is
a helper of those that are there, helper-1f3a. Where the last session did not
end, it asks whether to go on with it. Programs find who they are in AI_AGENT_ID,
AI_RUNTIME, AI_PROJECT_DIR, AI_SESSION_CONTEXT, AI_HELPER, AI_MODEL and
PI_ENSEMBLE_AGENT.

--runtime names a runtime, a service of the host, a model that one serves, or
local-WORDS for the one model with these words in its name: local-qwen30b is
qwen3-coder-30b. Without it .ai/runtime.toml says which, then the project's spec,
the host's, ~/.config/rulesets/runtime.toml; else it is claude.

It opens a tmux window: in the tmux that you are in, else in the session ai, and
shows it. What follows -- goes to the program.`,
		Example: `  $ ai                                      # choose a project
  $ ai --runtime codex .                    # this one, with codex
  $ ai --runtime local-qwen30b ~/code/notes # with a model of this machine
  $ ai --helper notes                       # beside the agent that works there
  $ ai --print .                            # show what would be started`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, more := args, []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				words, more = args[:n], args[n:]
			}
			if len(words) > 1 {
				return cli.Usagef("launch wants one project, and got %d: %s", len(words), strings.Join(words, " "))
			}
			return runLaunch(cmd.Context(), a, f, words, more)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.runtime, "runtime", "", "the agent program, or a model, service or alias of this host `NAME`")
	fs.StringVar(&f.id, "id", "", "start under an `ID`, be there nobody else; --id alone makes one")
	fs.Lookup("id").NoOptDefVal = newID
	fs.BoolVar(&f.helper, "helper", false, "start a helper of the agents that are at work there")
	fs.StringVar(&f.recover, "recover", "", "go on with the session that did not end; where there are several, with that of `ID` or primary")
	fs.Lookup("recover").NoOptDefVal = whatever
	fs.BoolVar(&f.fresh, "fresh", false, "start anew; the session files of agents that did not end are archived")
	fs.BoolVar(&f.attach, "attach", false, "start nothing: show the window that runs")
	fs.BoolVar(&f.list, "list-runtimes", false, "start nothing: list what --runtime may name here")
	fs.BoolVar(&f.print, "print", false, "start nothing: print what would be run, and its environment")
	fs.BoolVar(&f.noTmux, "no-tmux", false, "run in this terminal")
	fs.BoolVar(&f.typed, "type", false, "with --no-tmux in a pane of tmux: type the opening instruction there")
	_ = fs.MarkHidden("type") // it is there: the window's own command has it
	cmd.MarkFlagsMutuallyExclusive("recover", "fresh")
	cmd.MarkFlagsMutuallyExclusive("recover", "id")
	cmd.MarkFlagsMutuallyExclusive("recover", "helper")
	cmd.MarkFlagsMutuallyExclusive("attach", "list-runtimes", "print", "no-tmux")
	return cmd
}

func runLaunch(ctx context.Context, a *cli.App, f launchFlags, words, more []string) error {
	switch {
	case f.list:
		return listRuntimes(ctx, a, words)
	case f.attach:
		return attach(ctx, a, words)
	}
	root, err := launchRoot(ctx, a, words)
	if err != nil {
		return err
	}
	l, err := Prepare(ctx, a, root, f.runtime)
	if err != nil {
		return err
	}
	d, err := decide(a, l, &f)
	if err != nil {
		return err
	}
	for _, w := range d.Warnings {
		a.Say("aisync: %s", termtext.Safe(w))
	}
	switch {
	case f.print:
		return printLaunch(a, l, d, more)
	case f.noTmux:
		return runAgent(ctx, a, l, d, f, more)
	}
	if _, err := launch.LookPath("tmux", a.Env.Get("PATH")); err != nil {
		a.Say("aisync: tmux is not installed: it runs in this terminal")
		return runAgent(ctx, a, l, d, f, more)
	}
	return openWindow(ctx, a, l, d, f, more)
}

// ask is what the flags say.
func (f launchFlags) ask() launch.Ask {
	ask := launch.Ask{Helper: f.helper, Recover: f.recover != "", Fresh: f.fresh, NewID: f.id == newID}
	if f.id != newID {
		ask.ID = f.id
	}
	if f.recover != whatever {
		ask.RecoverID = f.recover
	}
	return ask
}

// decide says who the new agent is. Where a session did not end, somebody at the
// terminal says what to do, and f has the answer then.
func decide(a *cli.App, l *Launcher, f *launchFlags) (launch.Decision, error) {
	now, err := l.Everybody()
	if err != nil {
		return launch.Decision{}, err
	}
	d, err := launch.Decide(l.root, now, f.ask())
	if !errors.Is(err, launch.ErrUndecided) || f.print {
		if errors.Is(err, launch.ErrUndecided) {
			a.Say("aisync: %s: without --print, say --recover or --fresh", unended(d.Unended()))
			err = nil
		}
		return d, err
	}
	a.Say("aisync: %s", unended(d.Unended()))
	for _, e := range d.Unended() {
		a.Say("  %s", termtext.Safe(sessioncmd.EntryLine(a, e)))
	}
	if !a.Terminal() {
		return d, advice.Command(errors.New("nobody can be asked whether to go on with it: this is no terminal"), "the same command with --recover or --fresh")
	}
	for _, e := range d.Unended() {
		yes, err := a.Ask("Go on with the session of " + launch.NameOf(e) + "?")
		if err != nil {
			return d, err
		}
		if yes {
			f.recover = launch.NameOf(e)
			return launch.Decide(l.root, now, f.ask())
		}
	}
	f.fresh = true
	return launch.Decide(l.root, now, f.ask())
}

func unended(crashed []session.Entry) string {
	if len(crashed) == 1 {
		return "the last session here did not end: that of " + launch.NameOf(crashed[0])
	}
	return fmt.Sprintf("%d sessions here did not end", len(crashed))
}

// launchRoot finds the project that is meant.
func launchRoot(ctx context.Context, a *cli.App, words []string) (string, error) {
	word := cmp.Or(append(slices.Clone(words), a.Flags.Project)...)
	if word != "" && (launch.IsPath(word) || len(words) == 0) {
		root, err := project.Root(word)
		if err == nil && !project.Is(root) {
			a.Say("aisync: %s has no %s: an agent there is told of no protocol", root, project.Protocols)
		}
		return root, err
	}
	found, err := AgentProjects(ctx, a)
	if err != nil {
		return "", err
	}
	if word != "" {
		p, err := launch.Named(found, word)
		if err != nil {
			return "", advice.Command(err, "ai PATH, or name the folder in which it lies among the roots of the host's spec")
		}
		return p.Dir, nil
	}
	if len(found) == 0 {
		return "", advice.Command(errors.New("no project was found: none of the host's roots holds a folder with "+project.Protocols), "ai PATH, or aisync apply in a project with agents: sessions: true")
	}
	in, okIn := a.In.(*os.File)
	screen, okOut := cli.Bare(a.Err).(*os.File)
	if !okIn || !okOut || !a.Terminal() {
		for _, p := range found {
			a.Printf("%s\t%s\n", termtext.Safe(p.Name), termtext.Safe(p.Dir))
		}
		u := cli.Usagef("which project? Nobody can be asked: this is no terminal")
		u.Advice = "ai PROJECT"
		return "", u
	}
	var rows []string
	width := 0
	for _, p := range found {
		width = max(width, len(p.Name))
	}
	for _, p := range found {
		rows = append(rows, fmt.Sprintf("%-*s  %s", width, p.Name, p.Dir))
	}
	i, err := launch.Pick(in, screen, "project", rows)
	if err != nil {
		return "", err
	}
	return found[i].Dir, nil
}

// AgentProjects are those below the roots of the host, or of the home where no host
// has any, the one that we stand in first.
func AgentProjects(ctx context.Context, a *cli.App) ([]launch.Project, error) {
	s, _, p, err := SpecFor(ctx, a, "")
	if err != nil {
		return nil, err
	}
	home := p.Physical(p.Home)
	roots := []string{home}
	if s.Host != nil && len(s.Host.Roots) > 0 {
		roots = nil
		for _, r := range s.Host.Roots {
			if rest, ok := strings.CutPrefix(r, "~"); ok {
				r = home + rest
			}
			roots = append(roots, filepath.Clean(r))
		}
	}
	found, err := launch.Projects(roots)
	if err != nil {
		return nil, err
	}
	if here, err := project.Root(cli.WorkingFolder()); err == nil && project.Is(here) {
		own := launch.Project{Name: project.Name(here), Dir: here}
		found = append([]launch.Project{own}, slices.DeleteFunc(found, func(p launch.Project) bool { return p == own })...)
	}
	return found, nil
}

// attach shows a window that runs.
func attach(ctx context.Context, a *cli.App, words []string) error {
	root := ""
	if len(words) > 0 {
		var err error
		if root, err = launchRoot(ctx, a, words); err != nil {
			return err
		}
	}
	t := tmux(a)
	id := t.Find(root)
	if id == "" {
		return advice.Command(errors.New("no agent runs in a window of this tmux server"), strings.TrimSpace("ai "+cmp.Or(words...)))
	}
	return show(a, t, id)
}

func tmux(a *cli.App) launch.Tmux {
	return launch.Tmux{Environ: a.Env.List(), Inside: a.Env.Get("TMUX") != ""}
}

// Everybody is who is at work in the project, with the agent that asks.
func (l *Launcher) Everybody() (roster.Roster, error) {
	return launch.Everybody(process.System(), l.root, l.catalog.Runtimes())
}
