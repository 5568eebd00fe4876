// Package doctor examines whether all that the specs ask for works on a machine,
// and names a fix for each problem. It writes nothing. Call Open, then Examine.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
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

// Check is one question that doctor asks of a machine.
type Check struct {
	Name    string        // lower-kebab-case
	Doc     string        // the state that it finds in order, for --help and the output
	Network bool          // dials: left out with --offline
	Deep    bool          // reads a lot or starts programs: only with --deep
	Machine bool          // is about the machine alone: left out where a project is examined
	Limit   time.Duration // how long Run may take; 0: defaultLimit, less than 0: no limit

	// Run changes nothing. It works as far as it can on a machine whose state is
	// broken, and returns no findings where all is in order.
	Run func(context.Context, *Env) Outcome
}

// defaultLimit is how long a check may take. Reading files takes milliseconds; a
// check that takes longer hangs on a network file system.
const defaultLimit = 30 * time.Second

// Outcome is what Run of a check returns.
type Outcome struct {
	Findings []Finding
	Took     time.Duration // until a model had answered, for a check that asks one
}

// Finding is a problem, or a note about something that was left out.
type Finding struct {
	Level string `json:"level"` // "fail"; "warn": works, with less; "skip": not checked, and why; "ok": a note
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"` // a command, or what to do by hand
}

// Result is a check with its outcome.
type Result struct {
	Name     string    `json:"name"`
	Doc      string    `json:"doc"`
	Result   string    `json:"result"`                   // "ok", "skip", "warn", "fail": the worst of the findings
	Took     float64   `json:"prompt_seconds,omitempty"` // seconds, of checks that ask a model
	Findings []Finding `json:"findings"`
}

// Options say how thoroughly a machine is examined.
type Options struct {
	Deep     bool          // with the checks that read a lot or start programs
	NoPrompt bool          // ask no model
	Scope    stack.Scope   // the project alone, the host alone, or "" for both
	Timeout  time.Duration // for each answer of a server; 0: the default of that kind of answer
}

// Env is the machine under examination. Of what could not be read, the error is
// set: the check that is named for it reports the error, and others leave it out.
type Env struct {
	options  Options
	machine  *stack.Machine
	offline  bool
	places   place.Places
	run      reconcile.Runner
	loadErr  error // why nothing was loaded: then all other errors are set, too
	reader   fsys.Reader
	stateDir *state.Dir
	spec     *spec.Spec // empty where specErr is set
	specErr  error
	facts    facts.Facts
	factsErr error
	store    *reconcile.Store // valid where storeErr is nil
	storeErr error
	services stack.ServiceManager
	start    []MCPServer // that the person wants started

	// These are worked out when they are first asked for, once.
	plan          func() (*stack.View, *reconcile.Plan, error) // what an apply would do
	inventory     func() (*stack.Inventory, error)             // the models of the host
	serviceStates func() (map[string]control.State, error)     // by the name of the service
}

// Open loads what the checks look at. Where something cannot be read, the checks
// report it.
func Open(ctx context.Context, m *stack.Machine, o Options) *Env {
	e := &Env{options: o, machine: m, offline: m.Offline, places: m.Places, run: m.Runner(), spec: &spec.Spec{}}
	e.serviceStates = sync.OnceValues(func() (map[string]control.State, error) {
		v, _, err := e.plan()
		if err != nil || v.Spec.Host == nil {
			return nil, err
		}
		return v.ServiceStates(ctx, v.Spec.Host.Services)
	})
	scope := cmp.Or(o.Scope, stack.ScopeAll)
	parts, err := stack.LookAtParts(ctx, m, scope)
	if err != nil {
		e.loadErr, e.storeErr, e.specErr, e.factsErr = err, err, err, err
		e.plan = func() (*stack.View, *reconcile.Plan, error) { return nil, nil, err }
		e.inventory = func() (*stack.Inventory, error) { return nil, err }
		return e
	}
	e.plan = planOnce(ctx, parts, scope)
	e.inventory = sync.OnceValues(func() (*stack.Inventory, error) {
		if err := parts.Err(); err != nil {
			return nil, err
		}
		return parts.View.Inventory(ctx)
	})
	e.reader, e.stateDir, e.services = parts.Reader, state.Open(parts.Reader, m.Places.State), parts.Services
	e.spec, e.specErr, e.store, e.storeErr = parts.Spec, parts.SpecErr, parts.Store, parts.StoreErr
	e.facts, e.factsErr = m.Facts()
	return e
}

// planOnce returns a function that plans once, however often it is called. It
// declares what the specs ask for before it returns, for that changes the view,
// which concurrent checks read.
func planOnce(ctx context.Context, parts *stack.Parts, scope stack.Scope) func() (*stack.View, *reconcile.Plan, error) {
	v, err := parts.Open(ctx)
	plan := sync.OnceValues(func() (*reconcile.Plan, error) {
		if err != nil {
			return nil, err
		}
		return v.Plan(ctx, stack.Request{Scope: scope})
	})
	return func() (*stack.View, *reconcile.Plan, error) {
		p, err := plan()
		return v, p, err
	}
}

// Examine runs the checks of list concurrently. The results are in its order.
func Examine(ctx context.Context, e *Env, list []Check) []Result {
	results := make([]Result, len(list))
	var wait sync.WaitGroup
	for i, c := range list {
		wait.Go(func() {
			o := runWithin(ctx, c, e)
			findings := append([]Finding{}, o.Findings...) // never null in JSON
			sort.SliceStable(findings, func(i, j int) bool {
				return slices.Index(levels, findings[i].Level) < slices.Index(levels, findings[j].Level)
			})
			result := "ok"
			if len(findings) > 0 {
				result = findings[0].Level
			}
			results[i] = Result{Name: c.Name, Doc: c.Doc, Result: result, Took: o.Took.Seconds(), Findings: findings}
		})
	}
	wait.Wait()
	return results
}

// runWithin runs c within its limit. A check that does not end is abandoned, and
// fails.
func runWithin(ctx context.Context, c Check, e *Env) Outcome {
	limit := cmp.Or(c.Limit, defaultLimit)
	if limit < 0 {
		return c.Run(ctx, e)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Outcome, 1)
	go func() { done <- c.Run(ctx, e) }()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return found(fail("", "the check did not end within %s", limit))
		}
		return found(fail("", "the check was interrupted"))
	}
}

// levels are what a finding can be, worst first.
var levels = []string{"fail", "warn", "skip", "ok"}

// found returns the outcome of a check that asks no model.
func found(list ...Finding) Outcome { return Outcome{Findings: list} }

// fail returns a finding about something that does not work.
func fail(fix, format string, args ...any) Finding {
	return Finding{"fail", fmt.Sprintf(format, args...), fix}
}

// warn returns a finding about something that works, with less.
func warn(fix, format string, args ...any) Finding {
	return Finding{"warn", fmt.Sprintf(format, args...), fix}
}

// skip returns a finding about something that was not checked.
func skip(format string, args ...any) Finding {
	return Finding{"skip", fmt.Sprintf(format, args...), ""}
}
