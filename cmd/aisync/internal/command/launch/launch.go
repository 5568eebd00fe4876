// Package launch provides the commands that start and find agents: launch, detect and
// roster. Other commands start a runtime through Prepare and Cleared.
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
	"aisync.dev/aisync/reconcile"
)

// launchFlags holds the flags of launch.
type launchFlags struct {
	runtime, id, recover                              string
	attach, list, helper, print, noTmux, fresh, typed bool
	goOn                                              bool
}

// The values of --id and --recover when given without one.
const (
	newID       = "new"
	lastSession = "last"
)

// LaunchCommand builds the command launch.
func LaunchCommand(a *cli.App) *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch [PROJECT] [-- ARG...]",
		Short: "start an agent in a project, beside agents that already run there",
		Long: `Starts an agent program in a project: a folder with .ai/protocols.org, given by
its path or by its name below one of the host's roots. Without PROJECT it shows
a list to choose from. Called as ai, the program runs this command.

The first agent in a project is the primary: it has no id, and its session file
is .ai/session-context.org. Every other agent, and one started with --id, gets
an id, HOST.PROJECT.RUNTIME.1f3a, and a separate session file; --helper makes it
a helper, helper-1f3a. If the last session did not end, launch asks whether to
resume it. --continue briefs the new agent on the work of the last one, in
.ai/brief.md: its session file, its last turns where Claude Code or Codex keeps
them, git's changes, claims and tasks; and it names the unfinished step. The program reads its identity from AI_AGENT_ID, AI_RUNTIME,
AI_PROJECT_DIR, AI_SESSION_CONTEXT, AI_HELPER, AI_MODEL and PI_ENSEMBLE_AGENT.

--runtime takes a runtime, a service of the host, a model that a service serves,
or local-WORDS for the only model with these words in its name: local-qwen30b is
qwen3-coder-30b. The default comes from .ai/runtime.toml, the project's spec,
the host's spec, or ~/.config/rulesets/runtime.toml, in this order; else it is
claude.

Before it starts a program, launch looks for 2 seconds at most whether the server
of that program answers: its maker's, or the service to which the spec points it.
It offers to start a service that does not run, waits for one that loads its
model, and offers a program of this machine in place of one that reaches nothing.
Without a terminal it ends with what to type, and exit code 7 where a network is
missing. --offline looks at services of this machine alone.

The agent runs in a tmux window: of the tmux you are in, else of the session ai,
which launch shows. Arguments after -- go to the program.`,
		Example: `  $ ai                                      # choose a project
  $ ai --runtime codex .                    # this project, with codex
  $ ai --runtime local-qwen30b ~/code/notes # with a local model
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
				return cli.Usagef("launch takes one project, not %d: %s", len(words), strings.Join(words, " "))
			}
			return runLaunch(cmd.Context(), a, f, words, more)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.runtime, "runtime", "", "start `NAME`: a runtime, or a model, service or alias of this host")
	fs.StringVar(&f.id, "id", "", "start under this `ID` even as the only agent; without a value, under a new one")
	fs.Lookup("id").NoOptDefVal = newID
	fs.BoolVar(&f.helper, "helper", false, "start a helper of the agents that run there")
	fs.StringVar(&f.recover, "recover", "", "resume the session that did not end; of several, that of `ID` or primary")
	fs.Lookup("recover").NoOptDefVal = lastSession
	fs.BoolVar(&f.fresh, "fresh", false, "start a new session, and archive the session files of agents that did not end")
	fs.BoolVar(&f.goOn, "continue", false, "go on with the work of the last agent here, whichever program it was")
	fs.BoolVar(&f.attach, "attach", false, "start nothing: show the agent's window")
	fs.BoolVar(&f.list, "list-runtimes", false, "start nothing: list the values of --runtime")
	fs.BoolVar(&f.print, "print", false, "start nothing: print the command and its environment")
	fs.BoolVar(&f.noTmux, "no-tmux", false, "run in this terminal")
	fs.BoolVar(&f.typed, "type", false, "with --no-tmux in a pane of tmux: type the opening instruction there")
	_ = fs.MarkHidden("type") // for the command that launch runs in the window
	cmd.MarkFlagsMutuallyExclusive("recover", "fresh")
	cmd.MarkFlagsMutuallyExclusive("recover", "id")
	cmd.MarkFlagsMutuallyExclusive("recover", "helper")
	cmd.MarkFlagsMutuallyExclusive("continue", "fresh")
	cmd.MarkFlagsMutuallyExclusive("continue", "helper")
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
	if !f.print && (err == nil || l != nil && errors.Is(err, reconcile.ErrOffline)) {
		l, err = reached(ctx, a, l, err)
	}
	if err != nil {
		return err
	}
	l.sayLoosened(a)
	d, err := decide(a, l, &f)
	if err != nil {
		return err
	}
	if d.Recover != nil && d.Recover.Runtime != "" && d.Recover.Runtime != l.Choice.Runtime.ID {
		f.goOn = true // another program has not read what it goes on with
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
		a.Say("aisync: tmux is not installed: running in this terminal")
		return runAgent(ctx, a, l, d, f, more)
	}
	return openWindow(ctx, a, l, d, f, more)
}

// ask returns what the flags ask for.
func (f launchFlags) ask() launch.Ask {
	ask := launch.Ask{Helper: f.helper, Recover: f.recover != "", Fresh: f.fresh, NewID: f.id == newID}
	if f.id != newID {
		ask.ID = f.id
	}
	if f.recover != lastSession {
		ask.RecoverID = f.recover
	}
	return ask
}

// decide returns the identity of the new agent. If a session did not end, it asks the
// person what to do and stores the answer in f.
func decide(a *cli.App, l *Launcher, f *launchFlags) (launch.Decision, error) {
	now := l.Agents()
	d, err := launch.Decide(l.root, now, f.ask())
	if !errors.Is(err, launch.ErrUndecided) || f.print {
		if errors.Is(err, launch.ErrUndecided) {
			a.Say("aisync: %s: without --print, add --recover or --fresh", unended(d.Unended()))
			err = nil
		}
		return d, err
	}
	if one := d.Unended(); f.goOn && len(one) == 1 {
		f.recover = launch.NameOf(one[0])
		return launch.Decide(l.root, now, f.ask())
	}
	a.Say("aisync: %s", unended(d.Unended()))
	for _, e := range d.Unended() {
		a.Say("  %s", termtext.Safe(sessioncmd.EntryLine(a, e)))
	}
	if !a.Terminal() {
		return d, advice.Command(errors.New("cannot ask whether to resume it: stdin is not a terminal"), "the same command with --recover or --fresh")
	}
	for _, e := range d.Unended() {
		yes, err := a.Ask("Resume the session of " + launch.NameOf(e) + "?")
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

// unended describes sessions that did not end.
func unended(list []session.Entry) string {
	if len(list) == 1 {
		return "the last session here did not end: " + launch.NameOf(list[0])
	}
	return fmt.Sprintf("%d sessions here did not end", len(list))
}

// launchRoot returns the project that words or --project name, or that the person
// chooses.
func launchRoot(ctx context.Context, a *cli.App, words []string) (string, error) {
	word := cmp.Or(append(slices.Clone(words), a.Flags.Project)...)
	if word != "" && (launch.IsPath(word) || len(words) == 0) {
		root, err := project.Root(word)
		if err == nil && !project.Is(root) {
			a.Say("aisync: %s has no %s: an agent there gets no protocols", root, project.Protocols)
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
			return "", advice.Command(err, "ai PATH, or add its parent folder to roots in the host's spec")
		}
		return p.Dir, nil
	}
	if len(found) == 0 {
		return "", advice.Command(errors.New("no projects found: no folder below the host's roots has "+project.Protocols), "ai PATH, or aisync apply in a project with agents: sessions: true")
	}
	in, okIn := a.In.(*os.File)
	screen, okOut := cli.Bare(a.Err).(*os.File)
	if !okIn || !okOut || !a.Terminal() {
		for _, p := range found {
			a.Printf("%s\t%s\n", termtext.Safe(p.Name), termtext.Safe(p.Dir))
		}
		u := cli.Usagef("missing project: cannot ask, because stdin is not a terminal")
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

// AgentProjects returns the projects below the host's roots, or below the home if the
// host has no roots. The project of the working folder comes first.
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

// attach shows the window of an agent.
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
		return advice.Command(errors.New("no agent window in this tmux server"), strings.TrimSpace("ai "+cmp.Or(words...)))
	}
	return show(a, t, id)
}

func tmux(a *cli.App) launch.Tmux {
	return launch.Tmux{Environ: a.Env.List(), Inside: a.Env.Get("TMUX") != ""}
}

// Agents returns the agents in the project, including the caller.
func (l *Launcher) Agents() roster.Roster {
	return launch.Everybody(process.System(), l.root, l.catalog.Runtimes())
}
