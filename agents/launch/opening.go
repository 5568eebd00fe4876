package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/catalog"
)

// HelperMode is the workflow of helpers.
const HelperMode = ".ai/workflows/helper-mode.org"

// Opening returns the first instruction of the agent that d starts in the program p,
// on one line: programs submit at the end of a line.
func Opening(root string, d Decision, p Program) string {
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	if project.Is(root) {
		add("Read %s and follow it.", project.Protocols)
	}
	c := session.ByID(root, d.ID)
	at, err := filepath.Rel(root, c.Path)
	if err != nil {
		at = c.Path
	}
	switch d.Role {
	case Primary:
		add("You are the primary agent of this project; your session file is %s.", at)
	case "helper":
		add("You are a helper, with the id %s; your session file is %s.", d.ID, at)
		if _, err := os.Stat(filepath.Join(root, HelperMode)); err == nil {
			add("Read %s and follow it instead of the startup workflow.", HelperMode)
		}
		add("No commits, no pulls, no passes over whole files, no inbox, no memory: these are the primary's.")
	default:
		add("You are the agent %s; your session file is %s (AI_SESSION_CONTEXT). Never write %s.", d.ID, at, project.Singleton)
	}
	if d.Recover != nil {
		add("The session before you crashed: read that file first, see from its journal what was under way, and go on from there.")
	}
	if n := len(d.Others); n > 0 {
		var ids []string
		for _, a := range d.Others {
			if a.ID != "" {
				ids = append(ids, a.ID)
			} else {
				ids = append(ids, a.Runtime)
			}
		}
		add("Others are at work here (%s): change shared files below one heading at a time (aisync session edit).", strings.Join(ids, ", "))
	}
	if l, err := ledger.Find(root); err == nil && p.way().Startup != catalog.HookInjection {
		at, err := filepath.Rel(root, l.Root)
		if err != nil {
			at = l.Root
		}
		add("The agents of this project share the ledger %s; your name there is in PI_ENSEMBLE_AGENT. No hook brings you its messages: "+
			"run `aisync ledger inbox --since-last-read` now, after each step, and at least every %d seconds; "+
			"run `aisync ledger claim PATH` before you edit a file, and `aisync ledger release PATH` after.",
			filepath.Join(at, ledger.Dir), catalog.Completed(p.Runtime).Coordination.Nudge)
	}
	if d.Brief != "" {
		add("%s", d.Brief)
	}
	return strings.Join(say, " ")
}

// way is how work reaches an agent of p.
func (p Program) way() catalog.Way {
	if p.Hooked {
		return catalog.WayOf(p.Runtime)
	}
	return catalog.WithoutHooks(p.Runtime)
}
