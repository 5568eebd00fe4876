package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// Before is how a verify command ended before the steps.
type Before struct {
	Cmd      string `json:"cmd"`
	ExitCode int    `json:"exit_code"` // -1: timeout
}

// verifyBefore runs verify before the steps of a task that may write, up to the
// first command that fails: if the steps change nothing, it tells whether they
// made verify pass. What it writes is discarded and breaks no limit.
func (a *attempt) verifyBefore(ctx context.Context) error {
	if a.task.ReadOnly() || len(a.task.Verify) == 0 {
		return nil
	}
	if err := a.enter(stageBefore); err != nil {
		return fail("git", err)
	}
	if err := a.tree.Mark(ctx); err != nil {
		return fail("git", err)
	}
	for _, line := range a.task.Verify {
		a.note("verify, before the steps: %s", line)
		a.say("%s: before the steps: verify: %s", a.task.ID, termtext.OneLine(line))
		result, err := a.shell(ctx, line)
		if err != nil {
			return fail("sandbox", fmt.Errorf("verify, before the steps: %w", err))
		}
		a.report.VerifyBefore = append(a.report.VerifyBefore, Before{line, result.ExitCode})
		if result.ExitCode != 0 {
			break
		}
	}
	if err := a.tree.Reset(ctx); err != nil {
		return fail("violation", fmt.Errorf("verify, before the steps: %w", err))
	}
	return a.emptyScratch()
}

// emptyScratch gives the steps a new HOME and /tmp. It moves the present ones
// before it removes them: a folder without write permission may stay.
func (a *attempt) emptyScratch() error {
	old, err := os.MkdirTemp(a.box.Scratch, "before-")
	if err != nil {
		return fail("sandbox", err)
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Rename(filepath.Join(a.box.Scratch, name), filepath.Join(old, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail("sandbox", fmt.Errorf("empty the scratch folder: %w", err))
		}
	}
	_ = os.RemoveAll(old)
	return nil
}

// checkUnchanged returns an error for a task without changes that may write,
// unless verify failed before the steps. A timeout is no failure: it may have
// passed with more time.
func (a *attempt) checkUnchanged() error {
	before := a.report.failedBefore()
	why, ignored := "it has no verify command", ""
	switch {
	case a.task.ReadOnly(), before != nil && before.ExitCode != -1:
		return nil
	case before != nil:
		why = "verify was not finished before the steps"
	case len(a.task.Verify) > 0:
		why = "verify passed before the steps too"
	}
	if n := len(a.report.Changed); n > 0 {
		ignored = fmt.Sprintf(" (git ignores %s)", quantity.Count(n, "changed file"))
	}
	return fail("unchanged", errors.New("changed nothing: the steps left nothing to commit"+ignored+", although the task may write "+strings.Join(a.task.Write, ", ")+", and "+why+
		"; make the steps more exact, or set constraints: max_files_changed: 0 if it only checks, and type: aisync task retry "+a.task.ID))
}

// failedBefore returns the verify command that failed before the steps, nil if
// none did or none was run.
func (r *Report) failedBefore() *Before {
	if n := len(r.VerifyBefore); n > 0 && r.VerifyBefore[n-1].ExitCode != 0 {
		return &r.VerifyBefore[n-1]
	}
	return nil
}
