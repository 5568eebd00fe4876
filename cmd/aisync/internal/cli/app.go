package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/term"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/environ"
)

// App is one invocation: its streams, its environment, its global flags.
// Results go to out, progress and diagnostics to err, always.
type App struct {
	In       io.Reader       // for what is started; this process reads input()
	Signals  context.Context // ends with the first signal; nil: none is waited for
	Out, Err io.Writer
	Env      environ.Env
	Argv0    string
	Asked    string   // the command's words, such as "session path"
	Args     []string // with those of AISYNC_CLI_ARGS; for the log
	Flags    Globals
	logs     *logFile
	Gate     stack.Gate
	Named    bool // a read-only command, given --project by hand
	Homeless bool // the command looks at a project alone, and needs nobody's home
}

// Printf writes to stdout: the result.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// Say writes a line to stderr, unless --quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Flags.Quiet {
		fmt.Fprintf(a.Err, format+"\n", args...)
	}
}

// Hint says what to do next; a program that called us needs no such advice.
func (a *App) Hint(format string, args ...any) {
	if !a.Env.On("AISYNC_IN_AUTOMATION") {
		a.Say(format, args...)
	}
}

// WriteJSON prints v as the result.
func (a *App) WriteJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// WriteJSONLine prints v as one line of a stream.
func (a *App) WriteJSONLine(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Terminal reports whether somebody can be asked: they see stderr and type on
// stdin.
func (a *App) Terminal() bool { return IsTerminal(a.In) && IsTerminal(a.Err) }

func IsTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
