package task

import (
	"fmt"

	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/schema/spec"
)

// Flaw is a certain reason for a task to fail.
type Flaw struct {
	Pos  spec.Position
	Text string
}

func (f Flaw) Error() string {
	if f.Pos.File == "" {
		return f.Text
	}
	return f.Pos.String() + ": " + f.Text
}

// Foresee returns what a task does against its own limits, as far as the file
// shows it. The limits are also enforced while it runs.
func Foresee(t spec.Task) []Flaw {
	if t.Lack != nil {
		return []Flaw{{t.Lack.Pos, t.Lack.Text}}
	}
	l, err := policy.Of(t)
	if err != nil {
		return []Flaw{{spec.Position{File: t.File}, err.Error()}}
	}
	var out []Flaw
	files := map[string]bool{}
	for _, s := range t.Steps {
		at := func(format string, args ...any) {
			out = append(out, Flaw{s.Pos, fmt.Sprintf("step %s: ", s.ID) + fmt.Sprintf(format, args...)})
		}
		if s.Action == "run" {
			if err := l.Command(s.Command); err != nil {
				at("%v", err)
			}
			continue
		}
		if s.File == "" { // prose: what it writes is judged when it is done
			continue
		}
		files[s.File] = true
		if !l.MayWrite(s.File) {
			at("no allowed_write_globs names %s", s.File)
		}
	}
	if len(files) > l.MaxFiles {
		out = append(out, Flaw{spec.Position{File: t.File}, fmt.Sprintf("its steps write %d files, but max_files_changed is %d", len(files), l.MaxFiles)})
	}
	for _, v := range t.Verify {
		if err := l.Command(v); err != nil {
			out = append(out, Flaw{spec.Position{File: t.File}, fmt.Sprintf("verify: %v", err)})
		}
	}
	return out
}
