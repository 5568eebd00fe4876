// Package executor does the steps of a task that are described in words: by
// asking the host's endpoint for edits in a strict protocol, or by running an
// agent program in a sandbox. It never judges the changes; the task runner does.
// Call Choice.Edit, or Endpoint.Edit and Program.Edit directly.
package executor
