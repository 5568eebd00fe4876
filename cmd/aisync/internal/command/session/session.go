// Package session is the commands about who is at work in a project: session, who.
package session

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// Command builds the command session.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "the live contexts of a project's agents",
		Long: `Each agent of a project keeps one live file: .ai/session-context.d/<id>.org, or
.ai/session-context.org for the primary, which has no id. The id is AI_AGENT_ID,
as ai sets it; an agent with one never writes the primary's file.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(sessionPath(a), sessionID(a), sessionStart(a), sessionList(a), sessionArchive(a), sessionJournal(a),
		sessionGate(a), sessionSnapshot(a), sessionClose(a), sessionEdit(a))
	return cmd
}

func sessionPath(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "path",
		Short:       "print the file of this agent's context, absolute",
		Long:        "Prints where this agent's context lies, be it there or not. Called as\nsession-context-path the program does this alone.",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := a.Call().ContextPath()
			return err
		},
	}
}

// meta is what the header of this agent's context shall say.
func meta(a *cli.App, w cli.AtWork, c session.Context, model string) session.Meta {
	m := session.Meta{Runtime: a.Env.Get(identity.VarRuntime), Model: cmp.Or(model, a.Env.Get(identity.VarModel)), Host: cli.MachineName(), Role: "primary", Started: cli.Now()}
	if m.Runtime == "" {
		r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Workspace: w.Root, Processes: process.System(), Runtimes: w.Runtimes})
		m.Runtime = r.Runtime
	}
	switch {
	case c.Helper() || a.Env.On(identity.VarHelper):
		m.Role = "helper"
	case c.ID != "":
		m.Role = "agent"
	}
	if p, ok := w.OwnAgent(); ok {
		m.PID, m.Begun = p.PID, p.Start
		m.Above = process.Ancestors(w.Table, p.PID)
	}
	return m
}

func sessionStart(a *cli.App) *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "start",
		Short: "make this agent's context, with its header, if it is not there",
		Long: `Makes the context with its header, and prints its path. Where it is there
already, nothing changes: call it before the first change of a session. The
primary refuses a link under its name and takes away the read-only copy that old
tools are given while one agent with an id is alone.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := begin(a, w, c, model); err != nil {
				return err
			}
			a.Printf("%s\n", c.Path)
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "the model that the header names `MODEL`")
	return cmd
}

// begin starts or goes on with the caller's context.
func begin(a *cli.App, w cli.AtWork, c session.Context, model string) error {
	others, err := w.Others()
	if err != nil {
		return err
	}
	if _, err := c.Start(meta(a, w, c, model), others); err != nil {
		return err
	}
	return session.SyncCopy(w.Root, false)
}

// atWorkOn begins the context of an agent that has not yet, before it changes
// what others share. A person has none.
func atWorkOn(a *cli.App, w cli.AtWork, c session.Context) error {
	if _, ok := w.OwnAgent(); !ok && c.ID == "" {
		return nil
	}
	return begin(a, w, c, "")
}

// entries is every context of the project, by what the roster tells.
func entries(a *cli.App) (present, error) {
	w, err := a.AtWork()
	if err != nil {
		return present{}, err
	}
	p := present{AtWork: w}
	if p.own, err = a.Context(w); err != nil {
		return p, err
	}
	if p.others, err = w.Others(); err != nil {
		return p, err
	}
	self := p.own
	if _, ok := w.OwnAgent(); !ok && self.ID == "" {
		self = session.Context{} // a person is no agent, and not the primary
	}
	p.contexts, err = session.List(w.Root, p.others, self)
	return p, err
}

// present is who is here, and what they have of contexts.
type present struct {
	cli.AtWork
	own      session.Context // the caller's
	others   roster.Roster
	contexts []session.Entry
}

func sessionList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "the contexts of this project, and whether their agents live",
		Long: `Lists the contexts: live (a process with the id runs), crashed (none does, and
every agent here is known to be another) or stale (nobody can tell, because an
agent runs here whose id cannot be read).`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := entries(a)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.WriteJSON(struct {
					FormatVersion string          `json:"format_version"`
					Root          string          `json:"root"`
					Contexts      []session.Entry `json:"contexts"`
				}{cli.ViewVersion, p.Root, p.contexts})
			}
			for _, e := range p.contexts {
				a.Printf("%s\n", EntryLine(a, e))
			}
			if len(p.contexts) == 0 {
				a.Say("no contexts in %s", p.Root)
			}
			return nil
		},
	}
}

func EntryLine(a *cli.App, e session.Entry) string {
	name := termtext.Safe(cmp.Or(e.ID, "primary"))
	if e.Path == "" {
		return strings.TrimRight(Pad(string(e.State), 8)+Pad(cmp.Or(termtext.Safe(e.ID), "no id"), 40)+fmt.Sprintf("  process %d, no context  %s", e.PID, e.Runtime), " ")
	}
	if e.Self {
		name += " (this agent)"
	}
	return strings.TrimRight(Pad(string(e.State), 8)+Pad(name, 40)+"  changed "+session.Ago(e.Idle(cli.Now()))+" ago  "+e.Runtime, " ")
}

func Pad(s string, n int) string { return s + strings.Repeat(" ", max(1, n-len(s))) }

func sessionJournal(a *cli.App) *cobra.Command {
	var i session.Intent
	cmd := &cobra.Command{
		Use:         "journal --file FILE --heading HEADING INTENT",
		Short:       "write down an edit of a shared file before making it",
		Long:        "Appends file, heading and intent to the journal of this agent's context and\nsyncs it: after a crash the journal says what was under way.",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			i.What = strings.Join(args, " ")
			if i.File == "" || i.What == "" {
				return cli.Usagef("session journal wants --file FILE and what is meant to be done")
			}
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := atWorkOn(a, w, c); err != nil {
				return err
			}
			return c.Journal(i, cli.Now())
		},
	}
	cmd.Flags().StringVar(&i.File, "file", "", "the shared `FILE`")
	cmd.Flags().StringVar(&i.Heading, "heading", "", "the `HEADING` within which the edit stays")
	return cmd
}

func sessionGate(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "gate",
		Short: "may a whole file be rewritten now? exit code 1 while helpers live",
		Long: `For passes over whole files, and for the primary's last commit: exits 1 while
another agent with an id lives here or may live, and names it. Contexts of agents
that have crashed are named too, and are in nobody's way.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := entries(a)
			if err != nil {
				return err
			}
			g := session.Check(p.own, p.contexts, p.others)
			if a.Flags.JSON {
				if err := a.WriteJSON(struct {
					FormatVersion string `json:"format_version"`
					session.Gate
				}{cli.ViewVersion, g}); err != nil {
					return err
				}
			} else {
				gateText(a, g)
			}
			if !g.Open {
				return cli.Exit(cli.ExitError)
			}
			return nil
		},
	}
}

func gateText(a *cli.App, g session.Gate) {
	for _, e := range g.Leftover {
		a.Say("left over: %s; look at it, %s, then: aisync session archive --agent %s", EntryLine(a, e), termtext.Safe(e.Path), shellquote.Terminal(cmp.Or(e.ID, "primary")))
	}
	if g.Open {
		a.Printf("open: no helper is at work\n")
		return
	}
	for _, e := range g.Helpers {
		a.Printf("%s\n", EntryLine(a, e))
	}
	a.Printf(`closed. Ask which is meant:
  1. commit their work in progress with yours (their journals say what is under way)
  2. wait until they are done
  3. leave the pass out, and closing to the last of them
`)
}

func sessionSnapshot(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "snapshot FILE",
		Short:       "copy a file aside before a pass over all of it",
		Long:        "Copies FILE to a folder of its own in $TMPDIR and prints the copy's path.",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.AtWork()
			if err != nil {
				return err
			}
			to, err := session.Snapshot(w.Root, args[0], cmp.Or(a.Env.Get("TMPDIR"), os.TempDir()), cli.Now())
			if err != nil {
				return err
			}
			a.Printf("%s\n", to)
			return nil
		},
	}
}

func sessionClose(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "close",
		Short: "what this agent has to do before it ends",
		Long: `Says which duties this agent has: all of them if it is the last one here, its own
alone beside others, and for the primary beside live helpers the three choices,
with exit code 1. It changes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := entries(a)
			if err != nil {
				return err
			}
			d := session.Close(p.own, p.contexts, p.others)
			if a.Flags.JSON {
				if err := a.WriteJSON(struct {
					FormatVersion string `json:"format_version"`
					session.Duties
				}{cli.ViewVersion, d}); err != nil {
					return err
				}
			} else {
				a.Printf("%s: %s\n", d.Role, d.Text)
				for _, e := range d.Others {
					a.Printf("  %s\n", EntryLine(a, e))
				}
			}
			if d.Duties == "ask" {
				return cli.Exit(cli.ExitError)
			}
			return nil
		},
	}
}
