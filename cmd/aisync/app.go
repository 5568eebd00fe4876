package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// app is one invocation: its streams, its environment, its global flags.
// Results go to out, progress and diagnostics to err, always.
type app struct {
	in       io.Reader       // for what is started; this process reads input()
	signals  context.Context // ends with the first signal; nil: none is waited for
	out, err io.Writer
	env      env
	argv0    string
	asked    string   // the command's words, such as "session path"
	args     []string // with those of AISYNC_CLI_ARGS; for the log
	g        globals
	logs     *logFile
	gate     gate
	named    bool // a read-only command, given --project by hand
	homeless bool // the command looks at a project alone, and needs nobody's home
}

// env is an environment that was handed over. The process's own is not read.
type env map[string]string

func newEnv(environ []string) env {
	e := make(env, len(environ))
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		e[k] = v
	}
	return e
}

func (e env) get(name string) string { return e[name] }

func (e env) list() []string {
	out := make([]string, 0, len(e))
	for k, v := range e {
		out = append(out, k+"="+v)
	}
	return out
}

// on reads a switch: set and not 0, false or no.
func (e env) on(name string) bool {
	switch strings.ToLower(e[name]) {
	case "", "0", "false", "no":
		return false
	}
	return true
}

// printf writes to stdout: the result.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// say writes a line to stderr, unless --quiet.
func (a *app) say(format string, args ...any) {
	if !a.g.quiet {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// hint says what to do next; a program that called us needs no such advice.
func (a *app) hint(format string, args ...any) {
	if !a.env.on("AISYNC_IN_AUTOMATION") {
		a.say(format, args...)
	}
}

// writeJSON prints v as the result.
func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeJSONLine prints v as one line of a stream.
func (a *app) writeJSONLine(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal reports whether somebody can be asked: they see stderr and type on stdin.
func (a *app) terminal() bool { return isTerminal(a.in) && isTerminal(a.err) }

func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
