package task

import (
	"context"
	"errors"
	"io"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/schema/spec"
)

// Executor turns an instruction into edits of a work tree.
type Executor interface {
	// Edit does one step below w.Dir. It gives a model only files of w.Readable.
	// The runner judges the changes and never trusts them; after an error it
	// restores the work tree.
	Edit(ctx context.Context, w Work) (Outcome, error)
}

// Work is one step for an executor.
type Work struct {
	Dir      string // the work tree
	Task     spec.Task
	Step     spec.TaskStep
	Readable []string // existing files that the read globs or the step name; slash-separated, sorted, without links
	Earlier  string   // why the last try failed, "" the first time
	Box      sandbox.Box
	Log      io.Writer // run.log
}

// Outcome is the result of one step.
type Outcome struct {
	Name    string // of the executor: a runtime, or an endpoint's model
	Tokens  int    // spent; 0: unknown
	Summary string // in the executor's words
}

// ErrTransient marks errors that may pass: an endpoint's, a timeout. Such a step
// is tried again, as often as its task allows; others are not.
var ErrTransient = errors.New("temporary failure")
