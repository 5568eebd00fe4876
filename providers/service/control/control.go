// Package control talks to whatever runs services on a machine: systemd,
// launchd, or, where neither is, a supervisor of aisync's own. It knows the
// services of aisync by their names, and no other; it writes no unit. Start
// reading at Controller, then Detect.
package control

import (
	"context"
	"errors"
	"time"
)

// Kind is what runs services.
type Kind string

const (
	Systemd Kind = "systemd"
	Launchd Kind = "launchd"   // written after its manual, and not proved
	Own     Kind = "supervise" // aisync services supervise: nothing starts it when the machine does
)

// Controller starts and stops the services of one scope.
type Controller interface {
	// States says how each of names is, in order. An error means that nobody
	// can tell, and wraps ErrUnreachable where nobody answers.
	States(ctx context.Context, names []string) ([]State, error)
	// Start and Restart read the definitions anew first. They return once the
	// program was executed, which is not to say that it stays.
	Start(ctx context.Context, name string) error
	Restart(ctx context.Context, name string) error
	// Stop ends a service, and forgets that it failed. One that does not run is
	// no error.
	Stop(ctx context.Context, name string) error
	// Reload reads the definitions anew.
	Reload(ctx context.Context) error
	// Log is the command that prints the last lines that a service wrote, and
	// with follow what it writes from then on.
	Log(name string, lines int, follow bool) []string
	// Kind says what answers.
	Kind() Kind
}

// ErrUnreachable says that what runs services does not answer.
var ErrUnreachable = errors.New("does not answer")

// Activity is what a service does.
type Activity string

const (
	Running  Activity = "running"
	Starting Activity = "starting" // also: waits to be started again after it ended
	Failed   Activity = "failed"   // ended, and is not started again
	Stopped  Activity = "stopped"
)

// State is how one service is.
type State struct {
	Name     string
	Activity Activity
	PID      int
	Inputs   string    // AISYNC_INPUTS of the process that runs
	Hidden   bool      // the process runs, and its environment may not be read
	Since    time.Time // that it runs
	Restarts int       // after it ended by itself
	Ended    string    // how it ended last: "exit code 1", "signal KILL"
	Enabled  bool      // it is started when the machine, or the session, is
}

// Options say whose services are meant.
type Options struct {
	System     bool   // those of the machine, not of a person
	UID, GID   int    // whose
	As         bool   // this is root, working for UID
	RuntimeDir string // XDG_RUNTIME_DIR of that person; "" where there is none
	Journal    bool   // what they write goes to the journal, not to files in Logs
	Units      string // physical folder of the definitions
	Logs       string // physical folder of what they write, and of what Own notes
	Self       []string
	Env        []string // of programs that are run
}

// Nightly is the name of the one timer that there is. It runs while it waits
// for its time, and its inputs are the word in brackets that ends its
// description.
const Nightly = "nightly.timer"

// UnitName is what systemd calls a service.
func UnitName(name string) string {
	if name == Nightly {
		return "aisync-" + name
	}
	return "aisync-" + name + ".service"
}

// LabelOf is what launchd calls a service.
func LabelOf(name string) string { return "dev.aisync." + name }

// New returns the controller of a kind.
func New(k Kind, o Options) Controller {
	switch k {
	case Launchd:
		return launchd{o}
	case Own:
		return own{o}
	}
	return systemd{o}
}

// Variables of every server that aisync starts.
const (
	ServiceVariable = "AISYNC_SERVICE" // its name
	InputsVariable  = "AISYNC_INPUTS"  // the digest of all that it was started with
)
