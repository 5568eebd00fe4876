package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
)

// logLimit is the size in bytes at which the log is rotated; one older log is kept.
const logLimit = 1 << 20

// logFile is the log of AISYNC_LOG in the state folder, readable by its owner only.
// It replaces the values of secrets in the environment.
type logFile struct {
	fs     fsys.FS
	path   fsys.LogicalPath
	redact *strings.Replacer

	mu     sync.Mutex
	failed bool // the warning was printed
	warn   func(error)
}

// OpenLog starts the log if AISYNC_LOG asks for one.
func (a *App) OpenLog(cmd *cobra.Command) error {
	if !a.Env.On("AISYNC_LOG") {
		return nil
	}
	p, err := a.HostPlaces()
	if err != nil || p.NewRoot {
		return nil // the command reports the error if it needs the places
	}
	if err := a.startLog(p); err != nil {
		return fmt.Errorf("AISYNC_LOG: %w", err)
	}
	a.Log("start", "command", cmd.CommandPath(), "args", strings.Join(secret.ShowArgs(a.Args), " "), "version", VersionText(), "project", p.Project, "root", p.Root)
	return nil
}

func (a *App) startLog(p place.Places) error {
	w, err := fsys.New(p.FSOptions("log"))
	if err != nil {
		return err
	}
	l := &logFile{fs: w, path: p.StateFile("aisync.log"), redact: redactor(a.Env)}
	l.warn = func(err error) { a.Say("aisync: cannot write the log: %v", err) }
	if _, err := w.MkdirAll(p.State, 0o700); err != nil {
		return err
	}
	if err := l.rotate(); err != nil {
		return err
	}
	a.logs = l
	return nil
}

// rotate moves a log of logLimit bytes or more to aisync.log.1.
func (l *logFile) rotate() error {
	info, err := l.fs.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < logLimit {
		return nil
	}
	if err != nil {
		return err
	}
	old := l.path.Dir().Join("aisync.log.1")
	if b, err := l.fs.ReadFile(old); err == nil {
		if err := l.fs.Remove(old, fsys.Expect{Digest: fsys.Digest(b)}, nil); err != nil {
			return err
		}
	}
	return l.fs.Move(l.path, old)
}

// Write appends a line to the log. It warns about the first failure and never fails.
func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.fs.Append(l.path, []byte(secret.Mask(l.redact.Replace(string(b)))), 0o600)
	if err != nil && !l.failed {
		l.failed = true
		l.warn(err)
	}
	return len(b), nil
}

// Log adds a line to the log, if there is one.
func (a *App) Log(msg string, args ...any) {
	if a.logs != nil {
		slog.New(slog.NewTextHandler(a.logs, nil)).Info(msg, args...)
	}
}

// ReportPanic prints a line about a panic and writes the stack to the log, or to
// stderr where no log can be written.
func (a *App) ReportPanic(cause any, stack []byte) {
	where := "the stack follows"
	if a.logs == nil {
		if p, err := a.HostPlaces(); err == nil {
			if a.startLog(p) != nil {
				a.logs = nil
			}
		}
	}
	if a.logs != nil {
		where = "the stack is in " + string(a.logs.path)
		a.Log("panic", "cause", fmt.Sprint(cause), "stack", string(stack))
	}
	fmt.Fprintf(a.Err, "aisync: internal error: %s; %s; please report it\n", termtext.Safe(fmt.Sprint(cause)), where)
	if a.logs == nil {
		fmt.Fprintf(a.Err, "%s", stack)
	}
}

// redactor returns a replacer for the values of variables that look like secrets.
func redactor(e environ.Env) *strings.Replacer {
	var pairs []string
	for k, v := range e {
		if len(v) >= 6 && secret.Value(v, k) != "" {
			pairs = append(pairs, v, "‹"+k+"›")
		}
	}
	return strings.NewReplacer(pairs...)
}
