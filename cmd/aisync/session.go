package main

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
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

func sessionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "the live contexts of a project's agents",
		Long: `Each agent of a project keeps one live file: .ai/session-context.d/<id>.org, or
.ai/session-context.org for the primary, which has no id. The id is AI_AGENT_ID,
as ai sets it; an agent with one never writes the primary's file.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.sessionPath(), a.sessionID(), a.sessionStart(), a.sessionList(), a.sessionArchive(), a.sessionJournal(),
		a.sessionGate(), a.sessionSnapshot(), a.sessionClose(), a.sessionEdit())
	return cmd
}

func (a *app) sessionPath() *cobra.Command {
	return &cobra.Command{
		Use:         "path",
		Short:       "print the file of this agent's context, absolute",
		Long:        "Prints where this agent's context lies, be it there or not. Called as\nsession-context-path the program does this alone.",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := a.call().ContextPath()
			return err
		},
	}
}

// meta is what the header of this agent's context shall say.
func (a *app) meta(w atWork, c session.Context, model string) session.Meta {
	m := session.Meta{Runtime: a.env.Get(identity.VarRuntime), Model: cmp.Or(model, a.env.Get(identity.VarModel)), Host: machineName(), Role: "primary", Started: now()}
	if m.Runtime == "" {
		r := detect.Detect(detect.Surroundings{Getenv: a.env.Get, Workspace: w.root, Processes: process.System(), Runtimes: w.runtimes})
		m.Runtime = r.Runtime
	}
	switch {
	case c.Helper() || a.env.On(identity.VarHelper):
		m.Role = "helper"
	case c.ID != "":
		m.Role = "agent"
	}
	if p, ok := w.ownAgent(); ok {
		m.PID, m.Begun = p.PID, p.Start
		m.Above = process.Ancestors(w.table, p.PID)
	}
	return m
}

func (a *app) sessionStart() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "start",
		Short: "make this agent's context, with its header, if it is not there",
		Long: `Makes the context with its header, and prints its path. Where it is there
already, nothing changes: call it before the first change of a session. The
primary refuses a link under its name and takes away the read-only copy that old
tools are given while one agent with an id is alone.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.own()
			if err != nil {
				return err
			}
			if err := a.begin(w, c, model); err != nil {
				return err
			}
			a.printf("%s\n", c.Path)
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "the model that the header names `MODEL`")
	return cmd
}

// begin starts or goes on with the caller's context.
func (a *app) begin(w atWork, c session.Context, model string) error {
	others, err := w.others()
	if err != nil {
		return err
	}
	if _, err := c.Start(a.meta(w, c, model), others); err != nil {
		return err
	}
	return session.SyncCopy(w.root, false)
}

// atWorkOn begins the context of an agent that has not yet, before it changes
// what others share. A person has none.
func (a *app) atWorkOn(w atWork, c session.Context) error {
	if _, ok := w.ownAgent(); !ok && c.ID == "" {
		return nil
	}
	return a.begin(w, c, "")
}

// entries is every context of the project, by what the roster tells.
func (a *app) entries() (present, error) {
	w, err := a.atWork()
	if err != nil {
		return present{}, err
	}
	p := present{atWork: w}
	if p.own, err = a.context(w); err != nil {
		return p, err
	}
	if p.others, err = w.others(); err != nil {
		return p, err
	}
	self := p.own
	if _, ok := w.ownAgent(); !ok && self.ID == "" {
		self = session.Context{} // a person is no agent, and not the primary
	}
	p.contexts, err = session.List(w.root, p.others, self)
	return p, err
}

// present is who is here, and what they have of contexts.
type present struct {
	atWork
	own      session.Context // the caller's
	others   roster.Roster
	contexts []session.Entry
}

func (a *app) sessionList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "the contexts of this project, and whether their agents live",
		Long: `Lists the contexts: live (a process with the id runs), crashed (none does, and
every agent here is known to be another) or stale (nobody can tell, because an
agent runs here whose id cannot be read).`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.entries()
			if err != nil {
				return err
			}
			if a.g.json {
				return a.writeJSON(struct {
					FormatVersion string          `json:"format_version"`
					Root          string          `json:"root"`
					Contexts      []session.Entry `json:"contexts"`
				}{viewVersion, p.root, p.contexts})
			}
			for _, e := range p.contexts {
				a.printf("%s\n", a.entryLine(e))
			}
			if len(p.contexts) == 0 {
				a.say("no contexts in %s", p.root)
			}
			return nil
		},
	}
}

func (a *app) entryLine(e session.Entry) string {
	name := termtext.Safe(cmp.Or(e.ID, "primary"))
	if e.Path == "" {
		return strings.TrimRight(pad(string(e.State), 8)+pad(cmp.Or(termtext.Safe(e.ID), "no id"), 40)+fmt.Sprintf("  process %d, no context  %s", e.PID, e.Runtime), " ")
	}
	if e.Self {
		name += " (this agent)"
	}
	return strings.TrimRight(pad(string(e.State), 8)+pad(name, 40)+"  changed "+session.Ago(e.Idle(now()))+" ago  "+e.Runtime, " ")
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(1, n-len(s))) }

func (a *app) sessionJournal() *cobra.Command {
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
				return usagef("session journal wants --file FILE and what is meant to be done")
			}
			w, c, err := a.own()
			if err != nil {
				return err
			}
			if err := a.atWorkOn(w, c); err != nil {
				return err
			}
			return c.Journal(i, now())
		},
	}
	cmd.Flags().StringVar(&i.File, "file", "", "the shared `FILE`")
	cmd.Flags().StringVar(&i.Heading, "heading", "", "the `HEADING` within which the edit stays")
	return cmd
}

func (a *app) sessionGate() *cobra.Command {
	return &cobra.Command{
		Use:   "gate",
		Short: "may a whole file be rewritten now? exit code 1 while helpers live",
		Long: `For passes over whole files, and for the primary's last commit: exits 1 while
another agent with an id lives here or may live, and names it. Contexts of agents
that have crashed are named too, and are in nobody's way.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.entries()
			if err != nil {
				return err
			}
			g := session.Check(p.own, p.contexts, p.others)
			if a.g.json {
				if err := a.writeJSON(struct {
					FormatVersion string `json:"format_version"`
					session.Gate
				}{viewVersion, g}); err != nil {
					return err
				}
			} else {
				a.gateText(g)
			}
			if !g.Open {
				return exit(exitError)
			}
			return nil
		},
	}
}

func (a *app) gateText(g session.Gate) {
	for _, e := range g.Leftover {
		a.say("left over: %s; look at it, %s, then: aisync session archive --agent %s", a.entryLine(e), termtext.Safe(e.Path), shellquote.Terminal(cmp.Or(e.ID, "primary")))
	}
	if g.Open {
		a.printf("open: no helper is at work\n")
		return
	}
	for _, e := range g.Helpers {
		a.printf("%s\n", a.entryLine(e))
	}
	a.printf(`closed. Ask which is meant:
  1. commit their work in progress with yours (their journals say what is under way)
  2. wait until they are done
  3. leave the pass out, and closing to the last of them
`)
}

func (a *app) sessionSnapshot() *cobra.Command {
	return &cobra.Command{
		Use:         "snapshot FILE",
		Short:       "copy a file aside before a pass over all of it",
		Long:        "Copies FILE to a folder of its own in $TMPDIR and prints the copy's path.",
		Annotations: map[string]string{"effect": "writes"},
		Args:        exactArgs(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.atWork()
			if err != nil {
				return err
			}
			to, err := session.Snapshot(w.root, args[0], cmp.Or(a.env.Get("TMPDIR"), os.TempDir()), now())
			if err != nil {
				return err
			}
			a.printf("%s\n", to)
			return nil
		},
	}
}

func (a *app) sessionClose() *cobra.Command {
	return &cobra.Command{
		Use:   "close",
		Short: "what this agent has to do before it ends",
		Long: `Says which duties this agent has: all of them if it is the last one here, its own
alone beside others, and for the primary beside live helpers the three choices,
with exit code 1. It changes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.entries()
			if err != nil {
				return err
			}
			d := session.Close(p.own, p.contexts, p.others)
			if a.g.json {
				if err := a.writeJSON(struct {
					FormatVersion string `json:"format_version"`
					session.Duties
				}{viewVersion, d}); err != nil {
					return err
				}
			} else {
				a.printf("%s: %s\n", d.Role, d.Text)
				for _, e := range d.Others {
					a.printf("  %s\n", a.entryLine(e))
				}
			}
			if d.Duties == "ask" {
				return exit(exitError)
			}
			return nil
		},
	}
}
