// Package mcp provides the command mcp: the verbs of the ledger, of tasks and of
// runs as an MCP server on stdin and stdout. Each tool is a line of a table and runs
// a command of this program, whose JSON it answers: no verb is written here. Start
// with Command.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Command builds the command mcp.
func Command(a *cli.App) *cobra.Command {
	var runtime string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve the ledger, tasks and runs to agents, over MCP",
		Long: `Speaks the Model Context Protocol on stdin and stdout, and ends when stdin is
closed. The program's agent gets a name in the project's ledger, and its model is
told who it is, who else is here and what is claimed. The tools do what the
commands of the same names do, and answer with their JSON. At the end the
agent's claims are released.

agents: ledger: true in a project's spec installs it for programs that take MCP
servers and whose hooks aisync does not know. Without a ledger it starts all the
same, and the tools say what to do.`,
		Example:     "  $ aisync mcp --runtime cursor < /dev/null",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			runtimes := catalog.Runtimes()
			i := slices.IndexFunc(runtimes, func(r spec.Runtime) bool { return r.ID == runtime })
			if i < 0 && runtime != "" {
				return cli.Usagef("--runtime %q: want the id of a program; see: aisync runtimes ls", runtime)
			}
			dir, err := folder(a)
			if err != nil {
				return err
			}
			c := hook.Call{Runtimes: runtimes, Getenv: a.Env.Get, Dir: dir, Err: a.Err, Table: process.System(), Program: hook.ThisProgram(), Now: time.Now()}
			if i >= 0 {
				c.Runtime = runtimes[i]
			}
			return serve(cmd.Context(), a, c)
		},
	}
	cmd.Flags().StringVar(&runtime, "runtime", "", "the `ID` of the program that calls (default: the known program above this process)")
	return cmd
}

// folder returns the folder where the commands that the tools run begin: that of
// --project, which is absolute then, or the working folder.
func folder(a *cli.App) (string, error) {
	cwd, err := a.Cwd()
	if err != nil || a.Flags.Project == "" {
		return cwd, err
	}
	dir, err := place.ExistingFolder(cwd, a.Flags.Project)
	if err != nil {
		return "", cli.PlaceHint(fmt.Errorf("--project: %w", err))
	}
	a.Flags.Project = dir
	return dir, nil
}

// alive is how often the server dates the records of its agent. Others take their
// age for the last sign of life where they cannot see its process.
const alive = time.Minute

// serve answers the program until stdin is closed.
func serve(ctx context.Context, a *cli.App, c hook.Call) error {
	s := &server{app: a, dir: c.Dir, turn: make(chan struct{}, 1)}
	var text string
	var err error
	if s.presence, err = hook.Join(c); err == nil {
		if text, err = s.presence.Text(); err != nil {
			s.say(err)
		}
	} else {
		s.say(err)
		text = "This folder has no ledger that can be read: " + termtext.OneLine(err.Error())
	}
	done := make(chan struct{})
	defer s.leave()
	defer close(done)
	go s.stayAlive(done)

	m := mcp.NewServer(&mcp.Implementation{Name: "aisync", Version: cli.VersionText()}, &mcp.ServerOptions{
		Instructions: text, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, t := range tools {
		m.AddTool(t.describe(), s.handler(t))
	}
	err = m.Run(ctx, &lines{in: a.Input(), out: cli.Bare(a.Out), say: s.say})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// stayAlive renews the presence until done is closed.
func (s *server) stayAlive(done <-chan struct{}) {
	every := time.NewTicker(alive)
	defer every.Stop()
	for {
		select {
		case <-done:
			return
		case now := <-every.C:
			s.turn <- struct{}{}
			_ = s.presence.Renew(now) // the next call of a tool reports it
			<-s.turn
		}
	}
}

// leave ends the presence, once the call at work has ended, or does not end.
func (s *server) leave() {
	select {
	case s.turn <- struct{}{}:
	case <-time.After(farewell):
	}
	if s.presence.Name() == "" {
		return
	}
	if err := s.presence.Leave(time.Now()); err != nil {
		s.say(err)
	}
}

// say writes a line to stderr: stdout is the protocol's.
func (s *server) say(err error) { s.app.Say("aisync mcp: %s", termtext.OneLine(err.Error())) }
