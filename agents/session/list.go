package session

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
)

// State of a context's agent.
type State string

// States. Live: a process with its id runs. Crashed: none does, and every live
// agent here is known to be another. Stale: nobody can tell, because an agent
// runs here whose id cannot be read.
const (
	Live    State = "live"
	Crashed State = "crashed"
	Stale   State = "stale"
)

// Entry is one context of a project.
type Entry struct {
	ID      string    `json:"id"` // "" is the primary
	Path    string    `json:"path"`
	State   State     `json:"state"`
	Self    bool      `json:"self,omitempty"` // the caller's own
	Helper  bool      `json:"helper,omitempty"`
	Runtime string    `json:"runtime,omitempty"` // by its header
	Started string    `json:"started,omitempty"`
	Changed time.Time `json:"changed"` // last write
	PID     int       `json:"pid,omitempty"`
}

// Idle says for how long the context has not changed.
func (e Entry) Idle(now time.Time) time.Duration { return now.Sub(e.Changed).Truncate(time.Second) }

// List returns the contexts of a project, the primary's first, with what the
// roster tells of their agents. self is the caller's own context.
func List(root string, others roster.Roster, self Context) ([]Entry, error) {
	ids, err := IDs(root)
	if err != nil {
		return nil, err
	}
	copied, err := Copied(root)
	if err != nil && !errors.Is(err, ErrLink) {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(root, project.Singleton)); err == nil && copied == "" {
		ids = slices.Insert(ids, 0, "")
	}
	out := []Entry{}
	for _, id := range ids {
		c := ByID(root, id)
		info, err := os.Lstat(c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // archived meanwhile
		}
		if err != nil {
			return nil, err
		}
		e := Entry{ID: id, Path: c.Path, Helper: c.Helper(), Changed: info.ModTime()}
		head := header(c.Path)
		e.Runtime, e.Started = head["RUNTIME"], head["STARTED"]
		e.Helper = e.Helper || head["ROLE"] == "helper"
		e.Self = c.Path == self.Path
		e.State, e.PID = stateOf(id, head["PROCESS"], e.Self, others)
		out = append(out, e)
	}
	return out, nil
}

// stateOf asks the roster: for the process that the context's header names, or
// for one that was started with its id. The primary was started without one.
func stateOf(id, process string, self bool, others roster.Roster) (State, int) {
	if self {
		return Live, 0
	}
	unknown := len(others.Hidden) > 0
	for _, a := range others.Agents {
		switch {
		case process == fmt.Sprintf("%d %d", a.PID, a.Start), process == "" && a.Known && a.ID == id, a.Known && a.ID == id && id != "":
			return Live, a.PID
		case !a.Known:
			unknown = true
		}
	}
	if unknown {
		return Stale, 0
	}
	return Crashed, 0
}

// header reads the #+KEY: lines at the top of a context.
func header(path string) map[string]string {
	out := map[string]string{}
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, ok := strings.Cut(strings.TrimPrefix(s.Text(), "#+"), ":")
		if !ok || !strings.HasPrefix(s.Text(), "#+") {
			break
		}
		out[strings.ToUpper(key)] = strings.TrimSpace(value)
	}
	return out
}

// Gate is what stands in the way of a pass over whole files, or of the
// primary's last commit: helpers that live, or may.
type Gate struct {
	Open     bool    `json:"open"`
	Helpers  []Entry `json:"helpers"`  // in the way
	Leftover []Entry `json:"leftover"` // of helpers that crashed: to be looked at, in nobody's way
}

// Check looks for live helpers among entries. Every other agent with an id
// counts as one: whoever has an id may be in the middle of an edit.
func Check(entries []Entry) Gate {
	g := Gate{Helpers: []Entry{}, Leftover: []Entry{}}
	for _, e := range entries {
		switch {
		case e.Self || e.ID == "":
		case e.State == Crashed:
			g.Leftover = append(g.Leftover, e)
		default:
			g.Helpers = append(g.Helpers, e)
		}
	}
	g.Open = len(g.Helpers) == 0
	return g
}

// Duties are what an agent that ends its session has to do.
type Duties struct {
	Role   string  `json:"role"`   // primary, helper, orphan
	Duties string  `json:"duties"` // all, own, ask
	Others []Entry `json:"others"` // that are still alive
	Text   string  `json:"text"`
}

// Close says what the agent of self has to do before it ends. The last one out
// closes the door: a helper that is alone has the primary's duties. A primary
// beside live helpers has to ask.
func Close(self Context, entries []Entry, others roster.Roster) Duties {
	g := Check(entries)
	alone := len(others.Agents) == 0 && len(others.Hidden) == 0
	switch {
	case self.ID == "" && g.Open:
		return Duties{"primary", "all", g.Helpers, "no helper is at work: run the hygiene passes, commit, push, archive your context"}
	case self.ID == "":
		return Duties{"primary", "ask", g.Helpers, "helpers are at work; ask which is meant: commit their work in progress with yours (their journals say what is under way), wait for them, or archive your context alone and leave closing to the last of them"}
	case alone:
		return Duties{"orphan", "all", []Entry{}, "nobody else is here: you have the closing duties; run the hygiene passes, commit, push, archive your context"}
	}
	var live []Entry
	for _, e := range entries {
		if !e.Self && e.State != Crashed {
			live = append(live, e)
		}
	}
	return Duties{"helper", "own", live, "others are at work: archive your own context; no hygiene passes, no commit; tell them what you leave uncommitted"}
}

// Ago renders how long a context has been idle.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Taken reports whether an id is in use in a project: by a context, an archive
// or a live agent.
func Taken(root string, others roster.Roster) (func(id string) bool, error) {
	used := map[string]bool{}
	ids, err := IDs(root)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		used[id] = true
	}
	for _, a := range others.Agents {
		used[a.ID] = true
	}
	entries, err := os.ReadDir(filepath.Join(root, project.Sessions))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func(id string) bool {
		return used[id] || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Contains(e.Name(), id) }) || !identity.Valid(id)
	}, nil
}
