package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
	"aisync.dev/aisync/schema/spec"
)

// check is one thing that doctor looks at. It writes nothing, and makes as much
// of a broken state as it can: nothing found is a good answer.
type check struct {
	Name    string        // lower-kebab-case
	Doc     string        // what it looks at, for --help and the output
	Network bool          // left out with --offline
	Deep    bool          // only with --deep: it reads a lot
	Limit   time.Duration // how long it may take; 0: checkLimit, less than 0: for ever
	Run     func(context.Context, *patient) []finding

	// Prompt is Run for a check that asks a model: it says how long that took.
	Prompt func(context.Context) ([]finding, time.Duration)
}

// checkLimit is how long a check may take that says nothing of it. What reads
// files takes milliseconds; what hangs is a network file system.
const checkLimit = 30 * time.Second

// finding is something that is not as it should be.
type finding struct {
	Level string `json:"level"` // "fail"; "warn": works, with less; "skip": nobody looked, and why; "ok": good to know
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"` // a command, or what to do by hand
}

// patient is what the checks look at. A part that could not be read is nil, and
// the check that is named for it says why.
type patient struct {
	machine *Machine
	offline bool
	timeout time.Duration // for one answer of a server; 0: as long as that kind of answer may take
	places  place.Places
	disk    fsys.Reader
	dir     *state.Dir
	run     reconcile.Runner
	spec    *spec.Spec
	specErr error
	facts   *facts.Facts
	store   *reconcile.Store
	storeOf error

	// What several checks need is made when it is first asked for, once.
	planned func() (*View, *reconcile.Plan, error)   // what an apply would do
	stocked func() (*stock, error)                   // the models of the host
	states  func() (map[string]control.State, error) // of its services, by name
}

// checkResult is one check with what it found.
type checkResult struct {
	Name     string    `json:"name"`
	Doc      string    `json:"doc"`
	Result   string    `json:"result"`                   // "ok", "skip", "warn", "fail"
	Took     float64   `json:"prompt_seconds,omitempty"` // of checks that ask a model
	Findings []finding `json:"findings"`
}

func doctorCommand(a *app) *cobra.Command {
	var deep, noPrompt bool
	var timeout time.Duration
	var long strings.Builder
	long.WriteString(`Looks whether all that the specs ask for works here, and says for each problem
how to mend it. It changes nothing. It asks the servers that the spec names, and
nobody else; with --offline only those on this machine. A server has to name its
models, and to answer a prompt with at least one token: how long that took is
shown. With --deep the agent programs check themselves, cut off from the network,
and each that talks to a server of the spec answers a prompt, cut off from all
but that server; they may write into their own folders then, as whenever they
are started.

`)
	for _, c := range checks() {
		fmt.Fprintf(&long, "  %-20s %s\n", c.Name, c.Doc)
	}
	long.WriteString(describeRuntimeChecks())
	cmd := &cobra.Command{
		Use:         "doctor",
		Short:       "look whether all that the specs ask for works, with a fix for each problem",
		Long:        long.String() + "\nResults: ok; skip: nobody looked, and why; warn: works, with less; fail.\nExit code 0: nothing fails; 1: something does.",
		Example:     "  $ aisync doctor --offline\n  $ aisync doctor --deep --timeout 10m",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.places()
			if err != nil {
				return err
			}
			a.sayNewRoot(p)
			it := newPatient(cmd.Context(), a.machine(p))
			it.timeout = timeout
			list := slices.DeleteFunc(checks(), func(c check) bool { return c.Deep && !deep || c.Network && a.g.offline })
			list = slices.Concat(list, runtimeChecks(it, deep), serviceChecks(it, !noPrompt, deep))
			if deep && !noPrompt {
				list = append(list, agentChecks(it)...)
			}
			return a.tell(examine(cmd.Context(), list, it))
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "also read every byte of what can be verified, such as models, and run the programs' own checks")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give a server `TIME` for each answer (default: 10s to name its models, 3m to a prompt)")
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "ask no model anything: that may have to be read into memory first")
	return cmd
}

// newPatient reads what several checks need, once.
func newPatient(ctx context.Context, m *Machine) *patient {
	out := &patient{machine: m, offline: m.Offline, places: m.Places, run: m.runner()}
	out.states = out.statesOnce(ctx)
	parts, err := LookAtParts(ctx, m, ScopeAll)
	if err != nil {
		out.storeOf, out.specErr = err, err
		out.planned = func() (*View, *reconcile.Plan, error) { return nil, nil, err }
		out.stocked = func() (*stock, error) { return nil, err }
		return out
	}
	out.planned, out.stocked = plannedOnce(ctx, parts), stockedOnce(ctx, parts)
	out.disk, out.dir = parts.Reader, state.Open(parts.Reader, m.Places.State)
	out.spec, out.specErr, out.store, out.storeOf = parts.Spec, parts.SpecErr, parts.Store, parts.StoreErr
	if f, err := m.Facts(); err == nil {
		out.facts = &f
	}
	return out
}

// plannedOnce returns a function that plans once, however often it is called.
// What the specs ask for is declared at once: it changes the view, which checks
// that run side by side read.
func plannedOnce(ctx context.Context, parts *Parts) func() (*View, *reconcile.Plan, error) {
	w, err := parts.Open(ctx)
	plan := sync.OnceValues(func() (*reconcile.Plan, error) {
		if err != nil {
			return nil, err
		}
		return w.Plan(ctx, Request{Scope: ScopeAll})
	})
	return func() (*View, *reconcile.Plan, error) {
		p, err := plan()
		return w, p, err
	}
}

// limited runs a check, and gives up on it where it takes too long.
func limited(ctx context.Context, c check, p *patient) ([]finding, time.Duration) {
	run := c.Prompt
	if run == nil {
		run = func(ctx context.Context) ([]finding, time.Duration) { return c.Run(ctx, p), 0 }
	}
	limit := cmp.Or(c.Limit, checkLimit)
	if limit < 0 {
		return run(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		found []finding
		took  time.Duration
	}
	done := make(chan result, 1)
	go func() {
		found, took := run(ctx)
		done <- result{found, took}
	}()
	select {
	case r := <-done:
		return r.found, r.took
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return []finding{fail("", "it did not end within %s", limit)}, 0
		}
		return []finding{fail("", "it was interrupted")}, 0
	}
}

// examine runs the checks side by side. The results are in their order.
func examine(ctx context.Context, list []check, p *patient) []checkResult {
	results := make([]checkResult, len(list))
	var wait sync.WaitGroup
	for i, c := range list {
		wait.Go(func() {
			found, took := limited(ctx, c, p)
			found = append([]finding{}, found...) // never null in JSON
			slices.SortStableFunc(found, func(a, b finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
			result := "ok"
			if len(found) > 0 {
				result = found[0].Level
			}
			results[i] = checkResult{Name: c.Name, Doc: c.Doc, Result: result, Took: took.Seconds(), Findings: found}
		})
	}
	wait.Wait()
	return results
}

// tell prints the results and returns the exit code as an error.
func (a *app) tell(results []checkResult) error {
	failed := slices.ContainsFunc(results, func(r checkResult) bool { return r.Result == "fail" })
	if a.g.json {
		if err := a.writeJSON(struct {
			FormatVersion string        `json:"format_version"`
			OK            bool          `json:"ok"`
			Checks        []checkResult `json:"checks"`
		}{viewVersion, !failed, results}); err != nil {
			return err
		}
	} else {
		for _, r := range results {
			doc := r.Doc
			if r.Took > 0 {
				doc += fmt.Sprintf(" (%.1f s)", r.Took)
			}
			a.printf("%s %-20s %s\n", a.mark(r.Result), r.Name, a.paint().dim(doc))
			for _, f := range r.Findings {
				a.printf("  %s %s\n", a.mark(f.Level), strings.ReplaceAll(termtext.SafeLines(f.What), "\n", "\n         "))
				if f.Fix != "" {
					a.printf("         fix: %s\n", strings.ReplaceAll(termtext.SafeLines(f.Fix), "\n", "\n         "))
				}
			}
		}
	}
	if failed {
		return exit(exitError)
	}
	return nil
}

// mark is the sign of a result with its word, so that nothing hangs on colour
// or on a font.
func (a *app) mark(result string) string {
	signs := map[string]string{"ok": "✓", "skip": "–", "warn": "!", "fail": "✗"}
	if !a.unicode() {
		signs = map[string]string{"ok": "+", "skip": "-", "warn": "!", "fail": "x"}
	}
	text := fmt.Sprintf("%s %-4s", signs[result], result)
	switch result {
	case "skip":
		return a.paint().dim(text)
	case "warn":
		return a.paint().yellow(text)
	case "fail":
		return a.paint().red(text)
	}
	return a.paint().green(text)
}

// unicode reports whether the locale can show more than ASCII.
func (a *app) unicode() bool {
	locale := strings.ToLower(cmp.Or(a.env.Get("LC_ALL"), a.env.Get("LC_CTYPE"), a.env.Get("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// levels are what a finding can be, worst first.
var levels = []string{"fail", "warn", "skip", "ok"}

// fail, warn and skip make findings.
func fail(fix, format string, args ...any) finding {
	return finding{"fail", fmt.Sprintf(format, args...), fix}
}

func warn(fix, format string, args ...any) finding {
	return finding{"warn", fmt.Sprintf(format, args...), fix}
}

func skip(format string, args ...any) finding {
	return finding{"skip", fmt.Sprintf(format, args...), ""}
}
