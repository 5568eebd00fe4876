package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/identity"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

func runInitCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "lay out .ilchul in this project",
		Long: `Makes .ilchul with its config, and adds what is missing of one that is there; what
is there keeps its bytes. A .kapi of the program before is written down in
migrations/storage-root.json, and neither read nor touched.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root, err := a.Call().Root()
			if err != nil {
				return err
			}
			store, made, err := runs.Init(root, runs.Options{Home: a.RunHome(), Check: schema.CheckRun})
			if err != nil {
				return err
			}
			legacy := runs.Legacy(store.Workspace, a.RunHome())
			if a.Flags.JSON {
				return a.WriteJSON(struct {
					FormatVersion string       `json:"format_version"`
					Workspace     string       `json:"workspace"`
					Made          []string     `json:"made"`
					Legacy        []runs.Found `json:"legacy"`
				}{cli.ViewVersion, store.Workspace, cli.OrEmpty(made), cli.OrEmpty(legacy)})
			}
			for _, name := range made {
				a.Printf("made %s\n", name)
			}
			if len(made) == 0 {
				a.Printf("%s is laid out already\n", termtext.Safe(store.Path))
			}
			sayLegacy(a, legacy)
			return nil
		},
	}
}

// sayLegacy tells of folders of the program before.
func sayLegacy(a *cli.App, found []runs.Found) {
	for _, f := range found {
		a.Say("%s is a %s of the program before: it is kept as it is, and never used", termtext.Safe(f.Path), f.What)
	}
}

// starting are the flags of run start.
type starting struct {
	plan         runs.Plan
	graph        string
	adapter      string
	substrate    string
	depth        string
	maxWorkers   int
	maxAttempts  int
	lease, beats time.Duration
	ready        time.Duration
	strict       bool
	worktrees    bool
	inGraph      bool  // the graph wants worktrees
	lines        []int // of the tasks in the graph
}

func runStartCommand(a *cli.App) *cobra.Command {
	var s starting
	cmd := &cobra.Command{
		Use:   "start --goal GOAL",
		Short: "record a new run, and make it the active one",
		Long: `Records the run's contract, its objective, its tasks, and what was chosen for it
and why (policy-selection.json), and prints its id. It starts no worker: aisync run
supervise does. Other runs stay as they are. Without --graph the run has one task,
main, with the goal.

A graph is JSON: {"schemaVersion": 1, "tasks": [{"id": "a", "goal": "…"},
{"id": "b", "dependsOn": ["a"], "command": ["make", "test"], "evidence": ["command"]}]}.
evidence names what a task must leave before it completes: command, output or
artifact, perhaps with :NAME.

With --worktrees, or "worktrees": true in the graph, each worker works in a git
work tree of its own below the config's worktreeRoot, on the branch
aisync/RUN/WORKER. That begins at the branch of the one task that it waits for, and
else at the commit of this project; what was not committed is not in it. A task has
another say with "worktree": true or false. aisync removes no work tree and no
branch: run cleanup --safe names them.`,
		Example: `  $ aisync run start --goal "port the parser" --graph tasks.json
  $ aisync run start --goal "make the tests pass" --adapter codex --require command:tests`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE:        func(*cobra.Command, []string) error { return startRun(a, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.plan.Goal, "goal", "", "what the run is for `GOAL`")
	f.StringVar(&s.graph, "graph", "", "the tasks, a JSON `FILE` (- is stdin)")
	f.StringVar(&s.plan.ID, "id", "", "its `ID`; else one is made from the time")
	f.StringVar(&s.adapter, "adapter", "", "who works on tasks that name nobody: a runtime's `ID`, command, or manual")
	f.StringVar(&s.substrate, "substrate", "", "where its workers run: `tmux` or process")
	f.StringVar(&s.depth, "depth", "", "how deep results are checked: quick, `standard` or deep")
	f.IntVar(&s.maxWorkers, "max-workers", 0, "how many work at once `N`")
	f.IntVar(&s.maxAttempts, "max-attempts", 0, "after how many failures `N` a task has failed for good")
	f.DurationVar(&s.lease, "lease", 0, "how long a claim holds without a heartbeat, such as `15m`")
	f.DurationVar(&s.beats, "heartbeat-timeout", 0, "after how long without a heartbeat a worker is looked at, such as `2m`")
	f.DurationVar(&s.ready, "readiness-timeout", 0, "how long a worker may take to become ready, such as `1m`")
	f.StringArrayVar(&s.plan.Acceptance, "accept", nil, "a `SENTENCE` that holds when the goal is reached; may be given again")
	f.StringArrayVar(&s.plan.Evidence, "require", nil, "evidence of the run itself before it completes `KIND[:NAME]`; may be given again")
	f.StringVar(&s.plan.Objective, "objective", "", "what is to be made best; it advises only `TEXT`")
	f.StringArrayVar(&s.plan.Evaluators, "evaluator", nil, "who judges the objective `NAME`; may be given again")
	f.BoolVar(&s.worktrees, "worktrees", false, "each worker has a git work tree and a branch of its own")
	f.BoolVar(&s.strict, "strict", false, "an adapter that nobody knows is an error")
	return cmd
}

func startRun(a *cli.App, s starting) error {
	if s.plan.Goal == "" {
		return cli.Usagef("run start wants --goal: what the run is for")
	}
	store, err := openRuns(a)
	if err != nil {
		return err
	}
	c, err := store.Config()
	if err != nil {
		return err
	}
	if s.graph != "" {
		g, lines, err := readGraph(a, s.graph)
		if err != nil {
			return err
		}
		s.plan.Tasks, s.inGraph, s.lines = g.Tasks, g.Worktrees, lines
	}
	warnings, err := s.choose(a, store, &c)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if s.strict {
			return fmt.Errorf("%s", w)
		}
		a.Say("warning: %s", termtext.Safe(w))
	}
	s.plan.Settings, s.plan.Reasons, s.plan.By = c.Settings, c.Reasons, a.Env.Get(identity.VarID)
	if s.plan.Advice, err = store.Advice(); err != nil {
		return err
	}
	r, err := store.Start(s.plan)
	if wrong := new(runs.TaskError); errors.As(err, &wrong) && s.graph != "" {
		return fmt.Errorf("%s:%d: %w", s.graph, s.lines[wrong.Index], err)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string   `json:"format_version"`
			Run           string   `json:"run"`
			Path          string   `json:"path"`
			Tasks         int      `json:"tasks"`
			Warnings      []string `json:"warnings"`
		}{cli.ViewVersion, r.ID, r.Path, max(1, len(s.plan.Tasks)), cli.OrEmpty(warnings)})
	}
	a.Printf("%s\n", r.ID)
	a.Hint("To work on it: aisync run supervise %s", r.ID)
	return nil
}

// readGraph reads and checks the tasks of a run, and says in which line each
// begins.
func readGraph(a *cli.App, name string) (g spec.RunGraph, lines []int, err error) {
	text, err := readInput(a, name)
	if err != nil {
		return g, nil, fmt.Errorf("graph: %w", err)
	}
	if err := schema.CheckRun("graph", name, text); err != nil {
		return g, nil, err
	}
	var raw struct{ Tasks []json.RawMessage }
	if err := errors.Join(json.Unmarshal(text, &g), json.Unmarshal(text, &raw)); err != nil {
		return g, nil, fmt.Errorf("%s: %w", name, err)
	}
	at := 0
	for _, t := range raw.Tasks {
		at += bytes.Index(text[at:], t) // byte for byte as it stands there
		lines = append(lines, 1+bytes.Count(text[:at], []byte("\n")))
		at += len(t)
	}
	return g, lines, nil
}

// readInput reads a file, or with - the input, up to MaxInput.
func readInput(a *cli.App, name string) ([]byte, error) {
	in := a.Input()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, cli.MaxInput+1))
	if err == nil && len(text) > cli.MaxInput {
		err = fmt.Errorf("%s is longer than %d MB", name, cli.MaxInput>>20)
	}
	return text, err
}

// choose lays the flags over the config, writes down why, and looks at the
// adapters that the run names.
func (s *starting) choose(a *cli.App, store *runs.Store, c *runs.Config) (warnings []string, err error) {
	set := &c.Settings
	because := func(setting, value, from string) {
		i := slices.IndexFunc(c.Reasons, func(r spec.RunReason) bool { return r.Setting == setting })
		if i < 0 {
			c.Reasons = append(c.Reasons, spec.RunReason{Setting: setting})
			i = len(c.Reasons) - 1
		}
		c.Reasons[i].Value, c.Reasons[i].From = value, from
	}
	whole := func(name, setting string, value int, to *int, low, high int) {
		if value != 0 {
			if value < low || value > high {
				err = cli.Usagef("--%s %d: want %d to %d", name, value, low, high)
			}
			*to = value
			because(setting, strconv.Itoa(value), "flag")
		}
	}
	whole("max-workers", "maxWorkers", s.maxWorkers, &set.MaxWorkers, runs.Bounds["maxWorkers"][0], runs.Bounds["maxWorkers"][1])
	whole("max-attempts", "maxAttempts", s.maxAttempts, &set.MaxAttempts, 1, 100)
	span := func(name, setting string, value time.Duration, to *int64) {
		if value != 0 {
			b := runs.Bounds[setting]
			if value < time.Duration(b[0])*time.Second || value > time.Duration(b[1])*time.Second {
				err = cli.Usagef("--%s %s: want %ds to %ds", name, value, b[0], b[1])
			}
			*to = value.Milliseconds()
			because(setting, strconv.FormatFloat(value.Seconds(), 'f', -1, 64), "flag")
		}
	}
	span("lease", "leaseDurationSeconds", s.lease, &set.LeaseMS)
	span("heartbeat-timeout", "heartbeatTimeoutSeconds", s.beats, &set.HeartbeatMS)
	span("readiness-timeout", "readinessTimeoutSeconds", s.ready, &set.ReadinessMS)
	word := func(name, value string, to *string, from ...string) {
		if value != "" {
			if !slices.Contains(from, value) {
				err = cli.Usagef("--%s %s: want one of %v", name, value, from)
			}
			*to = value
			because(name, value, "flag")
		}
	}
	word("depth", s.depth, &set.Depth, "quick", "standard", "deep")
	if s.adapter != "" {
		set.Adapter = runs.Runtime(s.adapter)
		set.Substrate = cmp.Or(c.Adapters[set.Adapter].Substrate, set.Substrate)
		because("adapter", set.Adapter, "flag")
	}
	word("substrate", s.substrate, &set.Substrate, runs.Tmux, runs.Process)
	if err != nil {
		return nil, err
	}
	if set.Worktrees = s.worktrees || s.inGraph; set.Worktrees {
		because("worktrees", "true", map[bool]string{true: "flag", false: "graph"}[s.worktrees])
	}
	if set.Worktrees || slices.ContainsFunc(s.plan.Tasks, func(t spec.RunTask) bool { return t.Worktree != nil && *t.Worktree }) {
		if _, err := supervise.Repository(context.Background(), store.Workspace); err != nil {
			return nil, fmt.Errorf("worktrees: %w", err)
		}
	}
	because("substrate", set.Substrate, cmp.Or(map[bool]string{true: "flag"}[s.substrate != ""], c.Adapters[set.Adapter].From, "default"))
	return append(c.Warnings, s.unknown(a, store, *c)...), s.disabled(*c)
}

// adapters are those that the run names, each once.
func (s *starting) adapters() []string {
	names := []string{runs.Runtime(s.adapter)}
	for _, t := range s.plan.Tasks {
		names = append(names, runs.Runtime(t.Adapter))
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == start.Command || n == start.Manual })
}

// unknown tells of the adapters that no catalog has.
func (s *starting) unknown(a *cli.App, store *runs.Store, c runs.Config) (warnings []string) {
	for _, name := range s.adapters() {
		known := slices.ContainsFunc(a.KnownRuntimes(store.Workspace), func(rt spec.Runtime) bool { return rt.ID == name || slices.Contains(rt.Aliases, name) })
		if _, configured := c.Adapters[name]; !known && !configured {
			warnings = append(warnings, fmt.Sprintf("adapter %q: no runtime of that name is known, and so no worker of it can be started", name))
		}
	}
	return warnings
}

// disabled refuses adapters that the config has switched off.
func (s *starting) disabled(c runs.Config) error {
	for _, name := range s.adapters() {
		if ad, there := c.Adapters[name]; there && !ad.Enabled {
			return advice.New(fmt.Errorf("adapter %s is not enabled (%s)", name, ad.From), fmt.Sprintf("set adapters.%s.enabled to true in .ilchul/config.json", name))
		}
	}
	return nil
}

func runFinishCommand(a *cli.App) *cobra.Command {
	var as, reason string
	cmd := &cobra.Command{
		Use:   "finish [RUN]",
		Short: "end a run",
		Long: `Ends a run that nobody supervises, or that shall not go on. Completed, it needs all
of its tasks done and its evidence there; failed or cancelled, a --reason. A claim
has to end first. No worker is closed by it.`,
		Example:     "  $ aisync run finish --as cancelled --reason 'the plan has changed'",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onRun(a, oneRun(args), func(r *runs.Run) error {
				if err := r.Finish(as, reason); err != nil {
					return err
				}
				return runSaid(a, struct {
					FormatVersion string `json:"format_version"`
					Run           string `json:"run"`
					Status        string `json:"status"`
				}{cli.ViewVersion, r.ID, as}, "run %s is %s", r.ID, as)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", runs.RunCompleted, "`HOW`: completed, failed or cancelled")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`")
	return cmd
}

// runSaid prints what was done, as JSON or in a line.
func runSaid(a *cli.App, doc any, format string, args ...any) error {
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	a.Printf(format+"\n", args...)
	return nil
}
