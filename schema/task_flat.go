package schema

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// flat reports whether a task has the older form, without a version.
func flat(root node) bool {
	return !root.get("version").exists() && !root.get("metadata").exists() && (root.get("id").exists() || root.get("edits").exists())
}

// flatTask reads the older form. Without a scope, its edits are the scope.
func (n node) flatTask() spec.Task {
	t := spec.Task{
		Form: "flat", ID: n.getStr("id"), Source: n.getStr("source"), Priority: n.get("priority").intOr(spec.TaskPriority),
		Goal: n.getStr("goal"), Issue: n.get("gitea_issue").intOr(0), CreatedAt: n.get("created_at").time(),
	}
	n.bounds(&t)
	for i, e := range n.get("edits").elements() {
		t.Steps = append(t.Steps, spec.TaskStep{
			ID: fmt.Sprintf("edit-%d", i+1), Action: e.getStr("op"), File: e.getStr("file"), Text: e.getStr("text"), Pos: e.valuePos(),
		})
	}
	for _, v := range n.get("verify").elements() {
		if c := v.get("cmd"); c.exists() {
			v = c
		}
		t.Verify = append(t.Verify, v.str())
	}
	if !n.get("scope").exists() {
		for _, s := range t.Steps {
			t.Write = append(t.Write, literal(s.File))
		}
	}
	var prose []string
	for _, more := range []string{"description", "suggested_approach"} {
		if s := strings.TrimSpace(n.get(more).str()); s != "" {
			prose = append(prose, s)
		}
	}
	if len(t.Steps) == 0 {
		if t.Lack = n.lack(t); t.Lack == nil && !t.ReadOnly() {
			n.executorStep(&t, prose)
			return t
		}
	}
	for _, s := range prose {
		t.Goal = strings.TrimSpace(t.Goal) + "\n\n" + s + "\n"
	}
	t.Assumptions = append(n.getStrings("steps"), n.getStrings("acceptance_criteria")...)
	return t
}

// executorStep makes one step of the prose of a task without edits, for an
// executor. Without read globs, the executor reads what it may write.
func (n node) executorStep(t *spec.Task, prose []string) {
	var items strings.Builder
	for _, s := range n.getStrings("steps") {
		items.WriteString("- " + strings.TrimSpace(s) + "\n")
	}
	if items.Len() > 0 {
		prose = append(prose, strings.TrimSpace(items.String()))
	}
	if len(prose) == 0 {
		prose = []string{strings.TrimSpace(t.Goal)}
	}
	step := spec.TaskStep{ID: "edit-1", Action: "edit", Instructions: strings.Join(prose, "\n\n"), Pos: n.get("goal").valuePos()}
	if len(t.Write) == 1 && !strings.ContainsAny(t.Write[0], `*?[{\`) && !strings.HasSuffix(t.Write[0], "/") {
		step.File = path.Clean(t.Write[0])
	}
	t.Steps, t.Assumptions = []spec.TaskStep{step}, n.getStrings("acceptance_criteria")
	if !n.get("scope").get("allowed_read_globs").exists() {
		t.Read = slices.Clone(t.Write)
	}
}

// lack returns why a task without edits says too little to begin it, nil if it
// says enough. A task that only checks says so: its write globs are an empty
// list, or its limits allow no change.
func (n node) lack(t spec.Task) *spec.TaskLack {
	globs := n.get("scope").get("allowed_write_globs")
	p := Problem{Path: "verify", Message: "no command: the task may change nothing, so verify is all that it does", Hint: `add the commands that check, as in verify: ["make test"]`}
	at := n.get("verify")
	switch {
	case len(t.Write) == 0 && !globs.exists() && t.MaxFiles > 0 && t.MaxDiff > 0:
		p = Problem{Path: "scope.allowed_write_globs", Message: "missing: without edits the task is work for an executor, which may write nowhere",
			Hint: `list what may change under scope: allowed_write_globs, as in ["src/**"]; a task that only checks has constraints: max_files_changed: 0, and verify`}
		if at = n.get("scope"); !at.exists() {
			at = n.get("edits")
		}
	case !t.ReadOnly() || len(t.Verify) > 0:
		return nil
	}
	if !at.exists() {
		at = n.get("goal")
	}
	return &spec.TaskLack{Pos: at.labelPos(), Text: p.Error()}
}

// literal returns a glob that matches one file.
func literal(file string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(file)
}
