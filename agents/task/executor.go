package task

import (
	"context"
	"errors"
	"io"

	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/schema/spec"
)

// Executor turns an instruction into edits of a work tree.
type Executor interface {
	// Edit does one step below w.Dir. It gives no file to a model but w.Readable.
	// What it changed is judged by the runner and never trusted; after an error
	// the work tree is put back to what it was before the step.
	Edit(ctx context.Context, w Work) (Outcome, error)
}

// Work is one step for an executor.
type Work struct {
	Dir      string // the work tree
	Task     spec.Task
	Step     spec.TaskStep
	Readable []string // files that exist and that the read globs name, and the step's own; slash-separated and sorted; links are not among them
	Earlier  string   // why the last try failed, "" the first time
	Box      sandbox.Box
	Log      io.Writer // run.log
}

// Outcome is what came of it.
type Outcome struct {
	Name    string // of the executor: a runtime, or the model of an endpoint
	Tokens  int    // spent; 0 not known
	Summary string // in its own words
}

// ErrTransient is wrapped by errors that may pass: an endpoint's, a timeout.
// Such a step is tried again, as often as its task allows; every other is not.
var ErrTransient = errors.New("may pass")
