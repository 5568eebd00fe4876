// Package hook answers the hooks of agent programs: it tells an agent who it is
// and who else is here, brings its mail, keeps it off files that another agent
// claims, and claims what it edits while it is not alone. It works on the ledger
// of the project and starts nothing but the agent's keeper. What it cannot find out never stops an
// agent: it says so in one line on stderr. Call Call.Answer.
package hook

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/hook/edit"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/internal/unixpath"
	"aisync.dev/aisync/schema/spec"
)

// Events are the neutral names of the events that Answer knows, in the order of a
// session.
var Events = []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "Stop", "SessionEnd"}

// Call is one call of a hook.
type Call struct {
	Event    string         // one of Events or TeamEvents
	Runtime  spec.Runtime   // whose hook is called
	Runtimes []spec.Runtime // all that are known
	Getenv   func(string) string
	Dir      string // working folder, where the input names none
	In       io.Reader
	Out, Err io.Writer
	Table    process.Table
	Shell    Shell  // reads command lines; nil where NeedsShell is false
	Program  string // this program, which becomes the agent's keeper; "": none
	Now      time.Time

	program string // id of the calling program
	form    catalog.HookForm
	in      input
	ledger  *ledger.Ledger
	root    string // of the ledger
	project string // the keepers' place
	own     record
	others  []record

	room  *seat.Room
	taken bool   // the record of the seat lacks what own has
	label string // the command that called; "": hook
}

// Shell reads command lines; package shell implements it.
type Shell interface {
	// Writes returns the absolute paths that a command line writes.
	Writes(line, dir, home string) []string
	// Moves returns the git commands of a line whose writes are in commits and patches;
	// Brings returns the absolute paths that one would write. ok is false where that is
	// unknown.
	Moves(line, dir, home string) []edit.Move
	Brings(edit.Move) (paths []string, ok bool)
	// ChangesGit returns the first git command of a line that changes something;
	// "" if none does.
	ChangesGit(line, dir, home string) string
}

// NeedsShell reports whether Answer needs a Shell for an event of a program with
// this input: only the call of a shell has a command line, and most write nothing.
func NeedsShell(event string, runtime spec.Runtime, input []byte) bool {
	form, ok := catalog.HookFormOf(runtime.ID)
	if event != "PreToolUse" || !ok {
		return false
	}
	in, err := parseInput(input, form, runtime.Tools)
	return err == nil && in.kind == shellTool && edit.MayWrite(in.command)
}

// MaxInput bounds the input of a hook: a tool's result is part of it.
const MaxInput = 64 << 20

// Answer reads the program's input, does what the event asks, and writes the
// answer in the program's form. It returns an exit code, which is 0: what stops
// a program is part of the answer.
func (c Call) Answer() int {
	defer func() { // an exit code of a panic refuses the call of a tool
		if fault := recover(); fault != nil {
			c.report(fmt.Errorf("a fault of aisync: %v", fault))
		}
	}()
	if err := c.answer(); err != nil {
		c.report(err)
	}
	return 0
}

// report writes what went wrong as one line on stderr.
func (c *Call) report(err error) {
	fmt.Fprintf(c.Err, "aisync %s: %s\n", cmp.Or(c.label, "hook "+c.Event), termtext.OneLine(err.Error()))
}

func (c *Call) answer() error {
	var ok bool
	if c.form, ok = catalog.HookFormOf(c.Runtime.ID); !ok {
		return fmt.Errorf("the answers that %s takes are unknown; nothing was checked", c.Runtime.ID)
	}
	text, err := io.ReadAll(io.LimitReader(c.In, MaxInput))
	if err != nil {
		return fmt.Errorf("read the input: %w; nothing was checked", err)
	}
	if c.in, err = parseInput(text, c.form, c.Runtime.Tools); err != nil {
		return fmt.Errorf("the input is no JSON object: %w; nothing was checked", err)
	}
	if c.in.cwd == "" || !unixpath.IsAbs(c.in.cwd) {
		c.in.cwd = c.Dir
	}
	c.Table = process.Once(c.Table)
	if err := c.find(); err != nil {
		return err
	}
	c.program = c.Runtime.ID
	if by := c.caller(); by.ID != c.Runtime.ID {
		if c.calls(by) {
			return nil // that hook answers, or has answered
		}
		c.program = by.ID
	}
	if err := c.identify(); err != nil {
		return fmt.Errorf("%w; nothing was checked", err)
	}
	c.lead()
	if err := c.renew(); err != nil {
		return err
	}
	c.moves()
	err = c.respond()
	if c.taken {
		err = errors.Join(err, c.write())
	}
	return err
}

// respond does what the event asks.
func (c *Call) respond() error {
	switch c.Event {
	case "SessionStart":
		return c.sessionStart()
	case "UserPromptSubmit":
		return c.deliver(nil)
	case "PreToolUse":
		return c.preToolUse()
	case "PostToolUse":
		return c.postToolUse()
	case "PreCompact":
		return c.preCompact()
	case "Stop":
		return c.stop()
	case "SessionEnd":
		return c.sessionEnd()
	}
	if slices.Contains(TeamEvents, c.Event) {
		return c.team()
	}
	return fmt.Errorf("unknown event; known are %s", strings.Join(Events, ", "))
}

// renew dates what tells the others that the agent lives: its keeper's record, its
// own, and the leases of its claims.
func (c *Call) renew() error {
	if c.own.Kept && !c.taken && c.Event != "SessionEnd" {
		if err := keeper.Renew(c.Table, c.project, c.agent()); err != nil {
			c.report(err)
		}
	}
	if c.Now.Sub(c.own.Seen) <= renewAfter {
		return nil
	}
	if err := c.seen(); err != nil {
		return err
	}
	if err := c.ledger.Renew(c.own.Name); err != nil {
		c.report(fmt.Errorf("renew the claims of %s: %w", c.own.Name, err))
	}
	return nil
}

// renewAfter is the age of a record at which a hook renews it: other agents take
// its time for the last sign of life where they cannot see the process.
const renewAfter = time.Minute

// find opens the ledger of the folder where the agent works.
func (c *Call) find() error {
	start := c.in.cwd
	if root := c.Getenv("PI_ENSEMBLE_ROOT"); root != "" {
		start = root
	}
	if real, err := unixpath.EvalSymlinks(start); err == nil {
		start = real
	}
	l, err := ledger.Find(start)
	if errors.Is(err, ledger.ErrNoLedger) {
		return fmt.Errorf("%s is missing in %s and above; run: aisync apply", ledger.Dir, start)
	}
	if err != nil {
		return err
	}
	c.ledger, c.root, c.project = l, l.Root, l.Root
	if root, err := project.Root(l.Root); err == nil {
		c.project = root
	}
	l.Leases = &lease.Leases{Table: c.Table, Project: c.project, Clock: clock.Now, Holder: func() (lease.Holder, bool) {
		r := c.own
		return lease.Holder{Runtime: r.Runtime, Session: r.Session, PID: r.PID, Start: r.Start, Kept: r.Kept, Place: r.Place}, r.Runtime != ""
	}}
	return nil
}

// seen stores the record of the agent.
func (c *Call) seen() error {
	c.own.Seen = c.Now
	return c.write()
}

func (c *Call) sessionStart() error {
	return c.deliver(nil) // identify has made its record anew; where it cannot tell, the next event will
}

// deliver writes what the model should know now: first who it is, if it does not
// know yet; then say; then new mail, which is marked as read once it is written.
func (c *Call) deliver(say []string) error {
	if !c.form.TellsAt(c.Event) {
		return nil
	}
	var fault error
	parts := say
	primes := !c.own.Primed && !c.in.helper
	if primes {
		text, err := c.prime()
		fault = err
		parts = append([]string{text}, parts...)
	}
	promoted := c.own.Primary && !c.own.Leads && !c.in.helper
	if promoted && !primes {
		parts = append([]string{leads}, parts...)
	}
	mail, read, err := c.mail(false)
	fault = errors.Join(fault, err)
	if c.in.helper {
		mail = "" // it is for the agent, not for its subagents
	}
	if mail != "" {
		parts = append(parts, mail)
	}
	if len(parts) == 0 {
		return fault
	}
	if err := c.tell(strings.Join(parts, "\n\n")); err != nil {
		return errors.Join(fault, fmt.Errorf("write the answer: %w", err))
	}
	if primes || promoted {
		c.own.Primed, c.own.Leads = true, c.own.Primary
		fault = errors.Join(fault, c.seen())
	}
	if mail != "" {
		fault = errors.Join(fault, c.markRead(read))
	}
	return fault
}

// stop gives the model the handoffs and questions that wait for it.
func (c *Call) stop() error {
	if !c.form.GoesOn || c.in.helper {
		return nil
	}
	mail, read, err := c.mail(true)
	if mail == "" {
		return err
	}
	c.turn(true)
	if failed := c.goOn(mail); failed != nil {
		return errors.Join(err, fmt.Errorf("write the answer: %w", failed))
	}
	return errors.Join(err, c.markRead(read))
}

// sessionEnd releases what the agent claims.
func (c *Call) sessionEnd() error {
	claims, err := c.ledger.Claims()
	for _, claim := range claims {
		if claim.Agent == c.own.Name {
			_, _, failed := c.ledger.Release(c.own.Name, claim.Path, false)
			err = errors.Join(err, failed)
		}
	}
	c.own.Ended, c.own.Before = true, nil
	return errors.Join(err, c.seen(), keeper.End(c.Table, c.project, c.agent()))
}

// isHelper reports whether the launcher started the agent as a helper.
func (c *Call) isHelper() bool {
	return seat.IsHelper(c.Getenv, c.own.Name)
}

// relative shortens a path below the project's root.
func (c *Call) relative(path string) string {
	if rel, err := unixpath.Rel(c.root, path); err == nil && unixpath.IsLocal(rel) {
		return rel
	}
	return path
}

// named sorts names and drops repetitions.
func named(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// WorkingFolder returns the process's working folder; "." if it is unreadable.
func WorkingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

// ThisProgram returns the path of the running program; "" if it is unknown.
func ThisProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
