package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

const (
	warmPrompt = "Reply with the word ok."
	warmAnswer = 8                     // tokens of the answer after which a program is ended
	warmLook   = 25 * time.Millisecond // between two looks at the server
	warmGrace  = 3 * time.Second       // that a program has to end
)

// warmed is one program of services warm --json; see docs/json.md.
type warmed struct {
	Runtime string  `json:"runtime"`
	Service string  `json:"service"`
	Read    int     `json:"tokens_read"`   // of its prompts, by the server's count
	Known   int     `json:"tokens_cached"` // that the server had read before
	Seconds float64 `json:"seconds"`
}

// WarmCommand builds the command services warm.
func WarmCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "warm [NAME]",
		Short: "have model servers read what programs send before a first question",
		Long: `Starts each program that the host's spec points at a llama-server once, without a
window, with a prompt of a few words, so that the server has read the program's own
prompt, tools and rules before your first question; inside a project, with those of
the project. A program is ended after the first words of the answer. The prompt
stands in the program's history. Prints how many tokens the server read, by its own
count. The default program comes last: a server with one slot saves that one when
it stops.`,
		Example:     "  $ cd ~/code/app && aisync services warm",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return warm(cmd.Context(), a, cmp.Or(args...))
		},
	}
}

func warm(ctx context.Context, a *cli.App, name string) error {
	root, err := project.Root(cmp.Or(a.Flags.Project, cli.WorkingFolder()))
	if err != nil {
		return err
	}
	list, err := warmable(ctx, a, root, name)
	if err != nil {
		return err
	}
	var all []error
	done := []warmed{}
	for _, l := range list {
		w, err := l.warm(ctx, a)
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", l.Choice.Runtime.ID, err))
			continue
		}
		done = append(done, w)
		if !a.Flags.JSON {
			a.Printf("%s: %s read %d tokens in %.1f s, and had read %d before\n", termtext.Safe(w.Runtime), termtext.Safe(w.Service), w.Read, w.Seconds, w.Known)
		}
	}
	if a.Flags.JSON {
		all = append(all, a.WriteJSON(struct {
			FormatVersion string   `json:"format_version"`
			Warmed        []warmed `json:"warmed"`
		}{cli.ViewVersion, done}))
	}
	return errors.Join(all...)
}

// warmable returns the launches of the host's programs that talk to the llama-server
// called name, or to any, the default one last.
func warmable(ctx context.Context, a *cli.App, root, name string) ([]*Launcher, error) {
	s, _, p, err := SpecFor(ctx, a, root)
	if err != nil {
		return nil, err
	}
	if s.Host == nil {
		return nil, advice.Command(errors.New("no host describes this machine, so there are no services"), "aisync init")
	}
	var known []string
	for _, have := range s.Host.Services {
		known = append(known, have.Name)
		if have.Name == name && have.Kind != "llama-server" {
			return nil, fmt.Errorf("service %s is no llama-server: only that keeps and counts what it has read", name)
		}
	}
	if name != "" && !slices.Contains(known, name) {
		return nil, nearest.Unknown("service", name, known)
	}
	standard, _, err := defaultRuntime(root, p, s)
	if err != nil {
		return nil, err
	}
	var out []*Launcher
	for _, use := range s.Host.Runtimes {
		l, err := Prepare(ctx, a, root, use.ID)
		if err != nil {
			a.Say("aisync: %s is left out: %s", use.ID, termtext.Safe(err.Error()))
			continue
		}
		at := l.Program.Service
		if at.Kind != "llama-server" || name != "" && at.Name != name {
			continue
		}
		if len(l.Program.Runtime.Launch.Headless) == 0 {
			a.Say("aisync: %s is left out: it takes no prompt without its window", use.ID)
			continue
		}
		if err := Installed(a, l.Program.Runtime); err != nil {
			a.Say("aisync: %s is left out: %s", use.ID, termtext.Safe(err.Error()))
			continue
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, advice.New(errors.New("no program of this host talks to a llama-server that could be warmed"), "runtimes: claude: endpoint: true in the host's spec, then aisync apply")
	}
	slices.SortStableFunc(out, func(a, b *Launcher) int {
		last := func(l *Launcher) int { return map[bool]int{true: 1}[l.Choice.Runtime.ID == standard] }
		return last(a) - last(b)
	})
	return out, nil
}

// warm runs l's program until its server has read its prompt.
func (l *Launcher) warm(ctx context.Context, a *cli.App) (warmed, error) {
	s, rt := l.Program.Service, l.Program.Runtime
	w := warmed{Runtime: l.Choice.Runtime.ID, Service: s.Name}
	if _, err := served(ctx, a, l, s); err != nil {
		return w, err
	}
	if _, err := Cleared(ctx, a, l); err != nil {
		return w, err
	}
	at := asked(a, s)
	before, err := at.Slots(ctx)
	if err != nil {
		return w, err
	}
	look, err := launch.LookPath(rt.Command, a.Env.Get("PATH"))
	if err != nil {
		return w, err
	}
	begin := launch.Plan(l.root, launch.Decision{Role: "agent"}, l.Choice, l.Program, nil)
	cmd := exec.Command(look, rt.Launch.Line(rt.Launch.Headless, l.Program.Args, warmPrompt, false)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = l.root, begin.Environ(a.Env), warmGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	clock := time.Now()
	if err := cmd.Start(); err != nil {
		return w, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	count := counting{before: before, enough: firstRequest(rt) / 2, tasks: map[int]endpoint.Slot{}}
	failed := count.until(ctx, at, ended)
	w.Seconds = time.Since(clock).Seconds()
	for _, t := range count.tasks {
		w.Read, w.Known = w.Read+t.Processed, w.Known+t.Cached
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	if !count.over {
		select {
		case <-ended:
		case <-time.After(warmGrace):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if ctx.Err() != nil {
		return w, context.Cause(ctx)
	}
	if len(count.tasks) == 0 {
		return w, fmt.Errorf("it sent its server nothing (%v)", failed)
	}
	return w, nil
}

// firstRequest returns about how many tokens a program begins with.
func firstRequest(rt spec.Runtime) int { return max(int(catalog.Completed(rt).FirstRequest), 2000) }

// counting watches the requests of one program.
type counting struct {
	before []endpoint.Slot
	enough int // tokens of the prompt that counts
	tasks  map[int]endpoint.Slot
	over   bool // the program ended
}

// until looks at the server until the program ends, or an answer to its long prompt
// has begun.
func (c *counting) until(ctx context.Context, at endpoint.Endpoint, ended <-chan error) error {
	tick := time.NewTicker(warmLook)
	defer tick.Stop()
	for {
		slots, _ := at.Slots(ctx) // a busy server may miss one
		for _, s := range slots {
			if slices.ContainsFunc(c.before, func(b endpoint.Slot) bool { return b.Task == s.Task }) {
				continue
			}
			if had := c.tasks[s.Task]; s.Processed+s.Cached < had.Processed+had.Cached {
				continue // it has answered
			}
			c.tasks[s.Task] = s
			if s.Decoded >= warmAnswer && s.Processed+s.Cached > c.enough {
				return nil
			}
		}
		select {
		case err := <-ended:
			c.over = true
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
