package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/term"

	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/internal/environ"
)

// App is one invocation: its streams, environment and global flags. Results go to
// Out; progress and diagnostics go to Err.
type App struct {
	In       io.Reader       // for programs that aisync starts; aisync itself reads Input()
	Signals  context.Context // ends with the first signal; nil: signals are not handled
	Out, Err io.Writer
	Env      environ.Env
	Argv0    string
	Command  string   // the command's words, such as "session path"
	Args     []string // including those of AISYNC_CLI_ARGS; for the log
	Flags    Globals
	logs     *logFile
	Gate     gate.Gate

	ForeignProject bool // allow a project of another user: the command is read-only and --project was typed
	NoHome         bool // the command looks at a project alone and needs no home folder
}

// Printf writes a part of the result to stdout.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// Say writes a line to stderr, unless --quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Flags.Quiet {
		fmt.Fprintf(a.Err, format+"\n", args...)
	}
}

// Hint suggests the next step on stderr, unless --quiet or AISYNC_IN_AUTOMATION.
func (a *App) Hint(format string, args ...any) {
	if !a.Env.On("AISYNC_IN_AUTOMATION") {
		a.Say(format, args...)
	}
}

// WriteJSON prints v as the result, indented.
func (a *App) WriteJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// WriteJSONLine prints v on one line, as an element of a stream.
func (a *App) WriteJSONLine(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Terminal reports whether a person can be asked: stdin and stderr are terminals.
func (a *App) Terminal() bool { return IsTerminal(a.In) && IsTerminal(a.Err) }

// IsTerminal reports whether stream is a file that is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
