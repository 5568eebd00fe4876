package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/schema/spec"
)

// agentTasks checks what the graph asks for tasks that no command does. It refuses
// a command there, which would not run, and returns a warning for each task whose
// variables reach an agent in the person's own files: a variable can give the
// program permissions that the person did not.
func (s *startOptions) agentTasks(set spec.RunSettings) (warnings []string, err error) {
	for i, t := range s.plan.Tasks {
		adapter := runs.Runtime(cmp.Or(t.Adapter, set.Adapter))
		if adapter == start.Command || t.Adapter == "" && len(t.Command) > 0 {
			continue
		}
		if len(t.Command) > 0 {
			return nil, &runs.TaskError{Index: i, Err: fmt.Errorf("task %s: command does not run with the adapter %s, which gets the goal; leave one of them out, or set the adapter to %s", t.ID, adapter, start.Command)}
		}
		if len(t.Env) > 0 && adapter != start.Manual && !runs.InTree(t, set) {
			warnings = append(warnings, fmt.Sprintf(`task %s: env sets %s for %s, which works in your files: a variable can give the program permissions that you did not. Set them yourself, or use "worktree": true`,
				t.ID, strings.Join(slices.Sorted(maps.Keys(t.Env)), ", "), cmp.Or(adapter, "the default agent")))
		}
	}
	return warnings, nil
}

// inGraphFile adds to an error about a task the line of the graph at which the task
// begins.
func (s *startOptions) inGraphFile(err error) error {
	if wrong := new(runs.TaskError); errors.As(err, &wrong) && s.graph != "" {
		return fmt.Errorf("%s:%d: %w", s.graph, s.lines[wrong.Index], err)
	}
	return err
}
