// Package quick answers frequent questions of agents (roster, detect, session
// path, version) before the heavy packages initialise: CUE, downloads and the
// command line alone take longer to initialise than the answer takes. It writes
// no file and starts nothing. Call Process.Answer.
//
// Go initialises packages in the order of their paths as soon as their imports
// are initialised. So this package and its imports must avoid packages that come
// late, however small: path/filepath (internal/unixpath has its functions), regexp,
// crypto/rand, net/url, runtime/debug. With one of them the answers are still right, but slow;
// TestAnswersComeBeforeTheRestHasBegun then fails.
package quick

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/keeper"
)

func init() {
	// A keeper lives as long as its agent: without the rest of the program it is
	// small.
	if len(os.Args) == 4 && os.Args[1] == keeper.Command {
		os.Exit(keeper.Keep(os.Args[2], os.Args[3]))
	}
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

// Process holds the parts of the process that Answer may use.
type Process struct {
	Args     []string // with the program's name
	Environ  []string
	Out, Err io.Writer
	RoleOf   RoleOf // nil: detect --role is not answered here
}

// Answer executes the command line if it is one of this package's commands in a
// plain form and needs nothing else, and returns the exit code. Otherwise ok is
// false and nothing has been written: the whole program must handle it, errors
// included. Both ways give the same bytes and exit code.
func (p Process) Answer() (code int, ok bool) {
	c, command := p.parse()
	if command == nil {
		return 0, false
	}
	defer func() {
		if recover() != nil { // it will panic again, where it can be reported
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
	_, _ = p.Err.Write(err.Bytes()) // there is no other output for an error
	return code, true
}

// command is a command that is answered here, with the supported flags.
type command struct {
	words  []string
	flags  []flag
	folder bool // a folder may follow
	run    func(Call) (code int, err error)
}

// flag is read only in its plain forms: --name, or --name VALUE.
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
	{words: []string{"session", "path"}, folder: true, flags: everywhere, run: Call.ContextPath},
	{words: []string{"roster"}, folder: true, flags: everywhere, run: Call.Roster},
	{words: []string{"detect"}, run: Call.Detect, flags: append([]flag{
		{[]string{"--compat"}, false, func(c *Call, _ string) bool { c.Compat = true; return true }},
		{[]string{"--field"}, true, func(c *Call, v string) bool { c.Field = v; return slices.Contains(Fields(), v) }},
		{[]string{"--role"}, false, func(c *Call, _ string) bool { c.Role = true; return true }},
	}, everywhere...)},
	{words: []string{"version"}, run: Call.PrintVersion},
}

// parse returns the command that the arguments name in a plain form; nil if
// none.
func (p Process) parse() (Call, *command) {
	env := make(map[string]string, len(p.Environ))
	for _, kv := range p.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "AISYNC_CLI_ARGS") || name == "AISYNC_LOG" {
			return Call{}, nil // more arguments, or a log to begin
		}
		env[name] = value
	}
	c := Call{Getenv: func(name string) string { return env[name] }, Version: Version, RoleOf: p.RoleOf}
	c.Runtimes = c.cachedRuntimes
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

// take reads the flags and the folder into c; false if one is not in its plain
// form.
func (m command) take(c *Call, args []string) bool {
	for len(args) > 0 {
		if m.folder && c.Folder == "" && args[0] != "" && args[0][0] != '-' {
			c.Folder, args = args[0], args[1:]
			continue
		}
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
	return c.Folder == "" || c.Project == ""
}
