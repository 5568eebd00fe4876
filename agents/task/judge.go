package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// enforce judges the changes of the work tree.
func (a *attempt) enforce(ctx context.Context) error {
	changes, err := a.tree.Changes(ctx)
	if err != nil {
		return undecided(err)
	}
	a.report.Changed, a.report.DiffBytes, a.report.Diff = changes, 0, ""
	counted := slices.Clone(changes)
	wrong := len(changes) > maxStaged
	for i, c := range changes {
		counted[i].Ignored = c.Ignored && !slices.Contains(a.named, c.Path)
		wrong = wrong || c.Wrong != "" || policy.GitsOwn(c.Path)
	}
	if wrong { // git cannot read such changes
		return violations(append(a.limits.Judge(counted, 0), &policy.Violation{Text: "so the size of the diff was not checked"}))
	}
	if a.last, err = a.tree.Stage(ctx, changes, a.named); err != nil {
		return undecided(err)
	}
	a.report.DiffBytes, a.report.Diff = a.last.Bytes, a.last.Diff
	return violations(a.limits.Judge(counted, a.last.Bytes))
}

// maxStaged is the number of changed files above which no diff is made: more
// than any task may change (schema/task.cue).
const maxStaged = 10_000

// undecided turns an error of judging into a violation.
func undecided(err error) error {
	var v *policy.Violation
	if errors.As(err, &v) || errors.Is(err, context.Canceled) {
		return err
	}
	return &policy.Violation{Text: fmt.Sprintf("cannot determine the changes: %v", err)}
}

func violations(vs []*policy.Violation) error {
	var all []error
	for _, v := range vs[:min(20, len(vs))] {
		all = append(all, v)
	}
	if len(vs) > 20 {
		all = append(all, fmt.Errorf("and %d more", len(vs)-20))
	}
	return errors.Join(all...)
}

// verify runs the commands that prove the task done. They may only read, and
// write files that git ignores where the task may write.
func (a *attempt) verify(ctx context.Context) error {
	for n, line := range a.task.Verify {
		for tries := 0; ; tries++ {
			if err := a.tree.Mark(ctx); err != nil {
				return fail("git", err)
			}
			a.note("verify: %s", line)
			a.say("%s: verify: %s", a.task.ID, termtext.OneLine(line))
			result, err := a.shell(ctx, line)
			if err != nil {
				return fail(kindOf(err, spec.TaskStep{}), fmt.Errorf("verify: %w", err))
			}
			a.report.VerifyResults = append(a.report.VerifyResults[:n], result)
			if err := a.checkReadOnly(ctx, line); err != nil {
				return fail("violation", err)
			}
			err = commandError(result, a.task.Timeout)
			if err == nil {
				break
			}
			err = fmt.Errorf("verify: %w", err)
			switch {
			case !errors.Is(err, errTimeout):
				return fail("verify", err)
			case tries >= a.task.Retries:
				return fail("timeout", err)
			}
		}
	}
	return nil
}

// checkReadOnly judges a command that may write nothing.
func (a *attempt) checkReadOnly(ctx context.Context, line string) error {
	since, err := a.tree.Since(ctx)
	if err != nil {
		return undecided(err)
	}
	for _, c := range since {
		if !c.Ignored || c.Wrong != "" || slices.Contains(a.named, c.Path) || !a.limits.MayWrite(c.Path) {
			return fmt.Errorf("verify: %s: it wrote: %w", termtext.OneLine(line), &policy.Violation{Path: c.Path, Text: string(c.Kind) +
				"; verify commands may only read, and write ignored files that allowed_write_globs allow"})
		}
	}
	return nil
}
