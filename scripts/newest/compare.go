package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// runner runs tests with versions of programs.
type runner interface {
	installer
	run(ctx context.Context, versions map[string]string, pattern string, skip []string) (outcome, error)
}

// change is one row of the table.
type change struct {
	program program
	part    string // or a test, in backquotes
	scope   string // "" for a test
	was, is string
	bad     bool
	first   string // the first version that is bad
}

// report is what a run found.
type report struct {
	programs []program
	held     map[string]int // by program: parts of the evidence that are as they were
	untried  map[string]int // parts of the evidence that no test tried
	changes  []change
	notes    []string
	date     string
	short    bool
	pattern  string
}

func (r report) regressed() bool {
	return slices.ContainsFunc(r.changes, func(c change) bool { return c.bad })
}

// comparison is one comparison at work.
type comparison struct {
	ctx  context.Context
	run  runner
	memo map[string]outcome // by program, version and pattern
	report
}

// compare runs the tests with the newest versions, and tries what went wrong alone,
// then with the pin, then with the versions between.
func compare(ctx context.Context, programs []program, run runner, pattern string) (report, error) {
	c := &comparison{ctx, run, map[string]outcome{}, report{programs: programs, held: map[string]int{}, untried: map[string]int{}}}
	versions := map[string]string{}
	var still []string
	for _, p := range programs {
		c.notes = append(c.notes, p.problems...)
		if p.moved() {
			versions[p.pin.ID] = p.newest
		} else {
			still = append(still, p.pin.ID)
		}
	}
	if len(versions) == 0 {
		return c.report, nil
	}
	o, err := run.run(ctx, versions, pattern, still)
	if err != nil {
		return report{}, err
	}
	explained := map[string]bool{} // tests whose failure a row tells
	for _, p := range programs {
		if p.moved() {
			c.parts(p, o, explained)
		}
	}
	for _, test := range o.failed {
		if !explained[test] {
			c.test(test)
		}
	}
	return c.report, nil
}

// parts compares the parts of one program.
func (c *comparison) parts(p program, o outcome, explained map[string]bool) {
	id := p.pin.ID
	proof, _ := catalog.ProofOf(id)
	for _, scope := range []string{"user", "project"} {
		listed := proof.User
		if scope == "project" {
			listed = proof.Project
		}
		seen := o.seen[id][scope]
		for _, part := range slices.Sorted(maps.Keys(union(listed, seen))) {
			now, tried := seen[part]
			switch known := slices.Contains(listed, part); {
			case known && now.Right:
				c.held[id]++
			case !known && now.Right:
				c.changes = append(c.changes, change{program: p, part: part, scope: scope, was: levelOf(id, part, scope), is: string(catalog.Run)})
			case known && tried:
				explained[now.Test] = true
				c.regression(p, change{program: p, part: part, scope: scope, was: string(catalog.Run), is: "wrong"}, now.Test,
					func(o outcome) bool { return o.seen[id][scope][part].Right })
			case known:
				right := func(o outcome) bool { return o.seen[id][scope][part].Right }
				test, failed := c.testOf(p, o.failed, right)
				if !failed {
					c.untried[id]++
					continue
				}
				explained[test] = true
				c.regression(p, change{program: p, part: part, scope: scope, was: string(catalog.Run), is: "not seen"}, test, right)
			}
		}
	}
}

// testOf is the failed test of a program that looks at a part with the pin: with the
// newest version it did not come so far.
func (c *comparison) testOf(p program, failed []string, right func(outcome) bool) (string, bool) {
	for _, test := range failed {
		if !slices.Contains(strings.Split(test, "/"), p.pin.ID) {
			continue
		}
		if ok, err := c.good(p, p.pin.Version, test, right); err == nil && ok {
			return test, true
		}
	}
	return "", false
}

// test finds the program to which a failed test is due.
func (c *comparison) test(test string) {
	passes := func(o outcome) bool { return !slices.Contains(o.failed, test) }
	var suspects []program
	for _, p := range c.programs {
		if p.moved() {
			suspects = append(suspects, p)
		}
	}
	if i := slices.IndexFunc(suspects, func(p program) bool { return slices.Contains(strings.Split(test, "/"), p.pin.ID) }); i >= 0 {
		suspects = suspects[i : i+1]
	}
	for i, p := range suspects {
		if ok, err := c.good(p, p.newest, test, passes); err == nil && ok && i < len(suspects)-1 {
			continue // another program, perhaps
		}
		c.regression(p, change{program: p, part: "`" + test + "`", was: "passes", is: "fails"}, test, passes)
		return
	}
}

// regression adds a row if what was wrong is wrong alone too, and right with the
// pin; else it adds a note.
func (c *comparison) regression(p program, row change, test string, holds func(outcome) bool) {
	what := strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", p.pin.ID, p.newest, row.part, row.scope))
	if ok, err := c.good(p, p.newest, test, holds); err == nil && ok {
		c.notes = append(c.notes, what+": wrong beside the others and right alone")
		if row.scope != "" {
			c.held[p.pin.ID]++
		}
		return
	}
	if ok, err := c.good(p, p.pin.Version, test, holds); err != nil || !ok {
		c.notes = append(c.notes, fmt.Sprintf("%s: %s on this machine, with the pin %s too", what, row.is, p.pin.Version))
		if row.scope != "" {
			c.untried[p.pin.ID]++
		}
		return
	}
	row.bad = true
	first, sure := firstBad(p.between, func(v string) (bool, error) { return c.good(p, v, test, holds) })
	row.first = first
	if !sure {
		row.first = "≤ " + first
	}
	c.changes = append(c.changes, row)
}

// good reports whether a test is right with one program at a version.
func (c *comparison) good(p program, version, test string, holds func(outcome) bool) (bool, error) {
	key := p.pin.ID + " " + version + " " + test
	o, known := c.memo[key]
	if !known {
		if err := c.run.install(c.ctx, p.at(version)); err != nil {
			return false, err
		}
		var err error
		if o, err = c.run.run(c.ctx, map[string]string{p.pin.ID: version}, exactly(test), nil); err != nil {
			return false, err
		}
		c.memo[key] = o
	}
	return holds(o), nil
}

// union is the names of listed and of seen.
func union[V any](listed []string, seen map[string]V) map[string]bool {
	out := map[string]bool{}
	for _, name := range listed {
		out[name] = true
	}
	for name := range seen {
		out[name] = true
	}
	return out
}

// levelOf is what the evidence says of a part.
func levelOf(id, part, scope string) string {
	rt, _ := catalog.With(spec.Catalog{}).Runtime(id)
	for _, p := range catalog.Parts() {
		if p.Name == part {
			level, _ := p.User(rt)
			if scope == "project" {
				level, _ = p.Project(rt)
			}
			return string(cmp.Or(level, catalog.Manual))
		}
	}
	return string(catalog.Manual)
}
