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
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

func runInitCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "create .ilchul in this project",
		Long: `Creates .ilchul with its config, or adds what is missing there; existing files
stay. It records a .kapi folder of the previous program in
migrations/storage-root.json, and neither reads nor changes it.`,
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
				a.Printf("created %s\n", name)
			}
			if len(made) == 0 {
				a.Printf("%s exists already\n", termtext.Safe(store.Path))
			}
			sayLegacy(a, legacy)
			return nil
		},
	}
}

// sayLegacy lists the folders of the previous program.
func sayLegacy(a *cli.App, found []runs.Found) {
	for _, f := range found {
		a.Say("%s is a %s of the previous program: aisync keeps it and never uses it", termtext.Safe(f.Path), f.What)
	}
}

// startOptions holds the flags of run start, and the tasks of its graph.
type startOptions struct {
	plan         runs.Plan
	graph        string
	adapter      string
	substrate    string
	depth        string
	evaluators   []string
	maxWorkers   int
	maxAttempts  int
	lease, beats time.Duration
	ready        time.Duration
	strict       bool
	worktrees    bool
	sandbox      bool
	inGraph      bool  // the graph sets worktrees
	lines        []int // of the graph at which its tasks begin
}

func runStartCommand(a *cli.App) *cobra.Command {
	var s startOptions
	cmd := &cobra.Command{
		Use:   "start --goal GOAL",
		Short: "record a new run and make it the active one",
		Long: `Records the run's contract, objective, tasks and settings with their reasons
(policy-selection.json), and prints its id. On this machine that is your
approval of the run. It starts no workers; aisync run supervise does. Without --graph the run has one task, main, with the goal.

A graph is JSON: {"schemaVersion": 1, "tasks": [{"id": "a", "goal": "…"}, {"id":
"b", "dependsOn": ["a"], "command": ["make", "test"], "evidence":
["command"]}]}. evidence lists what a task needs to complete: command, output or
artifact, optionally with :NAME. "timeoutSeconds": 900 ends an attempt that has
not finished by then. "allowedWriteGlobs": ["src/**"] says what a task writes: no
two tasks that meet there run at once, and the supervisor claims it in the ledger
while a worker has the task.

With --worktrees, or "worktrees": true in the graph, each worker has a separate
git work tree below the config's worktreeRoot, on the branch aisync/RUN/WORKER.
The branch starts from that of the only task it depends on, else from this
project's commit, without uncommitted changes. "worktree": true or false in a
task overrides this. aisync removes no work trees and no branches unless you
run aisync task trees --prune; run cleanup --safe lists them.

With --sandbox, "sandbox": true in a task, or in the config's runtime, workers run
in the sandbox of tasks: see aisync task run-once --help. They need a work tree,
and have no terminal. Other workers have your rights. "network": true in a task
asks for the network there, which the host's spec has to allow.`,
		Example: `  $ aisync run start --goal "port the parser" --graph tasks.json
  $ aisync run start --goal "make the tests pass" --adapter codex --require command:tests`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return startRun(cmd.Context(), a, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.plan.Goal, "goal", "", "the `GOAL` of the run")
	f.StringVar(&s.graph, "graph", "", "read the tasks from the JSON `FILE` (- is stdin)")
	f.StringVar(&s.plan.ID, "id", "", "the `ID` of the run (default: made from the time)")
	f.StringVar(&s.adapter, "adapter", "", "the adapter of tasks that name none: a runtime's `ID`, command, or manual")
	f.StringVar(&s.substrate, "substrate", "", "`WHERE` workers run: tmux or process")
	f.StringVar(&s.depth, "depth", "", "`HOW` thoroughly to check results: standard, the only depth")
	f.IntVar(&s.maxWorkers, "max-workers", 0, "run at most `N` workers at once")
	f.IntVar(&s.maxAttempts, "max-attempts", 0, "give a task up after `N` failed attempts")
	f.DurationVar(&s.lease, "lease", 0, "let a claim expire after `TIME` without a heartbeat, such as 15m")
	f.DurationVar(&s.beats, "heartbeat-timeout", 0, "report a worker after `TIME` without a heartbeat or output, such as 2m")
	f.DurationVar(&s.ready, "readiness-timeout", 0, "give a worker `TIME` to become ready, such as 1m")
	f.StringArrayVar(&s.plan.Acceptance, "accept", nil, "a `CRITERION` for reaching the goal; may be repeated")
	f.StringArrayVar(&s.plan.Evidence, "require", nil, "require the evidence `KIND[:NAME]` to complete the run; may be repeated")
	f.StringVar(&s.plan.Objective, "objective", "", "the objective `TEXT`, which only advises")
	f.StringArrayVar(&s.evaluators, "evaluator", nil, "refused: aisync calls no evaluators")
	_ = f.MarkHidden("evaluator")
	f.BoolVar(&s.worktrees, "worktrees", false, "give each worker a separate git work tree and branch")
	f.BoolVar(&s.sandbox, "sandbox", false, "run each worker in a sandbox; needs --worktrees")
	f.BoolVar(&s.strict, "strict", false, "refuse what it warns of, such as unknown adapters")
	return cmd
}

func startRun(ctx context.Context, a *cli.App, s startOptions) error {
	if s.plan.Goal == "" {
		return cli.Usagef("run start: missing --goal")
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
		return s.inGraphFile(err)
	}
	claimed, err := claimWarnings(a, store.Workspace)
	if err != nil {
		return err
	}
	warnings = append(warnings, claimed...)
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
	if err != nil {
		return s.inGraphFile(err)
	}
	defer r.Close()
	st, err := r.State()
	if err == nil {
		err = recordApproval(ctx, a, "aisync run start", r, st)
	}
	if err != nil {
		return advice.Command(fmt.Errorf("run %s is recorded in %s, but is not approved: %w", r.ID, r.Path, err), "aisync run approve "+r.ID)
	}
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

// readGraph reads and checks the tasks of a run, and returns the line of each.
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
		at += bytes.Index(text[at:], t) // RawMessage has the same bytes
		lines = append(lines, 1+bytes.Count(text[:at], []byte("\n")))
		at += len(t)
	}
	return g, lines, nil
}

// readInput reads a file, or stdin for -, up to MaxInput.
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

// choose applies the flags to the config, records the reasons, and checks the adapters
// of the run.
func (s *startOptions) choose(a *cli.App, store *runs.Store, c *runs.Config) (warnings []string, err error) {
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
	if s.depth != "" && s.depth != runs.Standard {
		return nil, cli.Usagef("--depth %s: aisync checks results in one way, %s: each task by the evidence that it names; for more, add a task whose command checks them", s.depth, runs.Standard)
	}
	word("depth", s.depth, &set.Depth, runs.Standard)
	if len(s.evaluators) > 0 {
		return nil, cli.Usagef("--evaluator %s: aisync calls no evaluators; add a task whose command evaluates the result, or let a program write its verdict to evaluations/ in the run's folder", s.evaluators[0])
	}
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
	if s.sandbox {
		set.Sandbox = true
		because("sandbox", "true", "flag")
	}
	if err := s.confinable(*set); err != nil {
		return nil, err
	}
	because("substrate", set.Substrate, cmp.Or(map[bool]string{true: "flag"}[s.substrate != ""], c.Adapters[set.Adapter].From, "default"))
	more, err := s.agentTasks(*set)
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.Warnings, s.unknown(a, store, *c), more), s.disabled(*c)
}

// adapters returns the adapters that the run names, each once.
func (s *startOptions) adapters() []string {
	names := []string{runs.Runtime(s.adapter)}
	for _, t := range s.plan.Tasks {
		names = append(names, runs.Runtime(t.Adapter))
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == start.Command || n == start.Manual })
}

// unknown returns a warning for each adapter that neither catalog nor config has.
func (s *startOptions) unknown(a *cli.App, store *runs.Store, c runs.Config) (warnings []string) {
	for _, name := range s.adapters() {
		known := slices.ContainsFunc(a.KnownRuntimes(store.Workspace), func(rt spec.Runtime) bool { return rt.ID == name || slices.Contains(rt.Aliases, name) })
		if _, configured := c.Adapters[name]; !known && !configured {
			warnings = append(warnings, fmt.Sprintf("adapter %q: unknown runtime: no worker can be started for it", name))
		}
	}
	return warnings
}

// disabled returns an error for an adapter that the config disables.
func (s *startOptions) disabled(c runs.Config) error {
	for _, name := range s.adapters() {
		if err := c.Enabled(name); err != nil {
			return err
		}
	}
	return nil
}

func runFinishCommand(a *cli.App) *cobra.Command {
	var as, reason string
	cmd := &cobra.Command{
		Use:   "finish [RUN]",
		Short: "end a run",
		Long: `Ends a run. --as completed requires that all tasks are done and all evidence is
there; failed and cancelled need a --reason. Claims must have ended. It ends no
workers.`,
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
				return printResult(a, struct {
					FormatVersion string `json:"format_version"`
					Run           string `json:"run"`
					Status        string `json:"status"`
				}{cli.ViewVersion, r.ID, as}, "run %s is %s", r.ID, as)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", runs.RunCompleted, "end it as `STATUS`: completed, failed or cancelled")
	cmd.Flags().StringVar(&reason, "reason", "", "record the reason `WHY`")
	return cmd
}
