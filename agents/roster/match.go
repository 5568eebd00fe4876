package roster

import (
	"slices"
	"strings"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/schema/spec"
)

// Match returns the runtime that a process runs, by the catalog's process names;
// "" if none.
func Match(p process.Process, runtimes []spec.Runtime) string {
	names := p.Names()
	script := p.Script()
	for _, rt := range runtimes {
		if rt.Extends == "" && is(p, rt, names, script) {
			return rt.ID
		}
	}
	for _, rt := range runtimes { // their processes may be the extended entry's
		if rt.Extends != "" && is(p, rt, names, script) {
			return rt.ID
		}
	}
	return ""
}

// is reports whether a process with these names is the runtime's.
func is(p process.Process, rt spec.Runtime, names []string, script string) bool {
	return slices.ContainsFunc(rt.Detect.Processes, func(n string) bool { return slices.Contains(names, n) }) ||
		script != "" && slices.ContainsFunc(rt.Detect.Scripts, func(s string) bool { return strings.Contains(script, s) }) ||
		slices.ContainsFunc(rt.Detect.Generic, func(n string) bool { return slices.Contains(names, n) }) && likely(p, rt)
}

// likely reports whether a process with an ambiguous name is the runtime's: by
// its folder, by a subcommand of the runtime, or because it keeps running
// without any argument, as the runtime does and a tool that needs arguments does
// not.
func likely(p process.Process, rt spec.Runtime) bool {
	if slices.ContainsFunc(rt.Detect.Scripts, func(s string) bool { return strings.Contains(p.Exe, s) }) {
		return true
	}
	if len(p.Args) == 1 {
		return slices.Contains(p.Names(), rt.Command)
	}
	for _, line := range [][]string{rt.Launch.Interactive, rt.Launch.Headless, rt.Session.Resume, rt.Session.Continue} {
		if len(p.Args) > 1 && len(line) > 0 && line[0] == p.Args[1] && strings.Trim(line[0], "abcdefghijklmnopqrstuvwxyz") == "" {
			return true
		}
	}
	return false
}
