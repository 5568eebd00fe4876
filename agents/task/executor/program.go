package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/task"
)

// Program does a step with an agent program in its non-interactive form. The
// program works in a copy with the files that the task lets it read, with a
// separate home, in a sandbox whose only way out is the endpoint. Its changes
// are then copied to the work tree.
type Program struct {
	confine.Program
	Hide []string // the repository and its history
}

// maxQuestions bounds a program's questions to the model within one step.
const maxQuestions = 200

// Edit implements task.Executor.
func (p Program) Edit(ctx context.Context, w task.Work) (task.Outcome, error) {
	out := task.Outcome{Name: p.Runtime.ID}
	if len(p.Runtime.Launch.Headless) == 0 {
		return out, fmt.Errorf("%s cannot answer a single prompt and exit", p.Runtime.ID)
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return out, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close()
	dir, err := os.MkdirTemp(w.Box.Scratch, "executor-")
	if err != nil {
		return out, fmt.Errorf("make a folder for %s: %w", p.Runtime.ID, err)
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return out, err
	}
	copied, err := copyOut(root, w.Readable, tree)
	if err != nil {
		return out, err
	}
	header, err := p.Access.Header(p.Secret)
	if err != nil {
		return out, fmt.Errorf("the endpoint's %w", err)
	}
	g, err := confine.OpenGate(p.Endpoint, maxQuestions, header)
	if err != nil {
		return out, err
	}
	defer g.Close()
	box := p.box(w.Box, dir, g)
	result, err := p.run(ctx, box, w, g)
	tokens, failed := g.State()
	out.Tokens = tokens
	if err == nil {
		err = p.judge(result, failed)
	}
	if err != nil {
		return out, err
	}
	changed, err := copied.copyBackAll()
	switch {
	case err != nil:
		return out, fmt.Errorf("%s: %w", p.Runtime.ID, err)
	case len(changed) == 0 && failed != nil:
		return out, fmt.Errorf("%w: %s changed nothing, because the endpoint failed: %w", task.ErrTransient, p.Runtime.ID, failed)
	case len(changed) == 0:
		return out, fmt.Errorf("%s changed nothing; it said: %s", p.Runtime.ID, outputTail(result.Stdout))
	}
	out.Summary = outputTail(result.Stdout)
	return out, nil
}

// box returns the sandbox of the program: the task's, with another tree and
// home, and a forwarder to the endpoint. The program does not see the repository
// and its history, which the task's commands see.
func (p Program) box(b sandbox.Box, dir string, g *confine.Gate) sandbox.Box {
	return sandbox.Box{
		Way: b.Way, Tree: filepath.Join(dir, "tree"), Scratch: filepath.Join(dir, "own"), Home: b.Home, Network: b.Network,
		Show: p.Show, Hide: slices.Concat(b.Hide, p.Hide, []string{filepath.Dir(b.Tree)}),
		Doors: []sandbox.Door{{Port: g.Addr().Port, To: g.Addr().String()}},
	}
}

func (p Program) run(ctx context.Context, b sandbox.Box, w task.Work, g *confine.Gate) (sandbox.Result, error) {
	set, err := p.Set("http://" + b.Address(b.Doors[0]) + "/v1")
	if err != nil {
		return sandbox.Result{}, err
	}
	if err := set.Write(b); err != nil {
		return sandbox.Result{}, err
	}
	argv, env := p.Command(request(w), b.Way != sandbox.None), append([]string{"PWD=" + b.Tree}, p.Environment(set, b.Way != sandbox.None)...)
	fmt.Fprintf(w.Log, "executor: %s, with the endpoint %s behind %s\n", p.Runtime.ID, g.To(), g.Addr())
	result, err := b.Run(ctx, sandbox.Command{Argv: argv, Env: env, Log: w.Log, Timeout: w.Task.Timeout})
	for _, r := range g.Refused() {
		fmt.Fprintf(w.Log, "executor: %s asked the endpoint for %s, which is not allowed\n", p.Runtime.ID, r)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %s: %w", task.ErrTransient, p.Runtime.ID, err)
	}
	return result, err
}

// judge returns an error if the program failed; failed is the endpoint's last
// failure.
func (p Program) judge(r sandbox.Result, failed error) error {
	switch {
	case r.TimedOut:
		return fmt.Errorf("%w: %s was not finished after %s", task.ErrTransient, p.Runtime.ID, r.Took.Round(1e9))
	case r.Exit != 0 && failed != nil:
		return fmt.Errorf("%w: the endpoint failed under %s: %w", task.ErrTransient, p.Runtime.ID, failed)
	case r.Exit != 0:
		return fmt.Errorf("%s ended with exit code %d: %s", p.Runtime.ID, r.Exit, outputTail(r.Stderr+"\n"+r.Stdout))
	}
	return nil
}

// request returns the prompt of one step.
func request(w task.Work) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Change files in the current folder; do not ask questions, they are not answered.\n\nThe goal of the whole task, of which this is one step:\n%s\n\n", strings.TrimSpace(w.Task.Goal))
	if len(w.Task.Assumptions) > 0 {
		fmt.Fprintf(&b, "Notes:\n- %s\n\n", strings.Join(w.Task.Assumptions, "\n- "))
	}
	fmt.Fprintf(&b, "You may write only what matches %s; any other change fails the task. Leave no notes and no scratch files.\n\nWhat to do now", strings.Join(w.Task.Write, ", "))
	if w.Step.File != "" {
		fmt.Fprintf(&b, ", in %s", w.Step.File)
	}
	fmt.Fprintf(&b, ":\n%s\n", strings.TrimSpace(w.Step.Instructions))
	if w.Earlier != "" {
		fmt.Fprintf(&b, "\nAn earlier try failed: %s\n", strings.TrimSpace(w.Earlier))
	}
	return b.String()
}

// outputTail returns the end of a program's output, for a report.
func outputTail(s string) string {
	const most = 2000
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if over := len(s) - most; over > 0 {
		s = "… " + strings.ToValidUTF8(s[over:], "")
	}
	return s
}
