package message

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/message"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/termtext"
)

// maxMessage is the most bytes of a message.
const maxMessage = 4 << 20

// sending is a message with the ways in which it may be sent.
type sending struct {
	message.Message
	file   string // sent as it is, instead of a text
	people bool   // into the inbox where people look
}

// send delivers the message to the project or the mailbox that to names, and
// returns where it went.
func (o sending) send(ctx context.Context, a *cli.App, to string) (string, error) {
	var copied []byte
	var err error
	switch {
	case o.file != "":
		copied, err = fileToSend(o.file)
	case o.Body == "-":
		o.Body, err = limited(a.Input(), "the text on stdin")
	}
	if err != nil {
		return "", err
	}
	if len(o.Body) > maxMessage {
		return "", tooLong("the text")
	}
	if err := o.Check(); err != nil && o.file == "" {
		return "", cli.Usagef("%v", err)
	}
	w, err := o.from(a)
	if err != nil {
		return "", err
	}
	root, err := o.to(ctx, a, w, to)
	switch {
	case err != nil:
		return "", err
	case root == "" && (o.file != "" || o.people):
		return "", cli.Usagef("%s is another machine, to which texts go for its agents alone: without --file and --inbox; send a text file with: --text - <FILE", o.To.Machine)
	case root == "":
		return post(ctx, a, o.Message)
	}
	box := project.FromAgents
	if o.people {
		box = project.Inbox
	}
	if o.file != "" {
		return message.Copy(root, box, o.Message, o.file, copied)
	}
	return message.DeliverTo(root, box, o.Message)
}

// from sets who sends the message, and when.
func (o *sending) from(a *cli.App) (cli.AtWork, error) {
	w, c, err := a.Own()
	if err != nil {
		return w, err
	}
	o.From, o.Sent = address(w), cli.Now()
	if c.ID != "" {
		o.From.Agent = identity.FileName(c.ID)
	}
	if o.SenderRuntime = a.Env.Get(identity.VarRuntime); o.SenderRuntime == "" {
		r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Processes: process.System(), Runtimes: w.Runtimes})
		if r.Runtime != detect.Unknown {
			o.SenderRuntime = r.Runtime
		}
	}
	o.Model = cmp.Or(o.Model, a.Env.Get(identity.VarModel))
	return w, nil
}

// to sets the receiver, and returns the folder of the project; "" if it is on
// another machine. A name without a machine is that of a project of this one.
func (o *sending) to(ctx context.Context, a *cli.App, w cli.AtWork, to string) (root string, err error) {
	var invalid error
	o.To, invalid = message.Parse(to)
	switch {
	case invalid == nil && o.To.Machine != cli.MachineName():
		if _, ok, err := mailbox(ctx, a, o.To.Machine); ok || err != nil {
			return "", err
		}
		if root, err := projectNamed(ctx, a, w, to); err == nil { // its name has a dot
			o.To = address(cli.AtWork{Root: root})
			return root, nil
		}
		return "", nil
	case invalid == nil:
		return projectNamed(ctx, a, w, o.To.Project)
	case identity.IsHelper(to) && identity.Valid(to):
		o.To = address(w)
		o.To.Agent = to
		return w.Root, nil
	}
	if root, err = projectNamed(ctx, a, w, to); err != nil {
		return "", cli.Usagef("%v, or the name of a project of this machine; see: aisync message send --list", invalid)
	}
	o.To = address(cli.AtWork{Root: root})
	return root, nil
}

// fileToSend reads a file that a person or an agent names, and never waits for a
// pipe.
func fileToSend(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("file to send: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("file to send: %s: %w", name, err)
	}
	text, err := limited(f, filepath.Base(name))
	return []byte(text), err
}

// limited reads a message's text.
func limited(in io.Reader, what string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if len(text) > maxMessage {
		return "", tooLong(what)
	}
	return string(text), nil
}

func tooLong(what string) error {
	return fmt.Errorf("%s is longer than %d MB; send the path of a file instead", what, maxMessage>>20)
}

// projectView is a project as JSON.
type projectView struct {
	Address string `json:"address"`
	Name    string `json:"name"`
	Path    string `json:"path"`
}

// listProjects prints the projects of this machine, which messages reach.
func listProjects(ctx context.Context, a *cli.App) error {
	found, err := launchcmd.AgentProjects(ctx, a)
	if err != nil {
		return err
	}
	views := []projectView{}
	for _, p := range found {
		views = append(views, projectView{address(cli.AtWork{Root: p.Dir}).String(), p.Name, p.Dir})
	}
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string        `json:"format_version"`
			Projects      []projectView `json:"projects"`
		}{cli.ViewVersion, views})
	}
	t := a.Table()
	for _, v := range views {
		fmt.Fprintf(t, "%s\t%s\n", termtext.Safe(v.Name), termtext.Safe(v.Path))
	}
	if len(views) == 0 {
		a.Say("no project: one needs .ai/protocols.org and a place below the roots of the host's spec")
	}
	return t.Flush()
}
