package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is what came of one test, or of one fuzz target.
type result struct {
	passed, failed, skipped int // runs; a name may be in several packages
	seconds                 float64
	tried                   map[string]int // of its line "proof:"
	output                  []string
}

// results by the document's names.
type results map[string]*result

func (r results) of(name string) *result {
	if r[name] == nil {
		r[name] = &result{tried: map[string]int{}}
	}
	return r[name]
}

var (
	proofLine = regexp.MustCompile(`proof: (.*)`)
	figure    = regexp.MustCompile(`(\w+)=(\d+)(?:\s|$)`)
	execs     = regexp.MustCompile(`execs: (\d+)`)
)

// long asks tests for their long form, each by the variable that its own target
// of the Makefile sets.
var long = []string{
	"AISYNC_PROOF=full",
	"AISYNC_TEST_CRASH=full", "AISYNC_TEST_KILLS=300", "AISYNC_TEST_ROUNDS=40", // make test-crash
	"AISYNC_KILLS=200",                       // make test-kill
	"LEDGER_LONG=1", "LEASE_HISTORIES=10000", // make test-ledger
	"AISYNC_RUN_KILLS=100", // make test-runs
}

// runAll runs every test that a row names, once.
func runAll(rows []row, where map[string][]string, full bool, fuzz time.Duration) (results, error) {
	tests, packages := map[string]bool{}, map[string]bool{}
	var scripts, targets []string
	for _, r := range rows {
		for _, name := range r.names {
			pkgs := where[name]
			if len(pkgs) == 0 {
				return nil, fmt.Errorf("section %d: there is no %s", r.n, name)
			}
			script, isScript := strings.CutSuffix(name, ".txtar")
			if isScript {
				scripts = append(scripts, script)
				continue
			}
			tests[name] = true
			for _, p := range pkgs {
				packages[p] = true
			}
			if strings.HasPrefix(name, "Fuzz") && !slices.Contains(targets, name) {
				targets = append(targets, name)
			}
		}
	}
	var env []string
	if full {
		env = long
	}
	all, fuzzed := results{}, results{}
	var errs []error
	run := func(args ...string) {
		if err := goTest(all, env, args...); err != nil {
			errs = append(errs, err)
		}
	}
	// The long tests wait now and then: fuzzing takes that time, one worker at it.
	// It begins with the seeds that are committed: to try again what was found
	// here before could take a target's whole time.
	var fuzzErr error
	var wait sync.WaitGroup
	if full {
		found, err := os.MkdirTemp("", "aisync-proof-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(found)
		wait.Go(func() {
			fuzzErr = fuzzAll(fuzzed, targets, where, fuzz, "-parallel=1", "-args", "-test.fuzzcachedir="+found)
		})
	}
	fmt.Printf("%d tests and fuzz targets of %d packages\n", len(tests), len(packages))
	run(append([]string{"-run", "^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"}, inOrder(packages)...)...)
	if len(scripts) > 0 {
		slices.Sort(scripts)
		fmt.Printf("%d scripts\n", len(scripts))
		run("-run", "^TestScripts$/^("+strings.Join(slices.Compact(scripts), "|")+")$", "./cmd/aisync")
	}
	wait.Wait()
	all.add(fuzzed)
	return all, errors.Join(append(errs, fuzzErr)...)
}

// add adds what came of other runs of the same tests.
func (r results) add(more results) {
	for name, m := range more {
		is := r.of(name)
		is.passed, is.failed, is.skipped, is.seconds = is.passed+m.passed, is.failed+m.failed, is.skipped+m.skipped, is.seconds+m.seconds
		for what, n := range m.tried {
			is.tried[what] += n
		}
		is.output = append(is.output, m.output...)
	}
}

// inOrder sorts packages; the program's own, whose tests take by far the
// longest, come first, so that they do not run alone at the end.
func inOrder(packages map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(packages), func(a, b string) int {
		own := func(p string) int { return strings.Index(p, "./cmd/") } // -1 elsewhere
		return cmp.Or(cmp.Compare(own(b), own(a)), cmp.Compare(a, b))
	})
}

// fuzzAll fuzzes each target for a while.
func fuzzAll(all results, targets []string, where map[string][]string, d time.Duration, flags ...string) error {
	var errs []error
	for _, target := range targets {
		for _, pkg := range where[target] {
			fmt.Printf("%s for %s\n", target, d)
			args := []string{"-run", "^$", "-fuzz", "^" + target + "$", "-fuzztime", d.String(), "-fuzzminimizetime", "20x", pkg}
			errs = append(errs, goTest(all, nil, append(args, flags...)...))
		}
	}
	return errors.Join(errs...)
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// goTest runs go test and adds what came of each test. That a test failed is no
// error: its result says so.
func goTest(all results, env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=60m"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ran, readErr := collect(all, out)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ran > 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("go test %s: %w", strings.Join(args, " "), err)
	}
	return errors.Join(err, readErr)
}

// nameOf is how the document calls a test: a script by its file, a part of a
// test by the whole.
func nameOf(test string) (name string, whole bool) {
	top, sub, isSub := strings.Cut(test, "/")
	if top == "TestScripts" {
		return sub + ".txtar", isSub
	}
	return top, !isSub
}

// collect reads the events of one go test and returns how many tests ended. A
// package that did not build, or died, fails as a test of its own name.
func collect(all results, in io.Reader) (ran int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	failed := map[string]bool{}  // packages of which a test failed
	holding := map[string]bool{} // tests that are made of others
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		if e.Test == "" {
			if e.Action == "pass" || e.Action == "fail" {
				fmt.Printf("  %s %s in %.1f s\n", e.Package, e.Action, e.Elapsed)
			}
			switch pkg := all.of(e.Package); {
			case e.Action == "output":
				pkg.output = append(pkg.output, e.Output)
			case e.Action == "fail" && !failed[e.Package]:
				pkg.failed++
			}
			continue
		}
		name, whole := nameOf(e.Test)
		r := all.of(name)
		switch e.Action {
		case "output":
			r.take(e.Output)
			continue
		case "run":
			if at := strings.LastIndexByte(e.Test, '/'); at >= 0 {
				holding[e.Package+" "+e.Test[:at]] = true
			}
			continue
		case "pass":
			if whole {
				r.passed++
			} else if strings.HasPrefix(name, "Fuzz") {
				r.tried["seeds"]++
			} else if !holding[e.Package+" "+e.Test] {
				r.tried["cases"]++
			}
		case "fail":
			failed[e.Package] = true
			if r.outOfTime(name) {
				r.passed++
			} else {
				r.failed++
			}
		case "skip":
			if whole {
				r.skipped++
			}
		default:
			continue
		}
		if whole {
			ran++
			r.seconds += e.Elapsed
		}
	}
	return ran, lines.Err()
}

// outOfTime reports whether nothing is wrong with a fuzz target but that its
// time was over while a worker was at it, which go test may take for a failure
// (golang/go#75804, mended in Go 1.27). An input that fails is always named.
func (r *result) outOfTime(name string) bool {
	said := strings.Join(r.output, "")
	return strings.HasPrefix(name, "Fuzz") && strings.Contains(said, "\n    context deadline exceeded\n") && !strings.Contains(said, "Failing input")
}

// take keeps a line of a test's output, and what it says was tried.
func (r *result) take(line string) {
	r.output = append(r.output, line)
	if m := proofLine.FindStringSubmatch(line); m != nil {
		for _, f := range figure.FindAllStringSubmatch(m[1], -1) {
			if n, err := strconv.Atoi(f[2]); err == nil && f[1] != "seconds" {
				r.tried[f[1]] += n
			}
		}
	}
	if m := execs.FindStringSubmatch(line); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			r.tried["inputs"] = max(r.tried["inputs"], n) // each line counts from the start
		}
	}
}
