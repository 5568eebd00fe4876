package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// supervised starts one supervisor for each service: aisync services supervise,
// in a new session. It does not start with the machine.
type supervised struct{ Options }

func (supervised) Kind() Kind { return Own }

// Definition says what a supervisor runs: the content of the file Units/NAME.json.
type Definition struct {
	FormatVersion string            `json:"format_version"`
	Name          string            `json:"name"`
	Command       []string          `json:"command"`
	Environment   map[string]string `json:"environment"`

	// Commands run with the server's environment: before it starts, once it was
	// started, and before it is stopped. Only Before must succeed.
	Before  []string `json:"before,omitempty"`
	Started []string `json:"started,omitempty"`
	Ending  []string `json:"ending,omitempty"`
}

// DefinitionFile is the path of a service's definition.
func DefinitionFile(units, name string) string { return filepath.Join(units, name+".json") }

// note is a supervisor's state and its service's, in Logs/NAME.state.
type note struct {
	Supervisor process   `json:"supervisor"`
	Server     process   `json:"server"`
	Activity   Activity  `json:"state"`
	Since      time.Time `json:"since,omitzero"`
	Restarts   int       `json:"restarts"`
	Ended      string    `json:"ended,omitempty"`
}

// process identifies one process for good: numbers are used again.
type process struct {
	PID   int    `json:"pid"`
	Began string `json:"began"`
}

func (p process) alive() bool { return p.PID > 0 && p.Began != "" && began(p.PID) == p.Began }

func noteFile(logs, name string) string { return filepath.Join(logs, name+".state") }

// read returns the note of a service, empty if there is none.
func (o supervised) read(name string) (note, error) {
	var n note
	b, err := os.ReadFile(noteFile(o.Logs, name))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		err = fmt.Errorf("read state of service %s: %w", name, err)
	}
	return n, err
}

// States implements Controller.
func (o supervised) States(_ context.Context, names []string) ([]State, error) {
	var states []State
	for _, name := range names {
		n, err := o.read(name)
		if err != nil {
			return nil, err
		}
		st := State{Name: name, Activity: n.Activity, PID: n.Server.PID, Since: n.Since, Restarts: n.Restarts, Ended: n.Ended}
		switch {
		case n.Activity == Failed:
			st.PID = 0
		case !n.Supervisor.alive():
			st = State{Name: name, Activity: Stopped}
			if n.Activity != "" && n.Activity != Stopped {
				st.Ended = "its supervisor is gone"
			}
		case n.Activity == Running && !n.Server.alive():
			st.Activity, st.PID = Starting, 0 // the supervisor is about to notice
		}
		states = append(states, st.look())
	}
	return states, nil
}

// Start implements Controller.
func (o supervised) Start(ctx context.Context, name string) error {
	if n, err := o.read(name); err != nil || n.Activity != Failed && n.Supervisor.alive() {
		return err
	}
	if len(o.Self) == 0 {
		return errors.New("the path of this program is unknown, so it cannot start a supervisor")
	}
	if err := os.MkdirAll(o.Logs, 0o700); err != nil {
		return err
	}
	log, err := openLog(LogFile(o.Logs, name))
	if err != nil {
		return err
	}
	defer log.Close()
	argv := append(o.Self[:len(o.Self):len(o.Self)], "services", "supervise", DefinitionFile(o.Units, name), o.Logs)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", o.plain(), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if o.As {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
		if err := log.Chown(o.UID, o.GID); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a supervisor: %w", err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	deadline := time.After(5 * time.Second)
	for {
		n, err := o.read(name)
		if err == nil && n.Supervisor.PID == cmd.Process.Pid && n.Activity != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-exited:
			if n, err := o.read(name); err == nil && n.Supervisor.PID == cmd.Process.Pid {
				return nil // its note says why
			}
			return errors.New("its supervisor ended at once")
		case <-deadline:
			return errors.New("its supervisor did not report that it started")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// plain is the part of our environment that servers need: nothing of the
// terminal or the agent that runs aisync.
func (o supervised) plain() []string {
	var out []string
	for _, kv := range o.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "GORACE", "GOCOVERDIR":
			out = append(out, kv)
		}
	}
	return out
}

// logLimit is the size at which the start of a service rotates its log.
const logLimit = 10 << 20

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Restart implements Controller.
func (o supervised) Restart(ctx context.Context, name string) error {
	if err := o.Stop(ctx, name); err != nil {
		return err
	}
	return o.Start(ctx, name)
}

// Stop implements Controller.
func (o supervised) Stop(ctx context.Context, name string) error {
	n, err := o.read(name)
	if err != nil {
		return err
	}
	if n.Supervisor.alive() {
		if err := end(ctx, n.Supervisor, 30*time.Second); err != nil {
			return fmt.Errorf("stop the supervisor of %s: %w", name, err)
		}
	}
	if n.Server.alive() { // its supervisor was killed, and the server outlived it
		if err := end(ctx, n.Server, 10*time.Second); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	if err := os.Remove(noteFile(o.Logs, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// end asks a process to end, and kills it if it has not ended in time.
func end(ctx context.Context, p process, after time.Duration) error {
	sig, deadline := syscall.SIGTERM, time.Now().Add(after)
	for p.alive() {
		if sig != 0 {
			if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			sig = 0
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			sig, deadline = syscall.SIGKILL, deadline.Add(after)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// Reload implements Controller: a supervisor reads its definition when it starts.
func (supervised) Reload(context.Context) error { return nil }

// Log implements Controller.
func (o supervised) Log(name string, lines int, follow bool) []string {
	return tail(o.Options, name, lines, follow)
}
