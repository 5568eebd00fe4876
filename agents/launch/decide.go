package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/schema/spec"
)

// Ask holds the person's options for a launch.
type Ask struct {
	ID        string // start under this id
	NewID     bool   // start under an id even where no other agent works
	Helper    bool
	Recover   bool
	RecoverID string // the session to recover, an id or Primary; "": the only one
	Fresh     bool
}

// Primary is Ask.RecoverID for the primary, which has no id.
const Primary = "primary"

// Decision says how to start an agent.
type Decision struct {
	Role     string          // "primary", "agent", "helper"
	ID       string          // "" for the primary, and where MakeID must make one
	Recover  *session.Entry  // the session to continue
	Crashed  []session.Entry // sessions without an end
	Others   []roster.Agent  // the agents at work here
	Warnings []string
	Brief    string // what it is told of the work that it goes on with; "": nothing
}

// ErrUndecided reports a crashed session that Ask neither recovers nor leaves.
var ErrUndecided = errors.New("unfinished session")

// anonymous is a process table whose caller is no agent: an agent that starts
// another one is at work itself.
type anonymous struct{ process.Table }

func (anonymous) Self() int { return 0 }

// Everybody returns the roster including the calling agent, if there is one.
func Everybody(t process.Table, root string, runtimes []spec.Runtime) roster.Roster {
	return roster.Look(anonymous{t}, root, runtimes, nil)
}

// Decide returns which agent a launch starts. The first in a project is its
// primary, and so is one beside helpers whose primary has gone. It returns
// ErrUndecided and the sessions in question where one crashed and ask does not
// say whether to recover it.
func Decide(root string, now roster.Roster, ask Ask) (Decision, error) {
	d := Decision{Role: Primary, Others: now.Agents}
	entries, err := session.List(root, now, session.Context{})
	if err != nil {
		return d, err
	}
	for _, e := range entries {
		if e.State == session.Crashed && !Held(root, e.ID) {
			d.Crashed = append(d.Crashed, e)
		}
	}
	led := Held(root, "") || slices.ContainsFunc(now.Agents, func(a roster.Agent) bool { return !isHelper(a) })
	for _, why := range now.Doubts() {
		d.warn("there may be more agents here: %s", why)
	}
	if !led && !now.Complete() { // an agent that is not visible from here may lead
		led = true
		d.warn("this one does not start as the primary, and gets an id")
	}
	switch {
	case ask.Recover:
		return d, d.recover(root, ask.RecoverID, led)
	case ask.ID != "":
		return d, d.named(root, ask)
	case ask.Helper && (led || len(now.Agents) > 0):
		d.Role = "helper"
		return d, nil
	case ask.NewID || led:
		d.Role = "agent"
		return d, nil
	}
	if ask.Helper {
		d.warn("no agent is at work in %s: this one starts as its primary, not as a helper", project.Name(root))
	}
	for _, a := range now.Agents {
		d.warn("the helper %s is still at work here (process %d), and its primary has gone", a.ID, a.PID)
	}
	for _, e := range d.Crashed {
		if e.Helper {
			d.warn("the helper %s did not end; its session file stays: %s", e.ID, e.Path)
		}
	}
	if len(d.Unended()) > 0 && !ask.Fresh {
		return d, ErrUndecided
	}
	return d, nil
}

// Unended returns the sessions that a new primary may continue, without those of
// helpers.
func (d Decision) Unended() []session.Entry {
	return slices.DeleteFunc(slices.Clone(d.Crashed), func(e session.Entry) bool { return e.Helper })
}

func (d *Decision) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// isHelper reports whether an agent is known to be a helper.
func isHelper(a roster.Agent) bool { return a.Known && (a.Helper || identity.IsHelper(a.ID)) }

func (d *Decision) recover(root, id string, led bool) error {
	var names []string
	for _, e := range d.Crashed {
		names = append(names, NameOf(e))
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("nothing to recover: no session of %s crashed", project.Name(root))
	case id == "" && len(d.Unended()) == 1:
		id = NameOf(d.Unended()[0])
	case id == "" && len(names) > 1:
		return fmt.Errorf("%d sessions did not end; say which: --recover=%s", len(names), strings.Join(names, ", --recover="))
	case id == "":
		id = names[0]
	}
	i := slices.Index(names, id)
	if i < 0 {
		return fmt.Errorf("no crashed session %q; crashed: %s", id, strings.Join(names, ", "))
	}
	e := d.Crashed[i]
	d.Recover, d.ID, d.Role = &e, e.ID, roleOf(e)
	if e.ID == "" && led {
		return fmt.Errorf("the primary's session cannot be recovered while another agent leads in %s", project.Name(root))
	}
	return nil
}

func roleOf(e session.Entry) string {
	switch {
	case e.ID == "":
		return Primary
	case e.Helper:
		return "helper"
	}
	return "agent"
}

// NameOf returns the name of a session in a choice.
func NameOf(e session.Entry) string {
	if e.ID == "" {
		return Primary
	}
	return e.ID
}

func (d *Decision) named(root string, ask Ask) error {
	if err := identity.Check(ask.ID); err != nil {
		return err
	}
	if i := slices.IndexFunc(d.Others, func(a roster.Agent) bool { return a.ID == ask.ID }); i >= 0 || Held(root, ask.ID) {
		return fmt.Errorf("%s: %w in %s", ask.ID, ErrHeld, project.Name(root))
	}
	d.ID, d.Role = ask.ID, "agent"
	if ask.Helper || identity.IsHelper(ask.ID) {
		d.Role = "helper"
	}
	if i := slices.IndexFunc(d.Crashed, func(e session.Entry) bool { return e.ID == ask.ID }); i >= 0 {
		d.Recover = &d.Crashed[i]
	}
	return nil
}

// MakeID gives d a reserved id if it needs one.
func (d *Decision) MakeID(root, host, label string) error {
	taken, err := session.Taken(root, roster.Roster{Root: root, Agents: d.Others})
	if err != nil || d.Role == Primary || d.ID != "" {
		return err
	}
	d.ID, err = Reserve(root, taken, func(taken func(string) bool) string { return d.NewID(root, host, label, taken) })
	return err
}

// NewID returns a suitable id for d.
func (d *Decision) NewID(root, host, label string, taken func(string) bool) string {
	if d.Role == "helper" {
		return identity.NewHelper(taken)
	}
	return identity.New(host, project.Name(root), label, taken)
}

// Clear frees the primary's place for d: it removes the read-only copy for old
// tools and, unless d continues a session, archives those that did not end. It
// refuses a link.
func Clear(root string, d Decision, now time.Time) error {
	if err := session.DropCopy(root, now); err != nil || d.Recover != nil {
		return err
	}
	for _, e := range d.Unended() {
		if _, err := session.ByID(root, e.ID).Archive("crashed", now); err != nil {
			return err
		}
	}
	return nil
}
