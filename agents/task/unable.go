package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// ErrUnable reports a task that cannot begin here, mostly because no executor
// can do it. It stays in its queue.
var ErrUnable = errors.New("no executor here can do the task")

type unable struct {
	ids []string // of the tasks
	err error
}

func (u *unable) Error() string        { return fmt.Sprintf("%s: %v", named(u.ids), u.err) }
func (u *unable) Unwrap() error        { return u.err }
func (u *unable) Is(target error) bool { return target == ErrUnable }

// can returns an error if a task cannot begin: its file must say enough, the host
// must allow it the network that it asks for, its branch must be possible, and an
// executor must be able to do its steps in words.
func (r Runner) can(ctx context.Context, p readiness, i Item) error {
	t := i.Task
	switch {
	case t.Lack != nil:
		return Flaw{t.Lack.Pos, t.Lack.Text}
	case t.Network && !r.Network.Allowed:
		return &noNetwork{i.Path, r.Network}
	}
	if err := inTheWay(ctx, p.repo, branchName(t.ID, "")); err != nil {
		return err
	}
	words := false
	for _, s := range t.Steps {
		words = words || s.Action == "edit"
	}
	switch c, ok := r.Executor.(interface{ Can(spec.Task) error }); {
	case !words:
		return nil
	case r.Executor == nil:
		return fmt.Errorf("its steps are in words: %w", ErrUnable)
	case ok:
		return c.Can(t)
	}
	return nil
}

// grouped returns the errors of a run with one in place of several tasks that are
// unable for the same reason.
func grouped(errs []error) []error {
	var out []error
	who := map[string]*unable{}
	for _, err := range errs {
		u, is := err.(*unable)
		if !is {
			out = append(out, err)
			continue
		}
		reason := u.err.Error()
		if who[reason] == nil {
			who[reason] = &unable{err: u.err}
			out = append(out, who[reason])
		}
		who[reason].ids = append(who[reason].ids, u.ids...)
	}
	return out
}

// named returns the ids of tasks as the subject of a sentence.
func named(ids []string) string {
	const shown = 10
	ids = slices.Clone(ids)
	if len(ids) == 1 {
		return "task " + ids[0]
	}
	more := ""
	if rest := len(ids) - shown; rest > 1 {
		ids, more = ids[:shown], fmt.Sprintf(" and %d more", rest)
	}
	return "tasks " + strings.Join(ids, ", ") + more
}
