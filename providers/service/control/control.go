// Package control talks to a machine's service manager: systemd, launchd or,
// without either, aisync's supervisor. It knows aisync's services by name, and
// no others; it writes no unit. Call Detect, then New.
package control

import (
	"context"
	"errors"
	"time"
)

// Kind is a kind of service manager.
type Kind string

const (
	Systemd Kind = "systemd"
	Launchd Kind = "launchd"   // written from its manual, not proved
	Own     Kind = "supervise" // aisync services supervise: it does not start with the machine
)

// Controller starts and stops the services of one scope.
type Controller interface {
	// States returns the state of each of names, in order. An error means that
	// none can be told; it wraps ErrUnreachable if the manager does not answer.
	States(ctx context.Context, names []string) ([]State, error)
	// Start and Restart first reload the definitions. They return once the
	// program was executed; it may still end at once.
	Start(ctx context.Context, name string) error
	Restart(ctx context.Context, name string) error
	// Stop ends a service and clears its failure. Stopping a stopped service is
	// no error.
	Stop(ctx context.Context, name string) error
	// Reload reads the definitions again.
	Reload(ctx context.Context) error
	// Log is the command that prints the last lines of a service and, with
	// follow, the lines that it writes from then on.
	Log(name string, lines int, follow bool) []string
	// Kind is the kind of the manager.
	Kind() Kind
}

// ErrUnreachable means that the service manager does not answer.
var ErrUnreachable = errors.New("does not answer")

// Activity is what a service is doing.
type Activity string

const (
	Running  Activity = "running"
	Starting Activity = "starting" // also: waits for its restart
	Failed   Activity = "failed"   // ended, and will not be restarted
	Stopped  Activity = "stopped"
)

// State is the state of one service.
type State struct {
	Name     string
	Activity Activity
	PID      int
	Inputs   string    // AISYNC_INPUTS of the running process
	Hidden   bool      // the process runs, but its environment may not be read
	Since    time.Time // start of the process
	Restarts int       // after it ended by itself
	Ended    string    // how it last ended: "exit code 1", "signal KILL"
	Enabled  bool      // it starts with the machine or the session
}

// Options say whose services are meant.
type Options struct {
	System     bool   // the machine's services, not a person's
	UID, GID   int    // of that person
	As         bool   // this process is root, working for UID
	RuntimeDir string // XDG_RUNTIME_DIR of that person; "" if there is none
	Journal    bool   // their output goes to the journal, not to files in Logs
	Units      string // physical folder of the definitions
	Logs       string // physical folder of their output, and of the supervisor's notes
	Self       []string
	Env        []string // of programs that are run
}

// The names of the timers. A timer runs while it waits for its time; its inputs are
// the word in brackets at the end of its description.
const (
	Nightly  = "nightly.timer"
	Converge = "converge.timer"
)

// timer reports whether name is a timer's.
func timer(name string) bool { return name == Nightly || name == Converge }

// UnitName is systemd's name of a service.
func UnitName(name string) string {
	if timer(name) {
		return "aisync-" + name
	}
	return "aisync-" + name + ".service"
}

// LabelOf is launchd's name of a service.
func LabelOf(name string) string { return "dev.aisync." + name }

// New returns the controller of a kind.
func New(k Kind, o Options) Controller {
	switch k {
	case Launchd:
		return launchd{o}
	case Own:
		return supervised{o}
	}
	return systemd{o}
}

// The variables of every server that aisync starts.
const (
	ServiceVariable = "AISYNC_SERVICE" // its name
	InputsVariable  = "AISYNC_INPUTS"  // digest of everything that it was started with
)
