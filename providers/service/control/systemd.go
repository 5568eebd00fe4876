package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	manager "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// systemd asks the manager over its private socket, which needs no bus, then
// over the bus, then with systemctl.
type systemd struct{ Options }

func (systemd) Kind() Kind { return Systemd }

// sockets are the addresses of the scope's manager: its private socket, and the
// bus.
func (s systemd) sockets() (direct, bus string) {
	if s.System {
		return "/run/systemd/private", "/run/dbus/system_bus_socket"
	}
	if s.RuntimeDir == "" {
		return "", ""
	}
	return filepath.Join(s.RuntimeDir, "systemd/private"), filepath.Join(s.RuntimeDir, "bus")
}

// dial connects to the manager. Without a running one there is no socket.
func (s systemd) dial(ctx context.Context) (*manager.Conn, error) {
	direct, bus := s.sockets()
	conn, err := dialSocket(ctx, direct, false)
	if err != nil {
		if onBus, busErr := dialSocket(ctx, bus, true); busErr == nil {
			return onBus, nil
		}
	}
	return conn, err
}

func dialSocket(ctx context.Context, socket string, hello bool) (*manager.Conn, error) {
	if socket == "" {
		return nil, errors.New("XDG_RUNTIME_DIR is not set")
	}
	if _, err := os.Stat(socket); err != nil {
		return nil, err
	}
	return manager.NewConnection(func() (*dbus.Conn, error) {
		conn, err := dbus.Dial("unix:path="+socket, dbus.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		if err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err == nil && hello {
			err = conn.Hello()
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	})
}

// ask runs do on a connection to the manager, or other, with systemctl, if
// there is none.
func (s systemd) ask(ctx context.Context, do func(*manager.Conn) error, other func(systemctl) error) error {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	if err == nil {
		defer conn.Close()
		return do(conn)
	}
	if _, missing := exec.LookPath("systemctl"); missing != nil {
		return s.unreachable(err)
	}
	if err := other(systemctl(s)); err != nil {
		return s.unreachable(err)
	}
	return nil
}

// jobTimeout is the time limit for one service to start or stop: longer than
// systemd's own limit (90 s), after which it kills.
const jobTimeout = 100 * time.Second

func (s systemd) unreachable(err error) error {
	if s.System {
		return fmt.Errorf("systemd %w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("the systemd of user %d %w: %w; log in as that user, or run: loginctl enable-linger %d (as root), and try again", s.UID, ErrUnreachable, err, s.UID)
}

// States implements Controller.
func (s systemd) States(ctx context.Context, names []string) (states []State, err error) {
	err = s.ask(ctx, func(conn *manager.Conn) error {
		for _, name := range names {
			all, err := conn.GetAllPropertiesContext(ctx, UnitName(name))
			if err != nil {
				return fmt.Errorf("%s: %w", UnitName(name), err)
			}
			states = append(states, stateOf(name, func(property string) string {
				if v, ok := all[property]; ok {
					return fmt.Sprint(v)
				}
				return ""
			}))
		}
		return nil
	}, func(c systemctl) error {
		states, err = c.States(ctx, names)
		return err
	})
	return states, err
}

// stateOf reads the properties of a unit, as text.
func stateOf(name string, property func(string) string) State {
	number := func(p string) int { n, _ := strconv.Atoi(property(p)); return n }
	st := State{Name: name, PID: number("MainPID"), Restarts: number("NRestarts")}
	switch property("ActiveState") {
	case "active", "reloading":
		st.Activity = Running
	case "activating":
		st.Activity = Starting
	case "failed":
		st.Activity = Failed
	default:
		st.Activity = Stopped
	}
	switch property("UnitFileState") {
	case "enabled", "enabled-runtime":
		st.Enabled = true
	}
	if us, err := strconv.ParseInt(property("ActiveEnterTimestamp"), 10, 64); err == nil && us > 0 && st.Activity == Running {
		st.Since = time.UnixMicro(us)
	}
	if st.Activity != Running {
		st.Ended = endReason(property("Result"), number("ExecMainCode"), number("ExecMainStatus"))
	}
	if timer(name) {
		if _, inputs, ok := strings.Cut(strings.TrimSuffix(property("Description"), "]"), " ["); ok && st.Activity == Running {
			st.Inputs = inputs
		}
		return st
	}
	return st.look()
}

// endReason says how a process ended, from systemd's result, SIGCHLD's code (1
// exited, 2 killed, 3 dumped) and its status.
func endReason(result string, code, status int) string {
	switch {
	case result == "success" || result == "":
		return "" // stopped on request
	case result == "oom-kill":
		return "killed: out of memory"
	case result == "timeout":
		return "killed: timeout"
	case code == 1 && status == 203:
		return "its program could not be executed"
	case code == 1:
		return "exit code " + strconv.Itoa(status)
	case code == 2 || code == 3:
		return "signal " + signalName(status)
	}
	return ""
}

func signalName(n int) string { return syscall.Signal(n).String() }

// look adds what only the process itself tells.
func (st State) look() State {
	if st.Activity != Running || st.PID == 0 {
		return st
	}
	inputs, err := Variable(st.PID, InputsVariable)
	switch {
	case errors.Is(err, os.ErrPermission):
		st.Hidden = true
	case errors.Is(err, os.ErrNotExist): // the manager is about to notice
		st.Activity, st.PID, st.Since = Starting, 0, time.Time{}
	case err == nil:
		st.Inputs = inputs
	}
	return st
}

// Start implements Controller.
func (s systemd) Start(ctx context.Context, name string) error {
	return s.job(ctx, "start", name)
}

// Restart implements Controller.
func (s systemd) Restart(ctx context.Context, name string) error {
	return s.job(ctx, "restart", name)
}

// Stop implements Controller.
func (s systemd) Stop(ctx context.Context, name string) error {
	return s.job(ctx, "stop", name)
}

// Reload implements Controller.
func (s systemd) Reload(ctx context.Context) error {
	return s.ask(ctx, func(conn *manager.Conn) error { return conn.ReloadContext(ctx) },
		func(c systemctl) error { return c.Reload(ctx) })
}

// job queues one job and waits for its end.
func (s systemd) job(ctx context.Context, verb, name string) error {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	return s.ask(ctx, func(conn *manager.Conn) error {
		unit := UnitName(name)
		done := make(chan string, 1)
		var err error
		switch verb {
		case "stop":
			_, err = conn.StopUnitContext(ctx, unit, "replace", done)
		default:
			if err = conn.ReloadContext(ctx); err != nil {
				return fmt.Errorf("reload the units: %w", err)
			}
			_ = conn.ResetFailedUnitContext(ctx, unit) // most often it has not failed
			if verb == "restart" {
				_, err = conn.RestartUnitContext(ctx, unit, "replace", done)
			} else {
				_, err = conn.StartUnitContext(ctx, unit, "replace", done)
			}
		}
		if err != nil {
			var is dbus.Error
			if verb == "stop" && errors.As(err, &is) && is.Name == "org.freedesktop.systemd1.NoSuchUnit" {
				return nil
			}
			return fmt.Errorf("%s %s: %w", verb, unit, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w", verb, unit, ctx.Err())
		case result := <-done:
			if verb == "stop" {
				_ = conn.ResetFailedUnitContext(ctx, unit)
			}
			if result != "done" && verb != "stop" {
				return fmt.Errorf("%s %s: %s", verb, unit, result)
			}
			return nil
		}
	}, func(c systemctl) error { return c.job(ctx, verb, name) })
}

// Log implements Controller.
func (s systemd) Log(name string, lines int, follow bool) []string {
	if !s.Journal {
		return tail(s.Options, name, lines, follow)
	}
	argv := []string{"journalctl", "--no-pager", "--output=cat", "--lines=" + strconv.Itoa(lines)}
	if follow {
		argv = append(argv, "--follow")
	}
	if s.System {
		return append(argv, "--unit="+UnitName(name))
	}
	return append(argv, "--user", "--unit="+UnitName(name))
}

// LogFile is the log of a service outside the journal.
func LogFile(logs, name string) string { return filepath.Join(logs, name+".log") }

func tail(o Options, name string, lines int, follow bool) []string {
	argv := []string{"tail", "-n", strconv.Itoa(lines)}
	if follow {
		argv = append(argv, "-F")
	}
	return append(argv, LogFile(o.Logs, name))
}
