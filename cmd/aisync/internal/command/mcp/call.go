package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/ensemble"
	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/message"
	runcmd "aisync.dev/aisync/cmd/aisync/internal/command/run"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/cmd/aisync/internal/command/task"
	"aisync.dev/aisync/internal/termtext"
)

// limit bounds one call: no command that a tool runs waits for anything but locks,
// which others hold for milliseconds, and git.
const limit = time.Minute

// server answers the calls of one program, one at a time.
type server struct {
	app      *cli.App
	dir      string // where commands begin
	presence *hook.Presence
	rest     string        // of the last answer that was too long
	turn     chan struct{} // holds an element while a command runs
}

// outcome is what a command printed, and its exit code.
type outcome struct {
	out, err bytes.Buffer
	code     int
}

// handler returns the function that runs a tool's command.
func (s *server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := t.read(req.Params.Arguments)
		if err != nil {
			return failure(err.Error()), nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return failure("another call is still at work; try again"), nil
		}
		ended := make(chan *mcp.CallToolResult, 1)
		go func() {
			defer func() { <-s.turn }()
			ended <- s.answer(ctx, t, args)
		}()
		select {
		case r := <-ended:
			return r, nil
		case <-ctx.Done():
			return failure(fmt.Sprintf("%s has not ended within %s; look at what it did before you try again", t.name, limit)), nil
		}
	}
}

// answer runs the command of a tool and returns what it printed.
func (s *server) answer(ctx context.Context, t tool, args values) (r *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.say(fmt.Errorf("internal error in %s: %v", t.name, p))
			r = failure(fmt.Sprintf("internal error in aisync: %v; please report it", p))
		}
	}()
	joined := s.presence.Renew(time.Now())
	if t.ledger && joined != nil {
		return failure(joined.Error())
	}
	if t.name == more {
		return s.next()
	}
	words := t.words(args, s.presence.Name())
	var o outcome
	if t.ledger {
		s.ledger(ctx, &o, words)
	} else {
		s.command(ctx, &o, words)
	}
	r = s.bounded(o.result())
	if t.name != "inbox" && joined == nil {
		if n, err := s.presence.Unread(); err == nil && n > 0 {
			add(r, fmt.Sprintf("You have %d unread messages: call inbox.", n))
		}
	}
	return r
}

// ledger runs a command of the ledger, as the agent that is present.
func (s *server) ledger(ctx context.Context, o *outcome, words []string) {
	p := message.Program(ctx, s.inside(o), words)
	p.Dir, p.Plain, p.Leases = s.dir, true, func(string) ledger.Leases { return s.presence.Leases() }
	o.code = ensemble.Run(p)
}

// command runs another command of this program.
func (s *server) command(ctx context.Context, o *outcome, words []string) {
	a := s.inside(o)
	root := &cobra.Command{Use: "aisync", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	a.Flags.Register(root.PersistentFlags(), a.Env)
	a.Flags = s.app.Flags
	a.Flags.JSON = true
	for _, command := range []func(*cli.App) *cobra.Command{sessioncmd.WhoCommand, task.Command, runcmd.Command} {
		root.AddCommand(command(a))
	}
	root.SetArgs(words)
	o.code = a.Report(root.ExecuteContext(ctx))
}

// inside returns the invocation of a command whose streams are o's: stdin and stdout
// are the protocol's.
func (s *server) inside(o *outcome) *cli.App {
	a := *s.app
	a.In, a.Out, a.Err = strings.NewReader(""), &o.out, &o.err
	return &a
}

// result returns the JSON that a command printed, and then its warnings; if it
// failed, its errors.
func (o *outcome) result() *mcp.CallToolResult {
	r := &mcp.CallToolResult{IsError: o.code != cli.ExitOK}
	var compact bytes.Buffer
	switch text := bytes.TrimSpace(o.out.Bytes()); {
	case len(text) == 0:
	case json.Compact(&compact, text) != nil:
		add(r, string(text))
	default:
		add(r, compact.String())
		if compact.Bytes()[0] == '{' && !r.IsError {
			r.StructuredContent = json.RawMessage(compact.Bytes())
		}
	}
	if said := strings.TrimSpace(o.err.String()); said != "" {
		add(r, termtext.SafeLines(said))
	}
	if len(r.Content) == 0 {
		add(r, fmt.Sprintf("exit code %d", o.code))
	}
	return r
}

// failure is the answer of a call that ran no command to its end.
func failure(text string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{IsError: true}
	add(r, text)
	return r
}

func add(r *mcp.CallToolResult, text string) {
	r.Content = append(r.Content, &mcp.TextContent{Text: text})
}
