package gitea

import (
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// setSteps sets the steps of the task, and the files that it may write.
func (r *reading) setSteps() error {
	list, rest := items(r.steps)
	if len(list) == 0 {
		for _, text := range rest {
			if item.MatchString(text) {
				return errors.New("no step is left: all items under its heading Tasks are ticked")
			}
		}
		return r.freeStep()
	}
	r.notes = append(r.unread, r.notes...)
	r.leave("Tasks", rest)
	at := "" // the file of an item that names none: the one before, or the only one
	if len(r.limits.write) == 1 && literalFile(r.limits.write[0]) {
		at = r.limits.write[0]
	}
	var files []string
	for n, i := range list {
		s := step{ID: fmt.Sprintf("step-%d", n+1)}
		if m := runs.FindStringSubmatch(i); m != nil {
			var all bool
			s.Action = "run"
			if s.Command, all = command(i); !all {
				r.notes = append(r.notes, "Tasks: "+onlyCommand(i))
			}
		} else {
			if named := firstFile(i); named != "" {
				at = named
			}
			if at == "" {
				return fmt.Errorf("its first task names no file: write \"`path/of/file`: %s\"", termtext.OneLine(i))
			}
			files = appendNew(files, at)
			s.Action, s.File, s.Instructions = "edit", at, i
		}
		r.task.Steps = append(r.task.Steps, s)
	}
	if r.task.Scope.Write = r.limits.write; len(r.limits.write) == 0 {
		r.task.Scope.Write = files
	}
	return nil
}

// freeStep makes one step of an issue without a list of tasks. It edits the first
// file that may be written, or, where none is bounded, the first that the text
// names, and that one alone; the others that the text names may be read.
func (r *reading) freeStep() error {
	named := mentions(strings.Join(append(r.prose, r.steps), "\n"))
	var at string
	for _, w := range r.limits.write {
		if at == "" && literalFile(w) {
			at = w
		}
	}
	if r.task.Scope.Write = r.limits.write; len(r.limits.write) == 0 && len(named) > 0 {
		r.task.Scope.Write = named[:1:1]
	}
	if at == "" && len(named) > 0 {
		at = named[0]
	}
	if at == "" {
		return fmt.Errorf("it has no list of steps under a heading Tasks, and names no file to edit; add to it \"## Files\" with \"- `path/of/file`\", or write the task yourself: aisync task new %s --goal TEXT --file FILE", r.issue.ID())
	}
	r.limits.read = appendNew(r.limits.read, named...)
	text := strings.TrimSpace(r.issue.Body)
	r.task.Steps = []step{{ID: "step-1", Action: "edit", File: at, Instructions: text}}
	r.notes = append([]string{fmt.Sprintf("a list of steps: the issue has none under a heading Tasks, and step-1 has all of its text, for %s", at)}, r.notes...)
	return nil
}
