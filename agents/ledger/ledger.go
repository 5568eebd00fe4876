// Package ledger keeps the coordination ledger of a project, .pi-ensemble/: a
// blackboard, inboxes, claims on paths and an audit trail, all in files that a
// person can read. It is compatible with the pi-ensemble package and can share a
// folder with it. It starts, dials and polls nothing, and knows no process or
// terminal. Call Find or Init, then Ledger.Send.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/internal/unixpath"
)

// Dir is the name of the ledger's folder in a project.
const Dir = ".pi-ensemble"

// Version is the version of the file protocol in config.yaml.
const Version = 1

// Files of the ledger, relative to its folder.
const (
	configFile = "config.yaml"
	boardFile  = "blackboard.md"
	claimsFile = "worktrees.json"
	auditFile  = "audit.jsonl"
	agentsDir  = "agents"
	inboxFile  = "inbox.md"
	archive    = "inbox.read.md"
	stateFile  = "state.json"
	retiredDir = ".retired"
	lockFile   = ".lock"
)

// Initial contents, as in the original.
const (
	boardHeader = "# pi-ensemble blackboard\n\nAppend-only shared notes for local coding agents.\n"
	configText  = "version: 1\ndefault_agent: pi\n" // default_agent is never read
)

func inboxHeader(agent string) string { return "# inbox: " + agent + "\n\n" }

// ErrNoLedger reports that no ledger exists in the folder or above it.
var ErrNoLedger = error(refusal{text: "No .pi-ensemble/ found. Run `ensemble init` first."})

// Ledger is one project's ledger. Any number of processes may call its methods
// at once. A crash in a method leaves every file whole; the method's comment
// names what may be incomplete, which Verify finds and Repair completes.
type Ledger struct {
	Root string // the folder that holds .pi-ensemble, as given: claims are relative to it

	// Trace makes reads write the audit lines that the original writes.
	Trace bool
	// Leases gives claims their lease and judges them; nil: claims have none.
	Leases Leases

	tree string // the place of Root in the linked work tree from which it was found
	now  func() time.Time
	hook func(op, file string) error // before every change of a file; nil except in tests
}

func at(root string) *Ledger { return &Ledger{Root: root, now: time.Now} }

// Init creates the ledger of root and the inbox of agent, or adds what is
// missing, and returns it with the audit record. Existing files keep their
// bytes.
func Init(root, agent string) (l *Ledger, rec json.RawMessage, err error) {
	if err := checkAgent(agent); err != nil {
		return nil, nil, err
	}
	abs, err := unixpath.Abs(root)
	if err != nil {
		return nil, nil, fmt.Errorf("root %s: %w", root, err)
	}
	l = at(abs)
	rec, err = l.begin(agent)
	return l, rec, err
}

func (l *Ledger) begin(agent string) (rec json.RawMessage, err error) {
	if err := os.MkdirAll(l.path(agentsDir), 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", Dir, err)
	}
	err = l.changeLocked(func() (err error) {
		for _, f := range []struct{ name, text string }{
			{configFile, configText}, {boardFile, boardHeader}, {claimsFile, "{}\n"}, {auditFile, ""},
		} {
			if err := l.create(f.name, f.text); err != nil {
				return err
			}
		}
		if err := l.ensureAgent(agent); err != nil {
			return err
		}
		rec, err = l.record("init", pair{"actor", agent}, pair{"root", l.Root})
		return err
	})
	return rec, err
}

// path returns the physical path of a file of the ledger.
func (l *Ledger) path(parts ...string) string {
	return unixpath.Join(append([]string{l.Root, Dir}, parts...)...)
}

func (l *Ledger) agentPath(agent, file string) string { return unixpath.Join(agentsDir, agent, file) }

// ensureAgent creates an agent's inbox and state where they are missing.
func (l *Ledger) ensureAgent(agent string) error {
	if err := l.about("mkdir", unixpath.Join(agentsDir, agent)); err != nil {
		return err
	}
	if err := os.MkdirAll(l.path(agentsDir, agent), 0o700); err != nil {
		return fmt.Errorf("make the folder of agent %s: %w", agent, err)
	}
	if err := l.create(l.agentPath(agent, inboxFile), inboxHeader(agent)); err != nil {
		return err
	}
	state := fmt.Sprintf("{\n  \"status\": \"idle\",\n  \"task\": null,\n  \"since\": %s\n}\n", jsontext.Quote(l.stamp()))
	return l.create(l.agentPath(agent, stateFile), state)
}

// Agents lists the agents by their folders, sorted. It returns folders with an
// invalid agent name apart, and skips those that start with a dot.
func (l *Ledger) Agents() (agents, odd []string, err error) {
	entries, err := os.ReadDir(l.path(agentsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("read %s: %w", agentsDir, err)
	}
	for _, e := range entries {
		switch {
		case !e.IsDir() || strings.HasPrefix(e.Name(), "."):
		case checkAgent(e.Name()) == nil:
			agents = append(agents, e.Name())
		default:
			odd = append(odd, e.Name())
		}
	}
	return agents, odd, nil
}

// Known reports whether agent has a folder.
func (l *Ledger) Known(agent string) bool {
	agents, _, err := l.Agents()
	return err == nil && slices.Contains(agents, agent)
}

// Config returns the keys of config.yaml, parsed like the original: flat, one
// "key: value" a line.
func (l *Ledger) Config() (map[string]string, error) {
	f, err := l.open(configFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", configFile, err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", configFile, err)
	}
	return config(string(text)), nil
}

func config(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := configPair(strings.TrimRight(line, "\r\n")); ok {
			out[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// ErrNewer reports a ledger written by a later version of the protocol.
var ErrNewer = errors.New("newer ledger version")

// writable refuses a ledger written by a later version of the protocol, whose
// files may have another meaning. Reads still work.
func (l *Ledger) writable() error {
	text, err := l.read(configFile)
	if err != nil {
		return err
	}
	v := config(string(text))["version"]
	if n, err := strconv.Atoi(v); n > Version || errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s: %w: %s, and this program writes version %d; nothing was changed; use a newer program", l.path(configFile), ErrNewer, v, Version)
	}
	return nil
}

// Types are the types of messages. Handoffs and questions want an answer; the
// others end a thread.
var Types = []string{"note", "handoff", "question", "result", "ack"}

func actionable[T string | []byte](kind T) bool {
	return string(kind) == "handoff" || string(kind) == "question"
}

func checkAgent(name string) error {
	switch {
	case name == "":
		return errors.New("agent name is required")
	case !isAgentName(name):
		return said("Invalid agent name: %s. Use 1-64 chars: letters, numbers, dot, underscore, hyphen.", name)
	}
	return nil
}

func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("message id is required")
	case !isMessageID(id):
		return said("Invalid message id: %s", id)
	}
	return nil
}

// refusal is an error with the original's text, which scripts match, and
// optionally a sentinel of ours.
type refusal struct {
	text string
	is   error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.is }

func said(format string, args ...any) error { return refusal{text: fmt.Sprintf(format, args...)} }

// ValidAgent reports whether name is a valid agent name.
func ValidAgent(name string) bool { return checkAgent(name) == nil }

// stamp returns the time now in the form of JavaScript's toISOString.
func (l *Ledger) stamp() string { return stampOf(l.now()) }

const isoForm = "2006-01-02T15:04:05.000Z"

func stampOf(t time.Time) string { return t.UTC().Format(isoForm) }

// trimmed returns s as JavaScript's trim does.
func trimmed(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r == '\uFEFF' || isJSSpace(r) })
}

func isJSSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}
