// Package message is the commands by which agents talk: message, ledger, ensemble.
package message

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/message"
	"aisync.dev/aisync/agents/process"
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
		Short: "messages between agents, of this project, of others and of other machines",
		Long: `Messages between agents are org files in inbox/from-agents of the project that
they go to; inbox itself is people's and is not touched. An address is
machine.project, or machine.project.agent-id for one agent of it, whom alone it
is then for.`,
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
	var m message.Message
	cmd := &cobra.Command{
		Use:   "send TO TEXT",
		Short: "send a message to a project, or to one agent of it",
		Long: `Sends TEXT, or with - what is on the input, and prints where it went. TO is
machine.project, machine.project.agent-id, or the id of a helper of this
project. A project of this machine is found by its name: this one, or one below
the roots of the host's spec. Another machine's has a mailbox in that spec: a
folder that something syncs, or one that ssh leads to.`,
		Example:     "  $ aisync message send pearl.org-drill \"The parser is done; see todo.org.\"",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(2, "an address and a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Body = strings.Join(args[1:], " ")
			if m.Body == "-" {
				input, err := io.ReadAll(io.LimitReader(a.Input(), maxMessage+1))
				if err != nil {
					return fmt.Errorf("read the text from the input: %w", err)
				}
				m.Body = string(input)
			}
			if len(m.Body) > maxMessage {
				return fmt.Errorf("the text is longer than %d MB; say where it lies instead", maxMessage>>20)
			}
			if err := m.Check(); err != nil {
				return cli.Usagef("%v", err)
			}
			where, err := sendMessage(cmd.Context(), a, args[0], m)
			if err != nil {
				return err
			}
			a.Printf("%s\n", where)
			return nil
		},
	}
	cmd.Flags().StringVar(&m.Subject, "subject", "", "the message's title `WORDS`")
	cmd.Flags().StringVar(&m.Model, "model", "", "the model that the sender talks to `MODEL`")
	cmd.Flags().StringVar(&m.TargetRuntime, "target-runtime", "", "the runtime that it is for `ID`")
	return cmd
}

// maxMessage bounds a message.
const maxMessage = 4 << 20

// sendMessage says who sends m, and takes it to the project or to the mailbox.
func sendMessage(ctx context.Context, a *cli.App, to string, m message.Message) (string, error) {
	w, c, err := a.Own()
	if err != nil {
		return "", err
	}
	m.From, m.Sent = address(w), cli.Now()
	if c.ID != "" {
		m.From.Agent = identity.FileName(c.ID)
	}
	if m.SenderRuntime = a.Env.Get(identity.VarRuntime); m.SenderRuntime == "" {
		r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Processes: process.System(), Runtimes: w.Runtimes})
		if r.Runtime != detect.Unknown {
			m.SenderRuntime = r.Runtime
		}
	}
	m.Model = cmp.Or(m.Model, a.Env.Get(identity.VarModel))
	if m.To, err = message.Parse(to); err != nil {
		if !identity.IsHelper(to) || !identity.Valid(to) {
			return "", cli.Usagef("%v", err)
		}
		m.To = address(w)
		m.To.Agent = to
	}
	if m.To.Machine != cli.MachineName() {
		return post(ctx, a, m)
	}
	root, err := projectNamed(ctx, a, w, m.To.Project)
	if err != nil {
		return "", err
	}
	return message.Deliver(root, m)
}

// address is that of the project.
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
		there := "none was found"
		if names = slices.Compact(slices.Sorted(slices.Values(names))); len(names) > 0 {
			there = "there are " + strings.Join(names, ", ")
		}
		return "", advice.New(fmt.Errorf("no project on %s is called %q: %s", cli.MachineName(), name, there), "a project has .ai/protocols.org and lies below the roots of the host's spec")
	}
	return "", fmt.Errorf("%d projects on %s are called %q, so that an address cannot tell them apart: %s", len(found), cli.MachineName(), name, strings.Join(found, ", "))
}

// mailbox is that of a machine; false where the host's spec names none.
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
		return "", advice.New(fmt.Errorf("%s is another machine (this one is %s), and the host's spec has no mailbox for it", m.To.Machine, cli.MachineName()),
			fmt.Sprintf("name the folder that leads there in it: mailboxes: {%q: \"~/Sync/agents\"}, or \"ssh://%s/~/agents\"", m.To.Machine, m.To.Machine))
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
		Short: "the messages for this agent",
		Long: `Lists the messages for this project and for this agent, the oldest first: a
line each, with its file, its sender and its title. What is for another agent is
left out. Before that, what has come through this machine's mailbox, if the
host's spec names one, is put into the inbox.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			if err := collect(cmd.Context(), a, w); err != nil {
				a.Report(err) // what is here is listed all the same
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
				a.Printf("%s\n", termtext.Safe(fmt.Sprintf("%s  %s  %s%s", r.File, r.From, r.Subject, note)))
			}
			if len(found) == 0 {
				a.Say("no messages")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those for other agents")
	return cmd
}

// collect takes what has come for this project out of this machine's mailbox.
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
		Long:        "Prints a message by the name that inbox shows. One for another agent is refused,\nunless somebody asked this one to take it over.",
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
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "read it although it is for another agent")
	return cmd
}
