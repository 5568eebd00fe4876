// Package message provides the commands by which agents communicate: message, ledger
// and ensemble.
package message

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/message"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Command builds the command message.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "message",
		Short: "exchange messages between agents of any project and machine",
		Long: `Messages between agents are org files in inbox/from-agents of the receiving
project; inbox itself is for people, and aisync puts there only what --inbox asks
for. An address is machine.project for all agents of a project, or
machine.project.agent-id for one of them.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(messageSend(a), messageInbox(a), messageRead(a))
	return cmd
}

func messageSend(a *cli.App) *cobra.Command {
	var o sending
	var list bool
	cmd := &cobra.Command{
		Use:   "send TO (TEXT | --text TEXT | --file FILE) | --list",
		Short: "send a message to a project, or to one agent of it",
		Long: `Sends TEXT, or stdin for -, and prints where the message went. TO is
machine.project, machine.project.agent-id, the id of a helper of this project, or
the name of a project of this machine: this one, or one below the roots of the
host's spec, which --list lists. For another machine the host's spec names a
mailbox: a synced folder, or a folder reached over ssh. --file sends a copy of a
file as it is, to projects of this machine. --inbox puts the message into inbox,
where people look, and not into inbox/from-agents.`,
		Example: `  $ aisync message send pearl.org-drill "The parser is done; see todo.org."
  $ aisync message send rulesets --file .ai/workflows/startup.org --inbox`,
		Annotations: map[string]string{"effect": "writes"},
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case list:
				return cli.NoArgs(cmd, args)
			case cmd.Flags().Changed("text") || o.file != "":
				return cli.ExactArgs(1, "an address")(cmd, args)
			}
			return cli.MinArgs(2, "an address and a text")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listProjects(cmd.Context(), a)
			}
			if len(args) > 1 {
				o.Body = strings.Join(args[1:], " ")
			}
			where, err := o.send(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			a.Printf("%s\n", where)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Subject, "subject", "", "the message's `TITLE`")
	f.StringVar(&o.Model, "model", "", "the `MODEL` that the sender uses")
	f.StringVar(&o.TargetRuntime, "target-runtime", "", "the `ID` of the runtime that it is for")
	f.StringVar(&o.Body, "text", "", "send `TEXT`, or stdin for -")
	f.StringVar(&o.file, "file", "", "send a copy of `FILE`")
	f.BoolVar(&o.people, "inbox", false, "put it into inbox, where people look")
	f.BoolVar(&list, "list", false, "list the projects of this machine")
	cmd.MarkFlagsMutuallyExclusive("text", "file", "list")
	return cmd
}

// address returns the address of the project.
func address(w cli.AtWork) message.Address {
	return message.Address{Machine: cli.MachineName(), Project: identity.Sanitize(project.Name(w.Root), "project")}
}

// projectNamed finds a project of this machine by its name in addresses.
func projectNamed(ctx context.Context, a *cli.App, w cli.AtWork, name string) (string, error) {
	is := func(folder string) bool { return folder == name || identity.Sanitize(folder, "project") == name }
	if is(project.Name(w.Root)) {
		return w.Root, nil
	}
	all, err := launchcmd.AgentProjects(ctx, a)
	if err != nil {
		return "", err
	}
	var found, names []string
	for _, p := range all {
		names = append(names, identity.Sanitize(p.Name, "project"))
		if is(p.Name) {
			found = append(found, p.Dir)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		there := "found none"
		if names = slices.Compact(slices.Sorted(slices.Values(names))); len(names) > 0 {
			there = "there are " + strings.Join(names, ", ")
		}
		return "", advice.New(fmt.Errorf("no project on %s is called %q: %s", cli.MachineName(), name, there), "a project needs .ai/protocols.org and a place below the roots of the host's spec")
	}
	return "", fmt.Errorf("%d projects on %s are called %q: %s", len(found), cli.MachineName(), name, strings.Join(found, ", "))
}

// mailbox returns the mailbox of a machine; false if the host's spec has none.
func mailbox(ctx context.Context, a *cli.App, machine string) (message.Mailbox, bool, error) {
	s, _, p, err := launchcmd.SpecFor(ctx, a, "")
	if err != nil || s.Host == nil {
		return message.Mailbox{}, false, err
	}
	for _, m := range s.Host.Mailboxes {
		if m.Machine != machine {
			continue
		}
		box, err := message.ParseMailbox(m.Place, p.Physical(p.Home))
		if err != nil {
			return box, false, fmt.Errorf("%s: %w", m.Pos, err)
		}
		return box, true, nil
	}
	return message.Mailbox{}, false, nil
}

func post(ctx context.Context, a *cli.App, m message.Message) (string, error) {
	box, ok, err := mailbox(ctx, a, m.To.Machine)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", advice.New(fmt.Errorf("the host's spec has no mailbox for the machine %s (this one is %s)", m.To.Machine, cli.MachineName()),
			fmt.Sprintf("add one to the spec: mailboxes: {%q: \"~/Sync/agents\"}, or \"ssh://%s/~/agents\"", m.To.Machine, m.To.Machine))
	}
	if box.Remote() && a.Flags.Offline {
		return "", fmt.Errorf("send to %s over ssh: %w", m.To.Machine, reconcile.ErrOffline)
	}
	return box.Post(ctx, m)
}

func messageInbox(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "list the messages for this agent",
		Long: `Lists the messages for this project and this agent, oldest first, one per line:
file, sender and title. It first fetches messages from this machine's mailbox,
if the host's spec names one.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := collect(cmd.Context(), a, w); err != nil {
				a.Report(err) // still list the messages that are here
			}
			found, err := message.Inbox(w.Root, c.ID, all)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return inboxJSON(a, found)
			}
			for _, r := range found {
				note := ""
				if !r.Mine {
					note = "  (for " + r.To.Agent + ")"
				}
				a.Printf("%s\n", termtext.Safe(strings.TrimRight(fmt.Sprintf("%s  %s  %s%s", r.File, sender(r), r.Subject, note), " ")))
			}
			if len(found) == 0 {
				a.Say("no messages")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list messages for other agents too")
	return cmd
}

// sender returns the address that a message is from, "-" if it names none.
func sender(r message.Received) string {
	if from := r.From.String(); strings.Trim(from, ".") != "" {
		return from
	}
	return "-"
}

// collect moves messages for this project from this machine's mailbox to its inbox.
func collect(ctx context.Context, a *cli.App, w cli.AtWork) error {
	box, ok, err := mailbox(ctx, a, cli.MachineName())
	if err != nil || !ok {
		return err
	}
	_, err = box.Collect(cli.MachineName(), w.Root)
	return err
}

// messageView is a message as JSON.
type messageView struct {
	File          string `json:"file"`
	From          string `json:"from,omitempty"`
	To            string `json:"to,omitempty"`
	Sent          string `json:"sent,omitempty"`
	Sender        string `json:"sender_agent_id,omitempty"`
	SenderRuntime string `json:"sender_runtime,omitempty"`
	Target        string `json:"target_agent_id,omitempty"`
	TargetRuntime string `json:"target_runtime,omitempty"`
	Model         string `json:"model,omitempty"`
	Subject       string `json:"subject,omitempty"`
	Mine          bool   `json:"mine"`
	Body          string `json:"body,omitempty"`
}

func viewOf(r message.Received) messageView {
	v := messageView{File: r.File, Sender: r.From.Agent, SenderRuntime: r.SenderRuntime, Target: r.To.Agent, TargetRuntime: r.TargetRuntime, Model: r.Model, Subject: r.Subject, Mine: r.Mine}
	if r.From.Machine != "" {
		v.From = r.From.String()
	}
	if r.To.Machine != "" {
		v.To = r.To.String()
	}
	if !r.Sent.IsZero() {
		v.Sent = r.Sent.Format("2006-01-02T15:04:05-07:00")
	}
	return v
}

func inboxJSON(a *cli.App, found []message.Received) error {
	views := []messageView{}
	for _, r := range found {
		views = append(views, viewOf(r))
	}
	return a.WriteJSON(struct {
		FormatVersion string        `json:"format_version"`
		Messages      []messageView `json:"messages"`
	}{cli.ViewVersion, views})
}

func messageRead(a *cli.App) *cobra.Command {
	var takeOver bool
	cmd := &cobra.Command{
		Use:         "read FILE",
		Short:       "print one message",
		Long:        "Prints a message by the name that inbox shows. It refuses a message for another\nagent without --take-over.",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "a message's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			r, err := message.Read(w.Root, c.ID, args[0], takeOver)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				v := viewOf(r)
				v.Body = r.Body
				return a.WriteJSON(struct {
					FormatVersion string `json:"format_version"`
					messageView
				}{cli.ViewVersion, v})
			}
			for _, line := range [][2]string{{"from", r.From.String()}, {"runtime", r.SenderRuntime}, {"to", r.To.String()}, {"subject", r.Subject}} {
				if strings.Trim(line[1], ".") != "" {
					a.Printf("%s: %s\n", line[0], termtext.Safe(line[1]))
				}
			}
			a.Printf("\n%s\n", termtext.SafeLines(r.Body))
			return nil
		},
	}
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "read a message for another agent, whose work this agent takes over")
	return cmd
}
