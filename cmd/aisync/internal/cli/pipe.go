package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// SurviveClosedOutput lets a command that writes continue when its output is closed,
// as in aisync apply | head -1: it finishes, and its exit code tells the outcome.
// Read-only commands do not call it and end at once.
func (a *App) SurviveClosedOutput() {
	// Caught, not ignored: programs that aisync starts would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	a.Out, a.Err = IgnoreClosed(a.Out), IgnoreClosed(a.Err)
}

// IgnoreClosed returns w without its EPIPE errors.
func IgnoreClosed(w io.Writer) io.Writer {
	switch w := w.(type) {
	case *os.File:
		return pipe{w}
	case screen:
		return screen{pipe{w.file}, w.file}
	}
	return w
}

type pipe struct{ file *os.File }

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return len(b), nil
	}
	return n, err
}

// Fd returns the file's descriptor, by which IsTerminal recognizes a terminal.
func (p pipe) Fd() uintptr { return p.file.Fd() }

// Bare returns the file below w: for a program that needs the terminal itself, and
// for code that moves the cursor.
func Bare(w io.Writer) io.Writer {
	switch w := w.(type) {
	case pipe:
		return w.file
	case screen:
		return w.file
	}
	return w
}
