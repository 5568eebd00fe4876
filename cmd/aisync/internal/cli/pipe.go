package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Outlive makes a command that writes go on when nobody reads what it says any
// more, as in aisync apply | head -1: what was begun is ended in order, and the
// exit code says what came of it. Commands that only look end at once.
func (a *App) Outlive() {
	// Caught and not ignored: the programs that we start would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	a.Out, a.Err = Unheard(a.Out), Unheard(a.Err)
}

// Unheard is w, where to write to nobody is no error.
func Unheard(w io.Writer) io.Writer {
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

// Fd is for who wants to know whether this is a terminal.
func (p pipe) Fd() uintptr { return p.file.Fd() }

// Bare is w for a program that we start, which has to see that it is a terminal,
// and for who moves the cursor.
func Bare(w io.Writer) io.Writer {
	switch w := w.(type) {
	case pipe:
		return w.file
	case screen:
		return w.file
	}
	return w
}
