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
)

// compatible are the runtimes that the HAL knows.
var compatible = []string{"claude", "codex", "gemini", "cursor"}

// Compat follows the HAL's own cascade to the letter, and answers out of its
// own table: the first sign decides, weak as it may be.
func Compat(s Surroundings) Result {
	d := detector{Surroundings: s}
	chosen := d.cascade()
	r := d.result(chosen, "hal")
	if rt, ok := find(s.Runtimes, chosen); ok && rt.HAL != nil {
		r.describe(rt, *rt.HAL)
		r.Hooks = nil // the HAL knows of none
	}
	if name := r.Capabilities.SessionVar; name != "" {
		if v := s.Getenv(name); v != "" {
			r.SessionID = &v
		}
	}
	return d.overridden(r)
}

func (d *detector) cascade() string {
	if word := d.Getenv("GT_RUNTIME"); word != "" {
		is := word
		if !slices.Contains(compatible, word) {
			is = Unknown
		}
		d.saw("word", "GT_RUNTIME="+word, is, "certain")
		return is
	}
	if d.Getenv("CLAUDE_SESSION_ID") != "" {
		d.saw("marker", "CLAUDE_SESSION_ID", "claude", "high")
		return "claude"
	}
	if d.Workspace != "" {
		before := len(d.warnings)
		d.look("the workspace "+d.Workspace, func(l *detector) {
			_, err := os.Stat(path.Join(l.Workspace, ".claude", "settings.json"))
			switch {
			case err == nil:
				l.saw("file", ".claude/settings.json", "claude", "medium")
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
				l.warn(".claude/settings.json could not be looked at: %v", err)
			}
		})
		if len(d.evidence) > 0 {
			return "claude"
		}
		if len(d.warnings) > before {
			return Unknown // a detection that fails is that, by the HAL's own words
		}
	}
	if d.Processes != nil {
		d.look("the table of processes", func(l *detector) {
			for _, p := range process.Ancestors(l.Processes, l.Processes.Self()) {
				for _, name := range compatible {
					if slices.Contains(p.Names(), name) {
						l.saw("process", fmt.Sprintf("%s (pid %d)", p.Comm, p.PID), name, "low")
						return
					}
				}
			}
		})
	}
	if len(d.evidence) > 0 {
		return d.evidence[0].Runtime
	}
	return Unknown
}
