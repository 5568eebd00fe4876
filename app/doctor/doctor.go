// Package doctor looks whether all that the specs ask for works on a machine. A
// Check is a value; none writes. Call Open, then Examine with Checks.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
	"aisync.dev/aisync/schema/spec"
)

// Check is one thing that doctor looks at. It writes nothing, and makes as much
// of a broken state as it can: nothing found is a good answer.
type Check struct {
	Name    string        // lower-kebab-case
	Doc     string        // what it looks at, for --help and the output
	Network bool          // left out with --offline
	Deep    bool          // only with --deep: it reads a lot
	Limit   time.Duration // how long it may take; 0: checkLimit, less than 0: for ever
	Run     func(context.Context, *Env) []Finding

	// Prompt is Run for a check that asks a model: it says how long that took.
	Prompt func(context.Context) ([]Finding, time.Duration)
}

// checkLimit is how long a check may take that says nothing of it. What reads
// files takes milliseconds; what hangs is a network file system.
const checkLimit = 30 * time.Second

// Finding is something that is not as it should be.
type Finding struct {
	Level string `json:"level"` // "fail"; "warn": works, with less; "skip": nobody looked, and why; "ok": good to know
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"` // a command, or what to do by hand
}

// Env is what the checks look at. A part that could not be read is nil, and
// the check that is named for it says why.
type Env struct {
	machine *stack.Machine
	offline bool
	Timeout time.Duration // for one answer of a server; 0: as long as that kind of answer may take
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
	planned func() (*stack.View, *reconcile.Plan, error) // what an apply would do
	stocked func() (*stock, error)                       // the models of the host
	states  func() (map[string]control.State, error)     // of its services, by name
}

// Result is one check with what it found.
type Result struct {
	Name     string    `json:"name"`
	Doc      string    `json:"doc"`
	Result   string    `json:"result"`                   // "ok", "skip", "warn", "fail"
	Took     float64   `json:"prompt_seconds,omitempty"` // of checks that ask a model
	Findings []Finding `json:"findings"`
}

// Open reads what several checks need, once.
func Open(ctx context.Context, m *stack.Machine) *Env {
	out := &Env{machine: m, offline: m.Offline, places: m.Places, run: m.Runner()}
	out.states = out.statesOnce(ctx)
	parts, err := stack.LookAtParts(ctx, m, stack.ScopeAll)
	if err != nil {
		out.storeOf, out.specErr = err, err
		out.planned = func() (*stack.View, *reconcile.Plan, error) { return nil, nil, err }
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
func plannedOnce(ctx context.Context, parts *stack.Parts) func() (*stack.View, *reconcile.Plan, error) {
	w, err := parts.Open(ctx)
	plan := sync.OnceValues(func() (*reconcile.Plan, error) {
		if err != nil {
			return nil, err
		}
		return w.Plan(ctx, stack.Request{Scope: stack.ScopeAll})
	})
	return func() (*stack.View, *reconcile.Plan, error) {
		p, err := plan()
		return w, p, err
	}
}

// limited runs a check, and gives up on it where it takes too long.
func limited(ctx context.Context, c Check, p *Env) ([]Finding, time.Duration) {
	run := c.Prompt
	if run == nil {
		run = func(ctx context.Context) ([]Finding, time.Duration) { return c.Run(ctx, p), 0 }
	}
	limit := cmp.Or(c.Limit, checkLimit)
	if limit < 0 {
		return run(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		found []Finding
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
			return []Finding{fail("", "it did not end within %s", limit)}, 0
		}
		return []Finding{fail("", "it was interrupted")}, 0
	}
}

// Examine runs the checks side by side. The results are in their order.
func Examine(ctx context.Context, list []Check, p *Env) []Result {
	results := make([]Result, len(list))
	var wait sync.WaitGroup
	for i, c := range list {
		wait.Go(func() {
			found, took := limited(ctx, c, p)
			found = append([]Finding{}, found...) // never null in JSON
			slices.SortStableFunc(found, func(a, b Finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
			result := "ok"
			if len(found) > 0 {
				result = found[0].Level
			}
			results[i] = Result{Name: c.Name, Doc: c.Doc, Result: result, Took: took.Seconds(), Findings: found}
		})
	}
	wait.Wait()
	return results
}

// levels are what a finding can be, worst first.
var levels = []string{"fail", "warn", "skip", "ok"}

// fail, warn and skip make findings.
func fail(fix, format string, args ...any) Finding {
	return Finding{"fail", fmt.Sprintf(format, args...), fix}
}

func warn(fix, format string, args ...any) Finding {
	return Finding{"warn", fmt.Sprintf(format, args...), fix}
}

func skip(format string, args ...any) Finding {
	return Finding{"skip", fmt.Sprintf(format, args...), ""}
}
