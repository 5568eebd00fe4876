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
	"syscall"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
)

// State is the state of a context's agent.
type State string

// States. Live: a process with its id runs. Crashed: none does, and every live
// agent here is known to be another. Stale: unknown, because it belongs to
// another machine, the id of an agent here is unreadable, or this process cannot
// see those of other agents.
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
	Self    bool      `json:"self,omitempty"` // the caller's
	Helper  bool      `json:"helper,omitempty"`
	Runtime string    `json:"runtime,omitempty"` // from its header
	Started string    `json:"started,omitempty"`
	Changed time.Time `json:"changed,omitzero"` // last write; zero without a context
	PID     int       `json:"pid,omitempty"`
}

// Idle returns how long the context has not changed.
func (e Entry) Idle(now time.Time) time.Duration { return now.Sub(e.Changed).Truncate(time.Second) }

// List returns the contexts of a project, the primary's first, with the state of
// their agents from the roster. self is the caller's context, or the zero value
// if the caller is no agent.
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
	heads := map[string]map[string]string{}
	claimed := map[string]bool{} // processes that a context names as its agent
	for _, id := range ids {
		heads[id] = header(byFile(root, id).Path)
		claimed[heads[id]["PROCESS"]] = true
	}
	out := []Entry{}
	for _, id := range ids {
		c, head := byFile(root, id), heads[id]
		info, err := os.Lstat(c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // archived meanwhile
		}
		if err != nil {
			return nil, err
		}
		e := Entry{ID: id, Path: c.Path, Helper: c.Helper(), Changed: info.ModTime()}
		e.Runtime, e.Started = head["RUNTIME"], head["STARTED"]
		e.Helper = e.Helper || head["ROLE"] == "helper"
		e.State, e.PID = stateOf(id, head, info, others, claimed)
		pid, start := processIn(head)
		moved := pid != 0 && c.Path != self.Path && others.Life(head["HOST"], pid, start) == keeper.Alive // the agent works in another folder now
		switch {
		case moved && e.State != Live:
			e.State, e.PID = Live, pid
		case c.Path == self.Path && e.PID == 0:
			e.Self = true
			if proven := id != "" || others.Own != nil && others.Own.ID == ""; proven || len(others.Unknown) == 0 {
				e.State = Live
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// stateOf looks in the roster for the process in the context's header, or for
// one started with its id. The primary has none.
func stateOf(id string, head map[string]string, info fs.FileInfo, others roster.Roster, claimed map[string]bool) (State, int) {
	process := head["PROCESS"]
	foreign := head["HOST"] != "" && head["HOST"] != identity.Host()
	unknown := foreign || len(others.Unknown) > 0
	for _, a := range others.Agents {
		switch {
		case !foreign && process == processOf(a), a.Known && id != "" && isFileOf(a.ID, id), a.Known && process == "" && a.ID == "" && id == "":
			return Live, a.PID
		case !a.Known, process == "" && a.ID == "" && !claimed[processOf(a)]: // it may have taken an id later
			unknown = true
		}
	}
	for _, a := range others.Doubtful {
		if process == processOf(a) || id != "" && isFileOf(a.ID, id) || a.ID == "" && (id == "" || process == "") {
			unknown = true
		}
	}
	for _, a := range others.Hidden {
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || a.UID < 0 || int(owner.Uid) == a.UID {
			unknown = true // it may have created this file
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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe in its place has no header
	if err != nil {
		return out
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return out
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, ok := strings.Cut(strings.TrimPrefix(s.Text(), "#+"), ":")
		if !ok || !strings.HasPrefix(s.Text(), "#+") {
			break
		}
		out[strings.ToUpper(key)] = strings.TrimSpace(value)
	}
	return out
}

// Ago formats how long a context has been idle.
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
