// Package ensemble is the ledger's command line: the commands, texts, JSON and
// exit codes of pi-ensemble's program, and aisync's additions. Package ledger
// decides; this package prints, waits and polls. Call Run.
package ensemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/schema/spec"
)

// Exit codes.
const (
	exitDone    = 0
	exitError   = 1
	exitUsage   = 2   // unknown command
	exitTimeout = 124 // of a wait, as timeout(1)
)

// Program is one invocation: its words without the program's name, and the parts
// of its process that it may use.
type Program struct {
	Args     []string
	In       io.Reader // nil: stdin is not readable
	Out, Err io.Writer
	Screen   io.Writer // the terminal, for top to draw on; nil: Out
	Getenv   func(string) string
	Dir      string          // the working folder, without links
	Plain    bool            // as `aisync ledger`: reads leave no audit line, and doctor reports findings in its exit code
	Done     <-chan struct{} // closed when the user interrupts a wait
	// Keys begins to read the keys that a person types, one by one, and returns what
	// ends it; nil where stdin is not a terminal.
	Keys func() (keys <-chan byte, restore func())
	// Table and Runtimes find the agents of the project; without a Table none is
	// looked for, and a name is what the words and the environment say.
	Table         process.Table
	Runtimes      func() []spec.Runtime
	Width, Height int                                 // of the terminal; 0: Out is not a terminal
	Page          func(io.Writer, ledger.Story) error // writes the page of export
	// Heap is debug.SetMemoryLimit, or nil. That package begins too late for the
	// short commands, so it is no import of this one.
	Heap func(limit int64) (before int64)
	// Leases returns those of the ledger in root; nil: claims have none.
	Leases func(root string) ledger.Leases
}

// call is an invocation with its ledger.
type call struct {
	Program
	args
	command string
	ledger  *ledger.Ledger
	known   *people
	name    string // of the caller, once it is known
}

// command is one command.
type command struct {
	name    string
	use     string
	doc     string
	grammar flagSpec
	ours    bool // not in the original
	run     func(c *call) (int, error)
}

func commands() []command {
	asJSON := flagSpec{switches: "json"}
	return []command{
		{"init", "[--agent NAME] [--json]", "create the ledger of this folder", flagSpec{switches: "json", values: "agent"}, false, nil},
		{"status", "", "agents, inboxes and claims, as JSON", asJSON, false, (*call).status},
		{"note", "MESSAGE [--from NAME] [--json] [--strict]", "append a fact to the blackboard", flagSpec{"json strict", "from", true}, false, (*call).note},
		{"send", "AGENT MESSAGE|-|--file FILE [--from NAME] [--type TYPE] [--reply-to ID] [--json] [--strict]", "put a message into an inbox, - from stdin; types: " + strings.Join(ledger.Types, ", "), flagSpec{"json strict", "from type reply-to file", true}, false, (*call).send},
		{"ack", "ID [TEXT] [--from NAME] [--body TEXT] [--json]", "record that a message was received", flagSpec{"json", "from body", true}, false, (*call).lifecycle},
		{"done", "ID [TEXT] [--from NAME] [--body TEXT] [--json]", "record that a message is dealt with", flagSpec{"json", "from body", true}, false, (*call).lifecycle},
		{"messages", "[--limit 50] [--open] [--json]", "list messages and their state", flagSpec{"open json", "limit", false}, false, (*call).messages},
		{"inbox", "[--agent NAME] [--no-clear] [--since-last-read] [--clear] [--peek] [--wait[=SECONDS]] [--json]", "read an inbox; --wait waits until it has a message, and exits 124 if none comes", flagSpec{"no-clear since-last-read clear json peek wait", "agent wait", false}, false, (*call).inbox},
		{"board", "[--json]", "read the blackboard", asJSON, false, (*call).board},
		{"claims", "", "who owns what, as JSON", asJSON, false, (*call).claims},
		{"claim", "PATH… [--agent NAME] [--force] [--json] [--strict] [--wait[=SECONDS]] [--glob]", "become the owner of paths and patterns ('src/**') before working on them: all or none", flagSpec{"force json strict glob wait", "agent wait", false}, false, (*call).claim},
		{"release", "PATH… [--agent NAME] [--force] [--json]", "give paths back", flagSpec{"force json", "agent", false}, false, (*call).release},
		{"audit", "[--limit 50] [--json]", "the last events", flagSpec{"json", "limit", false}, false, (*call).audit},
		{"timeline", "[--limit 50] [--json]", "the last events in words", flagSpec{"json", "limit", false}, false, (*call).timeline},
		{"overview", "[--limit 10] [--json]", "what an agent reads first", flagSpec{"json", "limit", false}, false, (*call).overview},
		{"doctor", "[--json]", "look for problems", asJSON, false, (*call).doctor},
		{"stale", "[--days 30] [--json]", "list agents without recent activity", flagSpec{"json", "days", false}, false, (*call).stale},
		{"retire", "AGENT…|--stale DAYS [--by NAME] [--reason TEXT] [--dry-run] [--json]", "archive agents that are gone", flagSpec{"dry-run json", "stale by reason", false}, false, (*call).retire},
		{"watch", "[--agent NAME] [--json]", "print new messages as they come", flagSpec{"json", "agent", false}, true, (*call).watch},
		{"verify", "[--json]", "replay the audit trail and compare it with the files", asJSON, true, (*call).verify},
		{"repair", "[--by NAME] [--json]", "repair what verify finds, after a backup", flagSpec{"json", "by", false}, true, (*call).repair},
		{"compact", "[--days 30] [--by NAME] [--json]", "archive old lines of the audit trail", flagSpec{"json", "days by", false}, true, (*call).compact},
		{"top", "[--interval 2s]", "watch agents, messages and claims on a terminal; q ends it", flagSpec{values: "interval"}, true, (*call).top},
		{"export", "--html FILE", "the whole story as one page", flagSpec{values: "html"}, true, (*call).export},
	}
}

// short are the commands that finish quickly on a few files: without waiting, a
// terminal, a page, or the whole history.
var short = []string{"init", "note", "send", "ack", "done", "inbox", "board", "claim", "claims", "release"}

// Short reports whether the words name a command that finishes at once and needs
// only the words, streams, environment and folder of a Program.
func Short(words []string) bool {
	argv, _, err := cutRoot(words)
	waits := func(word string) bool { return word == "--wait" || strings.HasPrefix(word, "--wait=") }
	return err == nil && len(argv) > 0 && slices.Contains(short, argv[0]) && !slices.ContainsFunc(argv, waits)
}

// Run executes the words and returns the exit code.
func Run(p Program) int {
	code, err := p.run()
	if err != nil {
		fmt.Fprintln(p.Err, err)
	}
	return code
}

func (p Program) run() (int, error) {
	argv, root, err := cutRoot(p.Args)
	if err != nil {
		return exitError, err
	}
	if len(argv) == 0 || argv[0] == "help" || argv[0] == "--help" || argv[0] == "-h" {
		p.usage()
		return exitDone, nil
	}
	for _, cmd := range commands() {
		if cmd.name != argv[0] {
			continue
		}
		if p.Plain && cmd.name == "send" {
			cmd.grammar.values += " to-runtime"
		}
		a, err := cmd.grammar.parse(argv[1:])
		if err != nil {
			return exitError, fmt.Errorf("%s: %w", cmd.name, err)
		}
		start := p.start(root)
		if cmd.name == "init" {
			return p.initialize(start, a)
		}
		l, err := ledger.Find(start)
		if err != nil {
			return exitError, err
		}
		l.Trace = !p.Plain
		if p.Leases != nil {
			l.Leases = p.Leases(l.Root)
		}
		code, err := cmd.run(&call{Program: p, args: a, command: cmd.name, ledger: l})
		if err != nil && code == exitDone {
			code = exitError
		}
		return code, err
	}
	p.usage()
	return exitUsage, nil
}

// Open finds the ledger that the words name, for callers beside the commands,
// and returns it with the words without --root.
func (p Program) Open() (l *ledger.Ledger, rest []string, err error) {
	rest, root, err := cutRoot(p.Args)
	if err != nil {
		return nil, nil, err
	}
	l, err = ledger.Find(p.start(root))
	return l, rest, err
}

// start returns the folder where the search for a ledger begins.
func (p Program) start(root string) string {
	if root == "" {
		root = p.Getenv("PI_ENSEMBLE_ROOT")
	}
	if root == "" || filepath.IsAbs(root) {
		if root == "" {
			return p.Dir
		}
		return filepath.Clean(root)
	}
	return filepath.Join(p.Dir, root)
}

// self returns the name of the calling agent.
func (p Program) self() string {
	for _, name := range []string{p.Getenv("PI_ENSEMBLE_AGENT"), p.Getenv("USER")} {
		if name != "" {
			if ledger.ValidAgent(name) {
				return name
			}
			break
		}
	}
	return "agent"
}

func (p Program) initialize(root string, a args) (int, error) {
	agent := a.valueOr("agent", p.self())
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return exitError, fmt.Errorf("%s is not a folder", root)
	}
	l, rec, err := ledger.Init(root, agent)
	if err != nil {
		return exitError, err
	}
	c := call{Program: p, args: a}
	return c.say(rec, "initialized %s (agent: %s)", filepath.Join(l.Root, ledger.Dir), agent)
}

func (p Program) usage() {
	name := "ensemble"
	if p.Plain {
		name = "aisync ledger"
	}
	fmt.Fprintf(p.Out, "usage: %s [--root PATH] COMMAND\n\n", name)
	for _, c := range commands() {
		if p.Plain {
			c.use = strings.Replace(c.use, "AGENT MESSAGE", "AGENT|all|--to-runtime RUNTIME MESSAGE", 1)
		}
		fmt.Fprintf(p.Out, "  %-9s %s\n            %s\n", c.name, c.use, c.doc)
	}
	fmt.Fprint(p.Out, "\nThe ledger is the nearest .pi-ensemble/ above --root, PI_ENSEMBLE_ROOT or the working folder.\nWho you are: --from or --agent, PI_ENSEMBLE_AGENT, the seat of the agent, or USER.\n")
}

// json prints a value in the original's format.
func (c *call) json(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.Out, b.String())
	return err
}

// say prints the record of a change: as JSON with --json, else in words.
func (c *call) say(rec json.RawMessage, format string, words ...any) (int, error) {
	if c.on["json"] {
		return exitDone, c.json(rec)
	}
	_, err := fmt.Fprintf(c.Out, format+"\n", words...)
	return exitDone, err
}

// warn prints a warning that does not affect the result.
func (c *call) warn(format string, words ...any) {
	fmt.Fprintf(c.Err, "warning: "+format+"\n", words...)
}

var errInterrupted = errors.New("interrupted")
