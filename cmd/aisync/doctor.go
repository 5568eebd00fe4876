package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/hosts/facts"
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
}

// checkLimit is how long a check may take that says nothing of it. What reads
// files takes milliseconds; what hangs is a network file system.
const checkLimit = 30 * time.Second

// finding is something that is not as it should be.
type finding struct {
	Level string `json:"level"` // "warn": works, with less; "fail"
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"` // a command, or what to do by hand
}

// patient is what the checks look at. A part that could not be read is nil, and
// the check that is named for it says why.
type patient struct {
	app     *app
	offline bool
	places  places
	disk    fsys.Reader
	dir     *state.Dir
	run     reconcile.Runner
	spec    *spec.Spec
	specErr error
	facts   *facts.Facts
	store   *reconcile.Store
	storeOf error

	// planned is what an apply would do, made when it is first asked for.
	planned func() (*world, *reconcile.Plan, error)
}

// checkResult is one check with what it found.
type checkResult struct {
	Name     string    `json:"name"`
	Doc      string    `json:"doc"`
	Result   string    `json:"result"` // "ok", "warn", "fail"
	Findings []finding `json:"findings"`
}

func doctorCommand(a *app) *cobra.Command {
	var deep bool
	var long strings.Builder
	long.WriteString("Looks for what would keep aisync from working here, and says for each problem\nhow to mend it. It changes nothing, and dials nothing.\nWith --deep the agent programs check themselves, cut off from the network; they\nmay write into their own folders then, as whenever they are started.\n\n")
	for _, c := range checks() {
		fmt.Fprintf(&long, "  %-20s %s\n", c.Name, c.Doc)
	}
	long.WriteString(describeRuntimeChecks())
	cmd := &cobra.Command{
		Use:         "doctor",
		Short:       "look for what would keep aisync from working, with a fix for each problem",
		Long:        long.String() + "\nExit code 0: nothing fails (there may be warnings); 1: something fails.",
		Example:     "  $ aisync doctor --offline",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.places()
			if err != nil {
				return err
			}
			a.sayNewRoot(p)
			it := a.patient(cmd.Context(), p)
			list := slices.DeleteFunc(checks(), func(c check) bool { return c.Deep && !deep || c.Network && a.g.offline })
			return a.tell(examine(cmd.Context(), append(list, runtimeChecks(it, deep)...), it))
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "also read every byte of what can be verified, such as models, and run the programs' own checks")
	return cmd
}

// patient reads what several checks need, once.
func (a *app) patient(ctx context.Context, p places) *patient {
	out := &patient{app: a, offline: a.g.offline, places: p, run: runner{a.env}}
	out.planned = a.plannedOnce(ctx)
	disk, err := p.reader("doctor")
	if err != nil {
		out.storeOf, out.specErr = err, err
		return out
	}
	out.disk = disk
	out.dir = state.Open(out.disk, p.state)
	var wait sync.WaitGroup
	wait.Go(func() { out.spec, out.specErr = a.loadSpec(ctx, p) })
	wait.Go(func() {
		if f, err := a.loadFacts(ctx, p); err == nil {
			out.facts = &f
		}
	})
	wait.Go(func() { out.store, out.storeOf = reconcile.OpenStore(out.disk, p.state) })
	wait.Wait()
	if p.project != "" && out.storeOf == nil {
		if l, err := readLockFile(filepath.Join(p.project, lockName)); err == nil && l.found {
			out.store.UseLock(reconcile.ProjectOwner(p.project), lockName, l.lock)
		}
	}
	return out
}

// plannedOnce returns a function that plans once, however often it is called.
func (a *app) plannedOnce(ctx context.Context) func() (*world, *reconcile.Plan, error) {
	var (
		once sync.Once
		w    *world
		p    *reconcile.Plan
		err  error
	)
	return func() (*world, *reconcile.Plan, error) {
		once.Do(func() {
			if w, err = a.setup(ctx, scopeAll); err == nil {
				p, err = w.plan(ctx, asked{scope: scopeAll})
			}
		})
		return w, p, err
	}
}

// limited runs a check, and gives up on it where it takes too long.
func limited(ctx context.Context, c check, p *patient) []finding {
	limit := cmp.Or(c.Limit, checkLimit)
	if limit < 0 {
		return c.Run(ctx, p)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan []finding, 1)
	go func() { done <- c.Run(ctx, p) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return []finding{fail("", "it did not end within %s", limit)}
		}
		return []finding{fail("", "it was interrupted")}
	}
}

// examine runs the checks side by side. The results are in their order.
func examine(ctx context.Context, list []check, p *patient) []checkResult {
	results := make([]checkResult, len(list))
	var wait sync.WaitGroup
	for i, c := range list {
		wait.Go(func() {
			found := append([]finding{}, limited(ctx, c, p)...)
			slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.Level, b.Level) })
			result := "ok"
			if len(found) > 0 {
				result = found[0].Level // "fail" sorts before "warn"
			}
			results[i] = checkResult{c.Name, c.Doc, result, found}
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
			a.printf("%s %-20s %s\n", a.mark(r.Result), r.Name, a.paint().dim(r.Doc))
			for _, f := range r.Findings {
				a.printf("  %s %s\n", a.mark(f.Level), safeLines(f.What))
				if f.Fix != "" {
					a.printf("         fix: %s\n", safeLines(f.Fix))
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
	signs := map[string]string{"ok": "✓", "warn": "!", "fail": "✗"}
	if !a.unicode() {
		signs = map[string]string{"ok": "+", "warn": "!", "fail": "x"}
	}
	text := fmt.Sprintf("%s %-4s", signs[result], result)
	switch result {
	case "warn":
		return a.paint().yellow(text)
	case "fail":
		return a.paint().red(text)
	}
	return a.paint().green(text)
}

// unicode reports whether the locale can show more than ASCII.
func (a *app) unicode() bool {
	locale := strings.ToLower(cmp.Or(a.env.get("LC_ALL"), a.env.get("LC_CTYPE"), a.env.get("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// fail and warn make findings.
func fail(fix, format string, args ...any) finding {
	return finding{"fail", fmt.Sprintf(format, args...), fix}
}

func warn(fix, format string, args ...any) finding {
	return finding{"warn", fmt.Sprintf(format, args...), fix}
}

// hintOf is what err itself says to do next.
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return strings.TrimPrefix(h.Hint(), "run: ")
	}
	return ""
}
