package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/service/listen"
	"aisync.dev/aisync/reconcile"
)

// Apply implements reconcile.Provider. It returns once the server has loaded, or
// has run for a while without that: a large model takes minutes to load. A
// kill leaves the server in its present state.
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
	expect, _ := wantedOf(c.Target) // with which it was observed
	before := observation(now, expect).Token
	out := reconcile.Outcome{}
	switch {
	case !ok && before == "":
		return out, errors.Join(at.Stop(ctx, name), p.forget(w, name)) // also clears the failure
	case ok && before == want.Fingerprint():
		return want.outcome(), nil
	case before != c.Before.Token:
		return out, fmt.Errorf("service %s %w; run the command again", name, reconcile.ErrStale)
	case !ok:
		return out, errors.Join(at.Stop(ctx, name), p.forget(w, name))
	}
	for _, need := range want.needs {
		if _, err := w.FS.Lstat(need); err != nil {
			return out, fmt.Errorf("a required file is missing: %w; %s", err, advice.PullModels)
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
			err = errors.Join(err, at.Stop(ctx, name)) // otherwise it would restart for ever
		}
		return out, err
	}
	if !want.ownKey {
		err = p.forgetKey(w, name)
	}
	return want.outcome(), err
}

func (r run) outcome() reconcile.Outcome {
	b, _ := json.Marshal(private{r.by, r.inputs}) // text: cannot fail
	return reconcile.Outcome{Token: r.Fingerprint(), Private: b}
}

// grace is how long an apply waits for a server to listen.
const grace = 10 * time.Second

// settling is how long a process may not show what it was started with: between its
// fork and its exec, and while it ends.
const settling = time.Second

// Await waits until a service answers on its port and has loaded, ten seconds at
// most, and checks that it keeps running; started is the error of its start. The error about a service that
// ended holds the last lines that it wrote.
func Await(ctx context.Context, at control.Controller, name string, port int, started error) error {
	return await(ctx, at, name, port, "", started)
}

// await is Await for a service that must have been started as want declares.
func await(ctx context.Context, at control.Controller, name string, port int, want reconcile.Fingerprint, started error) error {
	if started != nil {
		if st, err := state(ctx, at, name); err == nil && st.Ended != "" && st.Activity != control.Running {
			return endedError(ctx, at, st)
		}
		return started
	}
	var other time.Time // since when it runs as something else
	for until := time.Now().Add(grace); ; {
		st, err := state(ctx, at, name)
		if want == "" || st.Hidden || runs(st.Inputs) == want {
			other = time.Time{}
		} else if other.IsZero() {
			other = time.Now()
		}
		switch {
		case err != nil:
			return err
		case st.Activity != control.Running || st.Restarts > 0:
			return endedError(ctx, at, st)
		case !other.IsZero() && time.Since(other) > settling:
			return fmt.Errorf("service %s was not started as its definition says; find the override: systemctl cat %s", name, control.UnitName(name))
		case !other.IsZero():
		case port == 0, holdsPort(port, st.PID) && answers(ctx, port), time.Now().After(until):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// answers reports whether the server on port is done with loading. llama-server
// listens before it reads its model, answers 503 meanwhile, and ends if the model
// is none for it. A server without that page is done when it answers at all.
func answers(ctx context.Context, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+"/health", nil)
	if err != nil {
		return false
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode != http.StatusServiceUnavailable
}

// holdsPort reports whether a process, or one that it started, has the port.
func holdsPort(port, pid int) bool {
	all, err := listen.On(port)
	if err != nil {
		return true // cannot be told here
	}
	for _, l := range all {
		if l.PID == pid || l.Below(pid) {
			return true
		}
	}
	return false
}

// endedError is the error of a server that ended: why, the last lines that it
// wrote, and what to do.
func endedError(ctx context.Context, at control.Controller, st control.State) error {
	for range 20 { // the service manager may need a moment to notice
		if st.Ended != "" || ctx.Err() != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
		if now, err := state(ctx, at, st.Name); err == nil {
			st = now
		}
	}
	cause, why, lines := Why(ctx, at, st)
	said := "it wrote nothing"
	if len(lines) > 0 {
		said = "its last lines:\n    " + strings.Join(lines, "\n    ")
	}
	how := "ended at once"
	if st.Ended != "" {
		how += ", " + st.Ended
	}
	if why != "" {
		how += ": " + why
	}
	return advice.New(fmt.Errorf("service %s %s; %s", st.Name, how, said), advice.ServerEnded(string(cause), st.Name, "llama-server"))
}

// LastLines returns the last lines that a service wrote; nil if they cannot be
// read.
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

// otherListener names the program that has a port and is no service of aisync;
// "" if there is none.
func (Provider) otherListener(port int) string {
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

// Preflight implements reconcile.Preflighter: a port taken by another program
// is reported before any change.
func (p Provider) Preflight(ctx context.Context, _ reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	for _, c := range batch {
		want, ok := wanted(c)
		if !ok || want.port == 0 {
			continue
		}
		if who := p.otherListener(want.port); who != "" {
			_, name := NameOf(c.Target.Resource.Address)
			problems = append(problems, reconcile.Problem{
				Address: c.Target.Resource.Address, Err: fmt.Errorf("service %s: port %d is taken by %s", name, want.port, who),
				Hint: "stop that program, or give the service another port",
			})
		}
	}
	return problems
}
