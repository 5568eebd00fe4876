package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/service/listen"
	"aisync.dev/aisync/reconcile"
)

// Apply implements reconcile.Provider. It returns once the server listens, or
// has lived for a while without that: a large model takes minutes to read.
// Killed, it leaves the server as it is by then.
func (p Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	if p.Controllers == nil {
		return reconcile.Outcome{}, errors.New("services are started and stopped on the machine itself")
	}
	scope, name := NameOf(c.Target.Resource.Address)
	at := p.Controllers(p.by(c.Target), scope == "system")
	now, err := state(ctx, at, name)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	want, ok := wanted(c)
	expect, _ := wantedOf(c.Target) // by which it was looked at
	before := observation(now, expect).Token
	out := reconcile.Outcome{}
	switch {
	case !ok && before == "":
		return out, at.Stop(ctx, name) // also forgets that it failed
	case ok && before == want.Fingerprint():
		return want.outcome(), nil
	case before != c.Before.Token:
		return out, fmt.Errorf("service %s %w; run the command again", name, reconcile.ErrStale)
	case !ok:
		return out, at.Stop(ctx, name)
	}
	for _, need := range want.needs {
		if _, err := w.FS.Lstat(need); err != nil {
			return out, fmt.Errorf("a file that it needs is not there: %w; %s", err, advice.PullModels)
		}
	}
	if _, err := w.FS.MkdirAll(LogFolder(p.State), 0o700); err != nil {
		return out, err
	}
	if before == "" {
		err = at.Start(ctx, name)
	} else {
		err = at.Restart(ctx, name)
	}
	err = await(ctx, at, name, want.port, want.Fingerprint(), err)
	if err != nil {
		if ctx.Err() == nil {
			err = errors.Join(err, at.Stop(ctx, name)) // else it would try and try
		}
		return out, err
	}
	return want.outcome(), nil
}

func (r run) outcome() reconcile.Outcome {
	b, _ := json.Marshal(private{r.by, r.inputs}) // text: cannot fail
	return reconcile.Outcome{Token: r.Fingerprint(), Private: b}
}

// grace is how long an apply waits for a server to listen.
const grace = 10 * time.Second

// Await waits until a service listens on its port whose start ended with the
// error started, and sees whether it stays: one that ends is an error with the
// last that it wrote.
func Await(ctx context.Context, at control.Controller, name string, port int, started error) error {
	return await(ctx, at, name, port, "", started)
}

// await is Await for a service that must have been started as want says.
func await(ctx context.Context, at control.Controller, name string, port int, want reconcile.Fingerprint, started error) error {
	if started != nil {
		if st, err := state(ctx, at, name); err == nil && st.Ended != "" && st.Activity != control.Running {
			return died(ctx, at, st)
		}
		return started
	}
	for until := time.Now().Add(grace); ; {
		st, err := state(ctx, at, name)
		switch {
		case err != nil:
			return err
		case st.Activity != control.Running || st.Restarts > 0:
			return died(ctx, at, st)
		case want != "" && !st.Hidden && runs(st.Inputs) != want:
			return fmt.Errorf("service %s was started with something else than its definition says; look for what overrides it: systemctl cat %s", name, control.UnitName(name))
		case port == 0, mine(port, st.PID), time.Now().After(until):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// mine reports whether a process, or one that it started, has the port.
func mine(port, pid int) bool {
	all, err := listen.On(port)
	if err != nil {
		return true // nobody can tell here
	}
	for _, l := range all {
		if l.PID == pid || l.Below(pid) {
			return true
		}
	}
	return false
}

// died says how a server ended, with the last that it wrote.
func died(ctx context.Context, at control.Controller, st control.State) error {
	for range 20 { // what runs it may still have to notice how it ended
		if st.Ended != "" || ctx.Err() != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
		if now, err := state(ctx, at, st.Name); err == nil {
			st = now
		}
	}
	said := "it wrote nothing"
	if lines := LastLines(ctx, at, st.Name, 8); len(lines) > 0 {
		said = "its last lines:\n    " + strings.Join(lines, "\n    ")
	}
	how := "ended at once"
	if st.Ended != "" {
		how += ", " + st.Ended
	}
	return fmt.Errorf("service %s %s; %s", st.Name, how, said)
}

// LastLines are the last that a service wrote, as far as they can be had.
func LastLines(ctx context.Context, at control.Controller, name string, lines int) []string {
	argv := at.Log(name, lines, false)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// stranger names who has a port and is no service of aisync; "" for nobody.
func (Provider) stranger(port int) string {
	all, err := listen.On(port)
	if err != nil {
		return ""
	}
	for _, l := range all {
		if ours, _ := control.Variable(l.PID, control.ServiceVariable); l.PID == 0 || ours == "" {
			return l.String()
		}
	}
	return ""
}

// Preflight implements reconcile.Preflighter: a port that somebody else has is
// known before anything is changed.
func (p Provider) Preflight(ctx context.Context, _ reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	for _, c := range batch {
		want, ok := wanted(c)
		if !ok || want.port == 0 {
			continue
		}
		if who := p.stranger(want.port); who != "" {
			_, name := NameOf(c.Target.Resource.Address)
			problems = append(problems, reconcile.Problem{
				Address: c.Target.Resource.Address, Err: fmt.Errorf("service %s: port %d is taken by %s", name, want.port, who),
				Hint: "stop that program, or give the service another port",
			})
		}
	}
	return problems
}
