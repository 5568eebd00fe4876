package effects

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/schema/spec"
)

// codeNames are the extensions of files that programs load as code.
var codeNames = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".sh", ".py", ".rb", ".lua", ".wasm"}

// textNames are the extensions of files that only models read.
var textNames = []string{".md", ".mdc", ".txt", ".org", ".rst"}

// programs are the planned files in a program's folder that may be run or
// loaded, although no effect in list names them.
func (t *tree) programs(runtimes []spec.Runtime, list []Effect) []Effect {
	known := map[string]bool{}
	for _, e := range list {
		known[e.File] = true
		for _, name := range e.named {
			known[name] = true
		}
	}
	var out []Effect
	for _, name := range t.names {
		if known[name] {
			continue
		}
		for i := range runtimes {
			rt, s := &runtimes[i], &runtimes[i].Project
			if s.Dir == "" || !strings.HasPrefix(name, s.Dir+"/") || slices.ContainsFunc(append(slices.Clip(s.SkillsAlso), s.Skills), func(f string) bool { return f != "" && strings.HasPrefix(name, f+"/") }) {
				continue
			}
			if !t.runnable(name) && (rt.Source == "" || slices.Contains(textNames, path.Ext(name))) {
				continue // if a source describes the program, any file that is not text may be code
			}
			if t.outcome(t.after[name]).gone {
				continue
			}
			e := Effect{Program: rt.ID, Class: Runs, Text: "may run " + name, File: name, whole: true, named: []string{name}}
			out = append(out, t.finished(e, nil))
		}
	}
	return out
}

// runnable reports whether a planned file is named like code, or will be
// executable for its owner. The mode rules out most.
func (t *tree) runnable(name string) bool {
	a := t.after[name]
	if slices.Contains(codeNames, path.Ext(name)) {
		return true
	}
	if file.WritesText(a.change) {
		return false // without reading its source
	}
	return (a.change.Writes() || a.info == nil || file.MayExecute(a.change, a.info)) && t.outcome(a).exec
}
