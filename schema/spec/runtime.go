package spec

import (
	"slices"
	"strings"
)

// Runtime is one agent program: what it needs on disk, and how to start, detect
// and reach it. Every field may be empty.
type Runtime struct {
	ID           string
	Pos          Position
	Source       string // the bundle source that provides it; "" for an entry of a catalog
	Extends      string // the entry at the root of those that it extends; "": none
	DisplayName  string
	Aliases      []string // other known ids
	Homepage     string
	Command      string            // program name in PATH
	Packages     map[string]string // installer ("npm", "pacman") to package name
	Node         string            // minimum version of Node for its npm package, such as "22.19"
	Network      bool              // useless without a network
	Local        bool              // has no service: uses the host's endpoint
	Experimental bool              // known from documentation alone: a spec that names it says so
	APIs         []string          // "chat", "responses", "messages": an endpoint must have one, the first is preferred; none: it cannot use an endpoint
	MCPSupport   bool
	Subagents    bool
	HomeVar      string            // variable that moves the program's user folder away from User
	Tools        map[string]string // a bundle's word for a kind of tool to the program's names, separated by |
	FirstRequest int64             // tokens of its first request without any input: a quarter of the bytes, as measured with the version of catalog/proved.json; 0: unknown
	Hooks        string            // "native", "wrapper", "manual": the level of events missing in HookEvents
	HookEvents   []HookEvent       // sorted by Event
	Detect       Detect
	Session      Session
	Launch       Launch

	Preferred bool    // the default runtime; one entry of the embedded catalog has it
	ForModels bool    // the default where a model or a service is named instead of a runtime; likewise
	Driver    *Driver // how it drives a generic runtime; nil: it cannot
	Worker    *Worker // how a run starts its workers without a config; nil: it starts none

	Coordination Coordination  // as the program is; package catalog fills empty fields
	HAL          *Coordination // from the HAL's table; nil: not in it
	Validators   []Validator   // cheapest first
	Trust        []Trust       // what it loads from a project only after its user's approval
	Loads        *Loads        // what it loads by itself; nil: unknown
	Parts        []PartFacts   // sorted by Part
	Variants     []Variant     // package variant chooses

	User    Scope
	Project Scope
}

// ProgramID returns the id by which what aisync knows beside entries, such as the form
// of hooks, is looked up: that of the extended entry.
func (r *Runtime) ProgramID() string {
	if r.Extends != "" {
		return r.Extends
	}
	return r.ID
}

// PartFacts is what is known of one part of a program beside where it lies.
type PartFacts struct {
	Part     string // "all", or a part's name
	Versions string // of the program that take it as aisync writes it, such as ">=1.18 <2"; "": all
	Says     string // what another version does
	Evidence string // how its form is known unless a test has seen it: "parsed", "documented"; "": by the homepage
	Version  string // of the program that parsed it
	Source   string // the address of a page
	Date     string // when that was read
}

// Variant is what some versions of a program take in another way than its entry says.
type Variant struct {
	Versions string   // a range such as ">=1.2 <2"
	Without  []string // fields that they have not, such as "project.mcp"
	Change   Runtime  // its fields that are not empty count in place of the entry's; those of user, project, launch and so on one by one
}

// HookEvent says how a program runs the hooks of one event.
type HookEvent struct {
	Event string // the bundles' name: "SessionStart", "PreToolUse", …
	Level string // "native", "wrapper", "manual"
	Name  string // the program's name of the event; "" is Event
}

// Detect says how to recognise a process of the program, or one below it.
type Detect struct {
	// Processes are base names: a process is the program if its command name
	// (comm), argv[0] or executable has one of them; or, where an interpreter
	// (node, bun, python) runs it, the script's name without .js.
	Processes []string
	Generic   []string // like Processes, but shared with other programs: evidence only together with another
	Scripts   []string // parts of script paths under an interpreter, such as "@openai/codex/"
	Markers   []Marker // strongest first
	Files     []string // below a workspace; the weakest evidence, because aisync writes such files
	HALVar    string   // the program's variable in the HAL's cascade
	HALFile   string   // the program's workspace file in the HAL's cascade
}

// Marker is an environment variable that reveals its setter.
type Marker struct {
	Name     string
	Value    string // "": any non-empty value
	Prefix   string // of the value; exclusive with Value
	Strength string // "proof": only this program sets it; "strong": its forks may; "weak": others do
}

// Session says how to name and continue sessions of a program. Each list is
// arguments after the command; {id} stands for a session's id.
type Session struct {
	IDVars   []string // variables with the running session's id, most specific first
	Start    []string // begins a session under an id that we choose
	Resume   []string // continues the session of an id
	Continue []string // continues the last session
	Fork     []string // begins a copy of the session of an id
	// Transcripts matches the files of its sessions, JSON a line: ~/…; {dashes} is
	// the project's path with - for all but letters and digits. "": not known.
	Transcripts string
}

// Launch says how to start a program. Each list is arguments after the command;
// {prompt} stands for one argument, {model} for a model's name.
type Launch struct {
	Args        []string            // always
	Interactive []string            // opens a session with an instruction; empty: it must be typed
	Headless    []string            // answers one prompt and exits
	JSON        []string            // added to Headless: prints JSON
	Reads       map[string][]string // added if the project has that file, which the program reads only when told to
	Autonomous  []string            // asks for no permission; for a sandbox, or a separate work tree of a run
	Loosens     []string            // "--flag", "--flag VALUE", "NAME" or "NAME=VALUE", * at the end: any rest: allows it more without asking, like Autonomous
	Model       []string            // selects a model
	Ready       string              // its prompt for input; "": wait for ReadyDelay
	ReadyDelay  int                 // milliseconds
	Dialogs     []string            // words of the questions that it may ask before it takes input
	Trusted     map[string]string   // in a work tree of a project that the person trusts: as if the work tree were trusted
	Environment map[string]string   // always
	Endpoint    map[string]string   // if the host has an endpoint, filled by adapter/start
	Sandbox     map[string]string   // in our sandbox, perhaps as root
	Offline     map[string]string   // without a network
	Hosts       []string            // of its maker: NAME or NAME:PORT (443), one of which it must reach
	Elsewhere   []string            // variables with which it talks to another host
}

// Line returns the arguments with which the program takes prompt in form, which
// is Interactive or Headless; own are further ones of this start. A free program
// asks for no permission. Words that begin the form come before the flags of a
// free program: codex exec --flag prompt. Where own names one of the flags of a free
// program, own decides.
func (l *Launch) Line(form, own []string, prompt string, free bool) []string {
	words := 0
	for words < len(form) && !strings.HasPrefix(form[words], "-") && form[words] != "{prompt}" {
		words++
	}
	out := slices.Concat(l.Args, own, form[:words])
	if free && !slices.ContainsFunc(l.Autonomous, func(a string) bool { return slices.Contains(form, a) || slices.Contains(flagWords(own), a) }) {
		out = append(out, l.Autonomous...)
	}
	for _, arg := range form[words:] {
		out = append(out, strings.ReplaceAll(arg, "{prompt}", prompt))
	}
	return out
}

// Driver says how a program drives a generic runtime, one that is Local: by a
// file in that runtime's folder, with which it starts. User.Endpoint and the
// variables of Launch.Endpoint point it at the server.
type Driver struct {
	Order       int               // of preference: the first installed driver is used
	File        string            // its name
	Settings    []Reference       // in that file, beside those of User.Always and User.Endpoint
	Rules       *Reference        // in that file: names the runtime's list of rules, {index}
	Text        string            // the whole file, if it has no settings: like Settings, and {runtime}, {base}
	RulesText   string            // follows Text: names the list of rules, {index}, an absolute path
	Args        []string          // before all others; {file} is the physical path of File
	Environment map[string]string // likewise
	Inline      string            // variable that takes User.Endpoint as JSON, and overrides files
}

// Worker says how a run starts workers of a program without a config.
type Worker struct {
	Name      string // the program's name in configs of other tools, if not its id
	Substrate string // "tmux", "process"
	Off       bool   // it starts none unless a config says so
}

// Coordination says how work reaches an agent, and when the agent counts as
// stalled.
type Coordination struct {
	Events          string // "yes", "partial", "no": hooks that deliver work
	Forks           bool   // can branch a session with its context
	SessionVar      string
	Startup         string              // "hook_injection", "startup_fallback", "polling"
	StartupCommands map[string][]string // by role, "*" for others; {role}, {agent}
	GUPP            string              // "hook_injection", "startup_fallback", "prompt_preamble", "polling"
	Stall           int                 // seconds without activity
	Nudge           int                 // seconds between nudges
	NudgeBy         string              // "filesystem", "limited", "none"
}

// Validator is a command of a program that checks its configuration without a
// network. It fails if its exit code is not 0, or it prints Bad.
type Validator struct {
	Args      []string
	Proves    string   // in words
	Bad       string   // regular expression
	Needs     []string // files of the project; without any of them it proves nothing
	Starts    bool     // it starts MCP servers
	InProject bool     // checks the project in which it runs
}

// Trust is one thing that a program loads from a project only after its user's
// approval. In pointers, values and Do, {dir} stands for the project's folder,
// {name} for an MCP server or subagent, {sha256} for the digest of its text.
type Trust struct {
	Parts   []string    // "hooks", "mcp", "skills", "commands", "subagents", "settings", "everything": the affected parts of a project
	Records []Reference // where the program stores the answer: any one of them means yes; none: unknown
	Form    string      // "codex-hooks": Records are about each hook of a file, whose key is {name}; "": see Parts
	Parents bool        // an answer for a parent folder counts if there is no nearer one
	// Variables that mean yes without a record, any one of them with its value.
	Environment map[string]string
	Do          string // what a person runs to allow it
}
