// Package session keeps the live contexts of a project's agents: one file an
// agent, .ai/session-context.d/<id>.org, and the primary's
// .ai/session-context.org, which an agent with an id never writes. It gets the
// live agents from the roster and starts nothing. Call Of or ByID, then
// Context.Start.
package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/internal/termtext"
)

// Context is the live file of one agent. The zero ID is the primary's.
type Context struct {
	Root string // of the project, without links
	ID   string
	Path string // absolute
}

// ErrLink reports a link or a special file in the place of a context.
var ErrLink = errors.New("not a regular file")

// Of returns the context of the agent that the environment names, or the
// primary's.
func Of(root string, getenv func(string) string) (Context, error) {
	id, err := project.Caller(root, getenv)
	if err != nil {
		return Context{}, err
	}
	return ByID(root, id), nil
}

// ByID returns the context of an agent; "" is the primary.
func ByID(root, id string) Context { return Context{root, id, project.ContextOf(root, id)} }

// Helper reports whether the context is a helper's.
func (c Context) Helper() bool { return identity.IsHelper(c.ID) }

// Name returns the agent's name in messages.
func (c Context) Name() string {
	if c.ID == "" {
		return "primary"
	}
	return c.ID
}

// Meta is the header of a context.
type Meta struct {
	Runtime, Model, Host string
	Role                 string // primary, agent, helper
	PID                  int    // of the agent's process; 0: unknown
	Begun                uint64 // when that began: with PID it identifies the process for good
	Started              time.Time
	Above                []process.Process // of the agent's process, which an agent may have started
}

func (m Meta) process() string {
	if m.PID == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d", m.PID, m.Begun)
}

func (m Meta) text(id string) string {
	var b strings.Builder
	b.WriteString("#+TITLE: Session context\n")
	for _, line := range [][2]string{
		{"AGENT_ID", id}, {"RUNTIME", m.Runtime}, {"MODEL", m.Model}, {"HOST", m.Host}, {"ROLE", m.Role}, {"PROCESS", m.process()},
		{"STARTED", m.Started.Format("2006-01-02T15:04:05-07:00")},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "#+%s: %s\n", line[0], termtext.OneLine(line[1]))
		}
	}
	b.WriteString("\n* Summary\n\n* Journal\n")
	return b.String()
}

// ErrInUse reports a context of another live agent.
var ErrInUse = errors.New("in use by another live agent")

// Start creates the context with its header if it is missing, and reports
// whether it did. It continues an existing one and only sets the process in its
// header to the caller's. If another live agent has it, or may, nothing changes
// and the error is that of Owned. For the primary it first removes the read-only copy for
// old tools, and refuses a link. A crash leaves no context, or one with its
// whole header.
func (c Context) Start(m Meta, others roster.Roster) (made bool, err error) {
	if err := c.Owned(m, others); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder of contexts: %w", err)
	}
	sweep(filepath.Dir(c.Path), m.Started)
	if c.ID == "" {
		if err := DropCopy(c.Root, m.Started); err != nil {
			return false, err
		}
	}
	if made, err := publish(c.Path, m.text(c.ID)); made || err != nil {
		return made, err
	}
	info, err := os.Lstat(c.Path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s: %w; move it away", c.Path, ErrLink)
	}
	return false, locked(c.Root, lockOfContexts, func() error { return c.adopt(m) })
}

// ErrDoubtful reports a context of which this process cannot tell whether it
// belongs to another live agent.
var ErrDoubtful = errors.New("may be in use by another live agent")

// Owned returns an error if the context belongs to another live agent
// (ErrInUse), or may (ErrDoubtful). A missing context belongs to no agent.
func (c Context) Owned(m Meta, others roster.Roster) error {
	whose, doubt := c.holder(m, others)
	switch {
	case whose == "":
		return nil
	case doubt:
		return fmt.Errorf("%s: %w: %s; take an id, which this agent's files get: export %s=$(aisync session id)", c.Path, ErrDoubtful, whose, identity.VarID)
	}
	return fmt.Errorf("%s: %w: %s; take another id: export %s=$(aisync session id --helper)", c.Path, ErrInUse, whose, identity.VarID)
}

// holder returns the other agent that the context belongs to, "" if none: by the
// process in its header, or by its id. An agent started through a shell has
// inherited its parent's id, and must not take its context. doubt: it is not
// known whether that agent lives, or whether it is the caller itself.
func (c Context) holder(m Meta, others roster.Roster) (whose string, doubt bool) {
	head := header(c.Path)
	named := head["PROCESS"]
	if named != "" && named == m.process() {
		return "", false
	}
	for _, p := range m.Above {
		if named != "" && named == fmt.Sprintf("%d %d", p.PID, p.Start) {
			return fmt.Sprintf("process %d, which started this one", p.PID), false
		}
	}
	own := others.Own
	if own != nil && own.ID != c.ID {
		own = nil
	}
	if own != nil && named != "" && named == fmt.Sprintf("%d %d", own.PID, own.Start) {
		return "", false
	}
	for _, a := range others.Agents {
		if named != "" && named == processOf(a) || c.ID != "" && a.Known && identity.FileName(a.ID) == identity.FileName(c.ID) {
			return fmt.Sprintf("process %d (%s)", a.PID, a.Runtime), false
		}
	}
	for _, a := range others.Doubtful {
		if named != "" && named == processOf(a) || identity.FileName(a.ID) == identity.FileName(c.ID) {
			return fmt.Sprintf("process %d (%s) %s", a.PID, a.Runtime, a.Outside), true
		}
	}
	if len(head) == 0 || len(others.Unknown) == 0 {
		return "", false
	}
	// This process cannot see those of other agents.
	if pid, begun := processIn(head); named != "" {
		launched := own != nil && own.Launch != "" // ai, which sees them, gave it this context
		if !launched && others.Life(head["HOST"], pid, begun) != keeper.Gone {
			return fmt.Sprintf("process %d (%s), which is not visible from here", pid, head["RUNTIME"]), true
		}
		return "", false
	}
	if c.ID != "" {
		return "", false // the agent has the id from its start, or has taken it
	}
	for _, a := range others.Agents {
		if a.ID == "" && a.Known {
			return fmt.Sprintf("perhaps process %d (%s)", a.PID, a.Runtime), true
		}
	}
	if own == nil {
		return "the agent that made it is not visible from here", true
	}
	return "", false
}

// processIn returns the process in a header, zeros if it has none.
func processIn(head map[string]string) (pid int, start uint64) {
	_, _ = fmt.Sscanf(head["PROCESS"], "%d %d", &pid, &start) // a header that a person changed names none
	return pid, start
}

func processOf(a roster.Agent) string { return fmt.Sprintf("%d %d", a.PID, a.Start) }

// adopt sets the process in the header of an existing context to the caller's.
func (c Context) adopt(m Meta) error {
	head := header(c.Path)
	if m.PID == 0 || len(head) == 0 || head["PROCESS"] == m.process() {
		return nil
	}
	name, err := filepath.Rel(c.Root, c.Path)
	if err != nil {
		return err
	}
	_, err = change(c.Root, filepath.ToSlash(name), func(old string) (string, error) {
		top, rest, ok := strings.Cut(old, "\n#+PROCESS: ")
		if !ok {
			top, rest, _ = strings.Cut(old, "\n")
			return top + "\n#+PROCESS: " + m.process() + "\n" + rest, nil
		}
		_, rest, _ = strings.Cut(rest, "\n")
		return top + "\n#+PROCESS: " + m.process() + "\n" + rest, nil
	})
	return err
}

// byFile returns the context of a file in the folder of contexts, without .org;
// "" is the primary.
func byFile(root, base string) Context {
	c := ByID(root, base)
	if base != "" {
		c.Path = filepath.Join(root, project.Contexts, base+".org")
	}
	return c
}

// isFileOf reports whether a context's file is named for an id.
func isFileOf(id, base string) bool { return id == base || id != "" && identity.FileName(id) == base }

// IDs lists the agents that have a context with an id, sorted, by their file
// names.
func IDs(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, project.Contexts))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", project.Contexts, err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".org"); ok && e.Type().IsRegular() && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
