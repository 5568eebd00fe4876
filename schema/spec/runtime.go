package spec

// Runtime is one agent program: what it needs on disk, and how others start
// it, tell that it runs, and reach it. Every field may be empty.
type Runtime struct {
	ID           string
	Pos          Position
	Source       string // the bundle source that brought it along; "" for an entry of a catalog
	DisplayName  string
	Aliases      []string // other ids under which people know it
	Homepage     string
	Command      string            // program looked for in PATH
	Packages     map[string]string // installer ("npm", "pacman") to package name
	Node         string            // least version of Node that its npm package runs on, such as "22.19"
	Network      bool              // needs a network to be of any use
	Local        bool              // has no service of its own: talks to the host's endpoint
	APIs         []string          // "chat", "responses", "messages": an endpoint must have one, the first is preferred; none: no endpoint can be set
	MCPSupport   bool
	Subagents    bool
	HomeVar      string            // variable that moves the program's own user folder away from where User says
	Tools        map[string]string // a bundle's word for a kind of tool to the names of the program's, with | between them
	FirstRequest int64             // tokens that it sends before anybody has said anything: a quarter of the bytes, as measured with the version of catalog/proved.json; 0: not known
	Hooks        string            // "native", "wrapper", "manual": the level of events that HookEvents does not name
	HookEvents   []HookEvent       // sorted by Event
	Detect       Detect
	Session      Session
	Launch       Launch

	Preferred bool    // started where nothing says which; one entry of the embedded catalog has it
	ForModels bool    // started where a model or a service is named in place of a runtime; likewise
	Driver    *Driver // how it drives a generic runtime; nil: it cannot
	Worker    *Worker // how a run starts workers of it where no config says so; nil: it starts none

	Coordination Coordination  // as the program is; package catalog fills in what is empty
	HAL          *Coordination // as the HAL's table has it; nil: not in the table
	Validators   []Validator   // cheapest first
	Trust        []Trust       // what it takes from a project only where its user allowed that
	Loads        *Loads        // what it loads by itself; nil: not known

	User    Scope
	Project Scope
}

// HookEvent says how one program runs the hooks of one event.
type HookEvent struct {
	Event string // as bundles name it: "SessionStart", "PreToolUse", …
	Level string // "native", "wrapper", "manual"
	Name  string // the program's own name of the event; "" is Event
}

// Detect says how to tell that a process is the program, or runs below it.
type Detect struct {
	// Processes are basenames: a process is the program if its command name
	// (comm), argv[0] or executable has one of them; or, where an interpreter
	// (node, bun, python) runs it, the script that it was given, without .js.
	Processes []string
	Generic   []string // as Processes, but other programs have these names too: evidence only beside another
	Scripts   []string // parts of paths of scripts that an interpreter runs, such as "@openai/codex/"
	Markers   []Marker // strongest first
	Files     []string // below a workspace; aisync writes such files itself, so they are the weakest evidence
	HALVar    string   // the variable by which the HAL's own cascade knows the program
	HALFile   string   // the file of a workspace by which it does
}

// Marker is an environment variable that tells what set it.
type Marker struct {
	Name     string
	Value    string // "": any that is not empty
	Prefix   string // of the value; exclusive with Value
	Strength string // "proof": no other program sets it; "strong": its forks may; "weak": others do
}

// Session says how sessions of a program are named and gone on with. Each
// list is arguments after the command; {id} stands for a session's id.
type Session struct {
	IDVars   []string // variables with the running session's id, most specific first
	Start    []string // begins a session under an id of ours
	Resume   []string // goes on with the session of an id
	Continue []string // goes on with the last session
	Fork     []string // begins a copy of the session of an id
}

// Launch says how a program is started. Each list is arguments after the
// command; {prompt} stands for one argument, {model} for a model's name.
type Launch struct {
	Args        []string            // always
	Interactive []string            // opens a session with an instruction; empty: it must be typed
	Headless    []string            // answers one prompt and exits
	JSON        []string            // added to Headless: prints JSON
	Reads       map[string][]string // added where the project has that file, which the program reads only if it is told to
	Autonomous  []string            // asks for no permission; never used unless somebody says so
	Model       []string            // chooses a model
	Ready       string              // what the program prints when it takes input; "": wait for ReadyDelay
	ReadyDelay  int                 // milliseconds
	Environment map[string]string   // always
	Endpoint    map[string]string   // where the host has an endpoint; {url} ends before /v1, {model}, {context} in tokens, {key}
	Sandbox     map[string]string   // where it works in a sandbox of ours, as root perhaps
	Offline     map[string]string   // where there shall be no network
}

// Driver says how a program drives a generic runtime, one that is Local: by a
// file in that runtime's folder, which it is started with. What points it at the
// server is its own: User.Endpoint, and the variables of Launch.Endpoint.
type Driver struct {
	Order       int               // among the programs that can: the first that is installed is taken
	File        string            // its name
	Settings    []Reference       // of that file, beside those of User.Always and User.Endpoint
	Rules       *Reference        // of that file: names the runtime's list of rules, {index}
	Text        string            // the whole file, where it has no settings: as Settings, and {runtime}, {base}
	RulesText   string            // follows Text: names the list of rules, {index}, an absolute path
	Args        []string          // in front of all others; {file} is the physical path of File
	Environment map[string]string // likewise
	Inline      string            // variable that takes User.Endpoint as JSON, and counts more than any file
}

// Worker says how a run starts workers of a program where no config says so.
type Worker struct {
	Name      string // by which the configs of other tools call the program, if not by its id
	Substrate string // "tmux", "process"
	Off       bool   // it starts none until a config says so
}

// Coordination is how work reaches an agent, and when it counts as stalled.
type Coordination struct {
	Events          string // "yes", "partial", "no": hooks by which work reaches it
	Forks           bool   // can branch off a session with all it knows
	SessionVar      string
	Startup         string              // "hook_injection", "startup_fallback", "polling"
	StartupCommands map[string][]string // by role, "*" any other; {role}, {agent}
	GUPP            string              // "hook_injection", "startup_fallback", "prompt_preamble", "polling"
	Stall           int                 // seconds without a sign of life
	Nudge           int                 // seconds between nudges
	NudgeBy         string              // "filesystem", "limited", "none"
}

// Validator is a command of a program that checks what it was given, without a
// network. It fails if it exits with another code than 0, or prints Bad.
type Validator struct {
	Args      []string
	Proves    string   // in words
	Bad       string   // regular expression
	Needs     []string // of the project: it says nothing where none of these is there
	Starts    bool     // it starts MCP servers
	InProject bool     // it says something of the project that it runs in
}

// Trust is one thing that a program takes from a project only where its user
// allowed it. In pointers, values and Do, {dir} stands for the project's folder,
// {name} for an MCP server or subagent, {sha256} for the digest of its text.
type Trust struct {
	Parts   []string    // "hooks", "mcp", "skills", "commands", "subagents", "settings", "everything": what of a project that is
	Records []Reference // where the program keeps the answer: any one of them says yes; none: nobody can tell
	Parents bool        // an answer for a folder above counts where there is no nearer one
	// Variables that say yes, whatever the records say: any one of them with its value.
	Environment map[string]string
	Do          string // what a person runs to allow it
}
