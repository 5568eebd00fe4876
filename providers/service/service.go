// Package service declares and reconciles model servers: units, configurations,
// packages, and one resource a service for its running state. A running server
// carries the digest of everything that it was started with; only a change of
// that restarts it. The package talks to service managers through package
// control, and serves nothing itself. Start reading at Host.Declare, then
// Provider.
package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Provider starts and stops services. Their definitions are files, resources
// that the running state depends on.
type Provider struct {
	By          control.Kind
	Controllers func(by control.Kind, system bool) control.Controller // nil: nothing runs, because aisync works below another root
	State       fsys.LogicalPath
}

var (
	_ reconcile.Permanent   = Provider{}
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Recallable  = Provider{}
	_ reconcile.Sole        = Provider{}
)

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "service" }

// NotUndone implements reconcile.Permanent.
func (Provider) NotUndone() string {
	return "a running server keeps running as it was started; " + advice.RestartServices
}

// Recall implements reconcile.Recallable: the address names the service.
func (Provider) Recall() {}

// Sole implements reconcile.Sole: units with these names belong to aisync
// alone, and those that it enabled start with the machine.
func (Provider) Sole() {}

// run is a server that runs as declared.
type run struct {
	digest string
	inputs map[string]string // the inputs of digest, each with its own digest
	by     control.Kind
	port   int                // 0: it does not listen
	needs  []fsys.LogicalPath // files that must exist
	ownKey bool               // its key is one that aisync makes
	argv   []string
	env    map[string]string
}

func runs(digest string) reconcile.Fingerprint {
	return reconcile.Fingerprint("running:" + digest)
}

// Fingerprint implements reconcile.Body.
func (r run) Fingerprint() reconcile.Fingerprint { return runs(r.digest) }

// Redacted implements reconcile.Body.
func (r run) Redacted() json.RawMessage {
	b, _ := json.Marshal(map[string]string{"inputs": r.digest}) // text: cannot fail
	return b
}

// private is Record.Private.
type private struct {
	By     control.Kind      `json:"by"`
	Inputs map[string]string `json:"inputs"`
}

func privateOf(t reconcile.Target) private {
	var p private
	_ = json.Unmarshal(t.Private, &p) // a note in an older format counts as unknown
	return p
}

// by is the manager that runs, or ran, the service of t.
func (p Provider) by(t reconcile.Target) control.Kind {
	if was := privateOf(t).By; was != "" && len(t.Resource.Leaves) == 0 {
		return was
	}
	return p.By
}

// Observe implements reconcile.Provider.
func (p Provider) Observe(ctx context.Context, _ reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	if p.Controllers == nil {
		return out
	}
	type group struct {
		by    control.Kind
		scope string
	}
	groups := map[group][]int{}
	for i, t := range batch {
		scope, _ := NameOf(t.Resource.Address)
		g := group{p.by(t), scope}
		groups[g] = append(groups[g], i)
	}
	for g, at := range groups {
		names := make([]string, len(at))
		for j, i := range at {
			_, names[j] = NameOf(batch[i].Resource.Address)
		}
		states, err := p.Controllers(g.by, g.scope == "system").States(ctx, names)
		for j, i := range at {
			if err != nil {
				out[i] = reconcile.Observation{Presence: reconcile.Unknown, Reason: err.Error()}
				continue
			}
			want, _ := wantedOf(batch[i])
			out[i] = observation(states[j], want)
		}
	}
	return out
}

// wantedOf is what t wants to run; ok is false if it wants nothing.
func wantedOf(t reconcile.Target) (want run, ok bool) {
	if len(t.Resource.Leaves) == 0 {
		return run{}, false
	}
	want, ok = t.Resource.Leaves[0].Body.(run)
	return want, ok
}

// observation is that of a service's state. A server that claims to run as want
// says, but does not, because its unit was edited in the meantime, counts as
// another.
func observation(s control.State, want run) reconcile.Observation {
	switch {
	case s.Activity != control.Running && s.Ended != "":
		return reconcile.Observation{Reason: "it ended since the last apply, " + s.Ended}
	case s.Activity != control.Running:
		return reconcile.Observation{Reason: "it was stopped since the last apply"}
	case s.Hidden:
		return reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf("service %s runs, but only root may see what it was started with; run aisync as root", s.Name)}
	}
	is := runs(s.Inputs)
	if len(want.argv) > 0 && is == want.Fingerprint() && control.StartedOtherwise(s.PID, want.argv, want.env) {
		is = runs("something else")
	}
	return reconcile.Observation{Presence: reconcile.Present, Token: is, Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": is}}
}

// state returns the state of one service.
func state(ctx context.Context, c control.Controller, name string) (control.State, error) {
	states, err := c.States(ctx, []string{name})
	if err != nil {
		return control.State{}, err
	}
	return states[0], nil
}

// Explain implements reconcile.Provider: what starts, or restarts and why.
func (p Provider) Explain(ctx context.Context, _ reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	if !c.Writes() || p.Controllers == nil {
		return nil
	}
	var lines []reconcile.Line
	say := func(op byte, format string, args ...any) {
		lines = append(lines, reconcile.Line{Op: op, Text: fmt.Sprintf(format, args...)})
	}
	want, wanted := wanted(c)
	scope, name := NameOf(c.Target.Resource.Address)
	switch {
	case !wanted:
		say('-', "stop it")
		return lines
	case c.Before.Token != "":
		say('~', "restart it: %s", strings.Join(moved(privateOf(c.Target).Inputs, want.inputs), ", "))
	default:
		st, err := state(ctx, p.Controllers(p.by(c.Target), scope == "system"), name)
		if err == nil && st.Ended != "" {
			say(' ', "it ended: %s; %s", st.Ended, advice.ServiceLogs(name))
		}
		if at := want.inputs["time"]; at != "" {
			say('+', "start the timer that runs, at %s: %s", at, shell(want.argv))
			return lines
		}
		if every := want.inputs["interval"]; every != "" {
			say('+', "start what runs every %s: %s", every, shell(want.argv))
			return lines
		}
		say('+', "start: %s", shell(want.argv))
	}
	if want.port == 0 {
		return lines
	}
	if who := p.otherListener(want.port); who != "" {
		say(' ', "port %d is taken by %s", want.port, who)
	}
	if want.by == control.Own {
		say(' ', "run by aisync's supervisor, because no service manager runs here: it does not start with the machine")
	}
	return lines
}

// wanted is what c wants to run; ok is false if it wants nothing.
func wanted(c reconcile.Change) (want run, ok bool) {
	if len(c.Leaves) == 0 || c.Leaves[0].Want == nil {
		return run{}, false
	}
	want, ok = c.Leaves[0].Want.Body.(run)
	return want, ok
}

// moved names the inputs that differ.
func moved(was, is map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			out = append(out, "its "+name+" has changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			out = append(out, "its "+name+" is gone")
		}
	}
	if len(out) == 0 {
		out = []string{"its inputs changed"}
	}
	return out
}
