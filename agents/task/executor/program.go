package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/schema/spec"
)

// Program does a step with an agent program in its non-interactive form. The
// program works in a copy with the files that the task lets it read, with a
// separate home, in a sandbox whose only way out is the endpoint. Its changes
// are then copied to the work tree.
type Program struct {
	Runtime  spec.Runtime
	Path     string   // of its command, absolute
	Show     []string // hidden paths that it needs to see
	Hide     []string // the repository and its history
	Endpoint string   // with /v1
	// Set returns how to start the program in a separate home, so that it uses
	// the server at url, which ends in /v1.
	Set func(url string) (Setting, error)
}

// Setting is a program's arguments, environment and files.
type Setting struct {
	Environment map[string]string
	Files       map[string][]byte // below its home, slash-separated
}

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
	g, err := openGate(p.Endpoint)
	if err != nil {
		return out, err
	}
	defer g.close()
	box := p.box(w.Box, dir, g)
	result, err := p.run(ctx, box, w, g)
	tokens, failed := g.state()
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
func (p Program) box(b sandbox.Box, dir string, g *gate) sandbox.Box {
	return sandbox.Box{
		Way: b.Way, Tree: filepath.Join(dir, "tree"), Scratch: filepath.Join(dir, "own"), Home: b.Home, Network: b.Network,
		Show: p.Show, Hide: slices.Concat(b.Hide, p.Hide, []string{filepath.Dir(b.Tree)}),
		Doors: []sandbox.Door{{Port: g.addr.Port, To: g.addr.String()}},
	}
}

func (p Program) run(ctx context.Context, b sandbox.Box, w task.Work, g *gate) (sandbox.Result, error) {
	set, err := p.Set("http://" + b.Address(b.Doors[0]) + "/v1")
	if err != nil {
		return sandbox.Result{}, err
	}
	home := filepath.Join(b.Scratch, "home")
	for name, text := range set.Files {
		to := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return sandbox.Result{}, err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return sandbox.Result{}, err
		}
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return sandbox.Result{}, err
	}
	env := []string{"PWD=" + b.Tree}
	if b.Way != sandbox.None {
		for _, name := range slices.Sorted(maps.Keys(p.Runtime.Launch.Sandbox)) {
			env = append(env, name+"="+p.Runtime.Launch.Sandbox[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.Environment)) {
		env = append(env, name+"="+set.Environment[name])
	}
	argv := p.command(request(w), b.Way != sandbox.None)
	fmt.Fprintf(w.Log, "executor: %s, with the endpoint %s behind %s\n", p.Runtime.ID, g.to, g.addr)
	result, err := b.Run(ctx, sandbox.Command{Argv: argv, Env: env, Log: w.Log, Timeout: w.Task.Timeout})
	for _, r := range g.others() {
		fmt.Fprintf(w.Log, "executor: %s asked the endpoint for %s, which is not allowed\n", p.Runtime.ID, r)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %s: %w", task.ErrTransient, p.Runtime.ID, err)
	}
	return result, err
}

// command returns the command that answers one prompt. In a sandbox it never
// asks for permission: no person is there to answer, and the sandbox sets the
// limits.
func (p Program) command(prompt string, kept bool) []string {
	l := p.Runtime.Launch
	var headless []string
	for _, arg := range l.Headless {
		headless = append(headless, strings.ReplaceAll(arg, "{prompt}", prompt))
	}
	var free []string
	if kept && !slices.ContainsFunc(l.Autonomous, func(a string) bool { return slices.Contains(l.Headless, a) }) {
		free = l.Autonomous
	}
	// A word that begins the non-interactive form must come first: codex exec
	// --flag prompt.
	sub := 0
	for sub < len(headless) && !strings.HasPrefix(l.Headless[sub], "-") && l.Headless[sub] != "{prompt}" {
		sub++
	}
	return slices.Concat([]string{p.Path}, l.Args, headless[:sub], free, headless[sub:])
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
