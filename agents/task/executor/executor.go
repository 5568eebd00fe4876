// Package executor does the steps of a task that say in words what to change:
// by asking the host's endpoint for edits in a strict protocol, or by running
// an agent program in a sandbox. It judges nothing that came of it: the runner
// does. Start reading at Endpoint, then Program, and Choose for which of them
// does a task.
package executor
