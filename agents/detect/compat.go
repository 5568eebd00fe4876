package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/schema/spec"
)

// Compat follows the HAL's cascade exactly and answers from the HAL's table: the
// first sign decides, however weak.
func Compat(s Surroundings) Result {
	d := detector{Surroundings: s}
	chosen := d.cascade()
	r := d.result(chosen, "hal")
	if rt, ok := find(s.Runtimes, chosen); ok && rt.HAL != nil {
		r.describe(rt, *rt.HAL)
		r.Hooks = nil // the HAL knows no hooks
	}
	if name := r.Capabilities.SessionVar; name != "" {
		if v := s.Getenv(name); v != "" {
			r.SessionID = &v
		}
	}
	return d.override(r)
}

func (d *detector) cascade() string {
	var known []spec.Runtime // those that the HAL knows
	for _, rt := range d.Runtimes {
		if rt.HAL != nil {
			known = append(known, rt)
		}
	}
	if word := d.Getenv("GT_RUNTIME"); word != "" {
		is := Unknown
		if slices.ContainsFunc(known, func(rt spec.Runtime) bool { return rt.ID == word }) {
			is = word
		}
		d.add("word", "GT_RUNTIME="+word, is, "certain")
		return is
	}
	for _, rt := range known {
		if name := rt.Detect.HALVar; name != "" && d.Getenv(name) != "" {
			d.add("marker", name, rt.ID, "high")
			return rt.ID
		}
	}
	if d.Workspace != "" {
		before := len(d.warnings)
		d.bounded("the workspace "+d.Workspace, func(l *detector) { l.halFiles(known) })
		if len(d.evidence) > 0 {
			return d.evidence[0].Runtime
		}
		if len(d.warnings) > before {
			return Unknown // the HAL defines a failed detection as unknown
		}
	}
	if d.Processes != nil {
		d.bounded("the table of processes", func(l *detector) { l.halProcess(known) })
	}
	if len(d.evidence) > 0 {
		return d.evidence[0].Runtime
	}
	return Unknown
}

// halFiles looks in the workspace for the files by which the HAL recognises a
// program.
func (d *detector) halFiles(known []spec.Runtime) {
	for _, rt := range known {
		name := rt.Detect.HALFile
		if name == "" {
			continue
		}
		_, err := os.Stat(path.Join(d.Workspace, name))
		switch {
		case err == nil:
			d.add("file", name, rt.ID, "medium")
			return
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			d.warn("cannot read %s: %v", name, err)
		}
	}
}

// halProcess looks for the nearest ancestor process with the name of a known
// program.
func (d *detector) halProcess(known []spec.Runtime) {
	for _, p := range process.Ancestors(d.Processes, d.Processes.Self()) {
		for _, rt := range known {
			if slices.Contains(p.Names(), rt.ID) {
				d.add("process", fmt.Sprintf("%s (pid %d)", p.Comm, p.PID), rt.ID, "low")
				return
			}
		}
	}
}
