// Package session provides the commands about the agents in a project and their
// contexts: session and who.
package session

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// Command builds the command session.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "manage the session contexts of a project's agents",
		Long: `Each agent of a project keeps one context file: .ai/session-context.d/<id>.org,
or .ai/session-context.org for the primary, which has no id. ai sets the id as
AI_AGENT_ID; an agent with an id never writes the primary's file.`,
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
		Use:   "path [DIR]",
		Short: "print the absolute path of this agent's context",
		Long: `Prints the path of this agent's context file, whether it exists or not: in the
project of DIR, or of the working folder. Called as session-context-path, the
program runs this command.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.CallIn(args)
			if err != nil {
				return err
			}
			_, err = c.ContextPath()
			return err
		},
	}
}

func sessionStart(a *cli.App) *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "start",
		Short: "create this agent's context if it does not exist",
		Long: `Creates the context with its header and prints its path. An existing context
stays as it is. Call it before the first change of a session. The primary
refuses a link in place of its file, and removes the read-only copy that old
tools get while one agent with an id is alone.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := begin(a, w, c, w.Others(), model); err != nil {
				return err
			}
			a.Printf("%s\n", c.Path)
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "name `MODEL` in the header")
	return cmd
}

// begin creates the caller's context if it does not exist.
func begin(a *cli.App, w cli.AtWork, c session.Context, others roster.Roster, model string) error {
	m := meta(a, w, c, others, model)
	if _, err := c.Start(m, others); err != nil {
		return err
	}
	if err := record(w, c, m, others); err != nil {
		return err
	}
	return session.SyncCopy(w.Root, false)
}

// ensureContext creates the calling agent's context, if it has none, before it changes
// a shared file. For a person it does nothing, but where it cannot tell a person from
// an agent, it returns an error if the context may be another agent's.
func ensureContext(a *cli.App, w cli.AtWork, c session.Context) error {
	others := w.Others()
	switch {
	case isAgent(a, w, c, others):
		return begin(a, w, c, others, "")
	case w.Table.Partial() != "":
		return c.Owned(meta(a, w, c, others, ""), others)
	}
	return nil
}

// entries returns the agents and contexts of the project.
func entries(a *cli.App) (present, error) {
	w, err := a.AtWork()
	if err != nil {
		return present{}, err
	}
	p := present{AtWork: w}
	if p.own, err = a.Context(w); err != nil {
		return p, err
	}
	p.others = w.Others()
	self := p.own
	if !isAgent(a, w, self, p.others) {
		self = session.Context{} // a person is no agent, and not the primary
	}
	p.contexts, err = session.List(w.Root, p.others, self)
	return p, err
}

// present is the agents of a project and their contexts.
type present struct {
	cli.AtWork
	own      session.Context // the caller's
	others   roster.Roster
	contexts []session.Entry
}

func sessionList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the contexts of this project and whether their agents run",
		Long: `Lists the contexts: live (a process with the id runs), crashed (none does, and
every agent here has another id) or stale (unknown, because the id of an agent
here cannot be read, or because a sandbox or container hides other agents).`,
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
			sayDoubts(a, p.others.Doubts())
			if len(p.contexts) == 0 {
				a.Say("no contexts in %s", p.Root)
			}
			return nil
		},
	}
}

// sayDoubts tells why there may be more agents than are listed.
func sayDoubts(a *cli.App, doubts []string) {
	for _, why := range doubts {
		a.Say("aisync: there may be more agents here: %s", termtext.Safe(why))
	}
}

// EntryLine returns a context as a line.
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

// Pad appends spaces to s, at least one, until it has n bytes.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(1, n-len(s))) }

func sessionJournal(a *cli.App) *cobra.Command {
	var i session.Intent
	cmd := &cobra.Command{
		Use:         "journal --file FILE --heading HEADING INTENT",
		Short:       "record an edit of a shared file before making it",
		Long:        "Appends file, heading and intent to the journal of this agent's context and syncs\nit: after a crash the journal tells which edit was under way.",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			i.What = strings.Join(args, " ")
			if i.File == "" || i.What == "" {
				return cli.Usagef("session journal needs --file FILE and an intent")
			}
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := ensureContext(a, w, c); err != nil {
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
		Short: "check whether a whole file may be rewritten; exit 1 while other agents run",
		Long: `Call it before rewriting a whole file and before the primary's last commit. It
exits 1 while another agent with an id runs here, or may run, and lists these
agents. It exits 2 where it cannot tell, in a sandbox for instance. It also lists
contexts of crashed agents, which do not close the gate.`,
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
			switch {
			case g.Open:
				return nil
			case !g.Certain():
				return cli.Exit(quick.Unknown)
			}
			return cli.Exit(cli.ExitError)
		},
	}
}

func gateText(a *cli.App, g session.Gate) {
	for _, e := range g.Leftover {
		a.Say("left over: %s; read %s, then: aisync session archive --agent %s", EntryLine(a, e), termtext.Safe(e.Path), shellquote.Terminal(cmp.Or(e.ID, "primary")))
	}
	if g.Open {
		a.Printf("open: no helper is at work\n")
		return
	}
	for _, e := range g.Helpers {
		a.Printf("%s\n", EntryLine(a, e))
	}
	sayDoubts(a, g.Doubts)
	if !g.Certain() {
		a.Printf("closed: other agents may be at work that are not visible from here. Leave the pass out, or ask the person to run it\n")
		return
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
		Short:       "copy a file before rewriting all of it",
		Long:        "Copies FILE to a new folder in $TMPDIR and prints the path of the copy.",
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
		Short: "print what this agent must do before it ends",
		Long: `Prints the duties of this agent: all of them for the last agent here, only its
own beside other agents; for the primary beside live helpers it prints the three
choices and exits 1; where it cannot tell who is here, it exits 2. It changes
nothing.`,
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
				sayDoubts(a, d.Doubts)
			}
			switch {
			case d.Duties == "ask" && !d.Certain():
				return cli.Exit(quick.Unknown)
			case d.Duties == "ask":
				return cli.Exit(cli.ExitError)
			}
			return nil
		},
	}
}
