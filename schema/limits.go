package schema

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"aisync.dev/aisync/internal/limit"
)

// CostlyError reports specs that take too much memory, depth or time.
type CostlyError struct {
	Specs string // their files or folder
	What  string // such as "take more than 1024 MiB of memory"
}

func (e *CostlyError) Error() string {
	return e.Specs + ": cannot be evaluated: " + e.What + "; look for nested loops, and for repeated lists and texts"
}

// costlyError returns the error for the specs of o.
func (o Options) costlyError(what string) error { return &CostlyError{o.specs(), what} }

// specs names what Load reads, for a person.
func (o Options) specs() string {
	host, project := o.HostDir, ""
	if o.ProjectDir != "" && o.Scope != HostOnly {
		project = filepath.Join(o.ProjectDir, ProjectFile)
	}
	if o.Scope == ProjectOnly {
		host = ""
	}
	if host != "" && project != "" {
		return project + ", or a spec in " + host
	}
	return cmp.Or(project, host, "the embedded specs")
}

// withLimits runs work, which CUE may never end, and returns its error, or the
// reason to stop waiting: ctx, a limit, or patience. Work that continues ends
// with the program, or by o.Abort if it takes still more.
func (o Options) withLimits(ctx context.Context, work func() error) error {
	done := make(chan error, 2)
	abort := func(e limit.Exceeded) {
		if o.Abort != nil {
			o.Abort(o.costlyError(e.Error()))
		}
	}
	stop := limit.Watch(limit.Default, func(e limit.Exceeded) { done <- o.costlyError(e.Error()) }, abort)
	go func() {
		defer stop()
		defer func() {
			if bad := recover(); bad != nil {
				done <- o.costlyError(fmt.Sprint(bad))
			}
		}()
		done <- work()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return o.costlyError("not done after " + patience.String())
	}
}

// patience is the time limit for specs, generous for a busy machine.
var patience = 2 * time.Minute
