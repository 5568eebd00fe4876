// Package quick answers what agents ask many times a minute (who else is here,
// where is my context, what do I run in) before the rest of the program has
// begun: the packages of CUE, of the downloads and of the command line alone
// take longer to initialise than the answer takes. It writes no file and starts
// nothing. Start reading at Answer.
//
// Go initialises packages in the order of their paths as soon as all that they
// import is initialised. So this package and what it imports must do without
// those that come late, however small: path/filepath, regexp, crypto/rand,
// net/url, runtime/debug. Where one comes in, the answers are still right, and slow;
// TestAnswersComeBeforeTheRestHasBegun fails then.
package quick

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

func init() {
	p := Process{Args: os.Args, Environ: os.Environ(), Out: os.Stdout, Err: os.Stderr}
	if code, ok := p.Answer(); ok {
		os.Exit(code)
	}
}

// Links are names under which the program is one of its commands.
var Links = map[string][]string{
	"agent-roster":         {"roster"},
	"ai":                   {"launch"},
	"ensemble":             {"ledger"},
	"ensemble-tmux":        {"ledger", "tmux"},
	"session-context-path": {"session", "path"},
}

// Process is what Answer may use of the process.
type Process struct {
	Args     []string // with the program's name
	Environ  []string
	Out, Err io.Writer
}

// Answer does what the command line asks for, if that is one of the commands of
// this package in a plain form and can be answered without anything else, and
// returns the exit code. Otherwise ok is false and nothing has been written: the
// whole program has to look, and says what is wrong where something is. Both ways
// give the same bytes and the same code.
func (p Process) Answer() (code int, ok bool) {
	c, command := p.parse()
	if command == nil {
		return 0, false
	}
	defer func() {
		if recover() != nil { // it will happen again, where it can be reported
			code, ok = 0, false
		}
	}()
	var out, err bytes.Buffer
	c.Out, c.Err = &out, &err
	code, fault := command.run(c)
	if fault != nil {
		return 0, false
	}
	if n, fault := p.Out.Write(out.Bytes()); fault != nil && n == 0 {
		return 0, false
	}
	_, _ = p.Err.Write(err.Bytes()) // there is nobody left to tell
	return code, true
}

// command is one that is answered here, with the flags that it is answered with.
type command struct {
	words []string
	flags []flag
	run   func(Call) (code int, err error)
}

// flag is read in its plain forms alone: --name, or --name VALUE where it has one.
type flag struct {
	names []string
	value bool
	set   func(c *Call, value string) (ok bool)
}

var everywhere = []flag{
	{[]string{"--json"}, false, func(c *Call, _ string) bool { c.JSON = true; return true }},
	{[]string{"--quiet", "-q"}, false, func(c *Call, _ string) bool { c.Quiet = true; return true }},
	{[]string{"--verbose", "-v"}, false, func(c *Call, _ string) bool { c.Verbose = true; return true }},
	{[]string{"--project"}, true, func(c *Call, v string) bool { c.Project = v; return true }},
}

var commands = []command{
	{words: []string{"session", "path"}, flags: everywhere, run: Call.ContextPath},
	{words: []string{"roster"}, flags: everywhere, run: Call.Roster},
	{words: []string{"detect"}, run: Call.Detect, flags: append([]flag{
		{[]string{"--compat"}, false, func(c *Call, _ string) bool { c.Compat = true; return true }},
		{[]string{"--field"}, true, func(c *Call, v string) bool { c.Field = v; return slices.Contains(Fields(), v) }},
	}, everywhere...)},
	{words: []string{"version"}, run: Call.PrintVersion},
}

// parse finds the command that the arguments name in a plain form; nil if none.
func (p Process) parse() (Call, *command) {
	env := make(map[string]string, len(p.Environ))
	for _, kv := range p.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "AISYNC_CLI_ARGS") || name == "AISYNC_LOG" {
			return Call{}, nil // more arguments; a log to begin
		}
		env[name] = value
	}
	c := Call{Getenv: func(name string) string { return env[name] }, Version: Version}
	c.Runtimes = c.recall
	if len(p.Args) == 0 {
		return c, nil
	}
	args := append(slices.Clip(Links[path.Base(p.Args[0])]), p.Args[1:]...)
	for i := range commands {
		if n := len(commands[i].words); len(args) >= n && slices.Equal(args[:n], commands[i].words) && commands[i].take(&c, args[n:]) {
			return c, &commands[i]
		}
	}
	return c, nil
}

// take reads the flags into c; false where one is not in its plain form.
func (m command) take(c *Call, args []string) bool {
	for len(args) > 0 {
		i := slices.IndexFunc(m.flags, func(f flag) bool { return slices.Contains(f.names, args[0]) })
		if i < 0 {
			return false
		}
		f, value := m.flags[i], ""
		args = args[1:]
		if f.value {
			if len(args) == 0 {
				return false
			}
			value, args = args[0], args[1:]
		}
		if !f.set(c, value) {
			return false
		}
	}
	return true
}
