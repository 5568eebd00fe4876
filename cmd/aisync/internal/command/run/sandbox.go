package run

import (
	"cmp"
	"fmt"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/schema/spec"
)

// confinable returns an error for a task that needs a sandbox and cannot have one,
// whatever the machine.
func (s *startOptions) confinable(set spec.RunSettings) error {
	tasks := s.plan.Tasks
	if len(tasks) == 0 {
		tasks = []spec.RunTask{{ID: "main"}}
	}
	for i, t := range tasks {
		if !t.Sandbox && !set.Sandbox || runs.Runtime(cmp.Or(t.Adapter, set.Adapter)) == start.Manual {
			continue
		}
		why := start.Unconfinable(t, set)
		switch {
		case why == nil:
		case i < len(s.lines):
			return fmt.Errorf("%s:%d: task %s: %w; %s", s.graph, s.lines[i], t.ID, why, why.Next)
		default:
			return fmt.Errorf("task %s: %w; %s", t.ID, why, why.Next)
		}
	}
	return nil
}

// whereOf names the place in which a worker runs.
func whereOf(substrate string, sandboxed bool) string {
	if sandboxed {
		return "a sandbox"
	}
	return substrate
}
