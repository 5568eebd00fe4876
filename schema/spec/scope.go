package spec

// Scope is where one runtime reads its parts in one scope. Paths of user scope
// start with ~/, those of project scope are relative to its root. An empty
// field means that the runtime has no such place there.
type Scope struct {
	Dir          string        // the runtime's own folder
	Rules        string        // folder of rule files it loads by itself or by RulesRef
	RulesForm    string        // form of these files: "" as they stand, "paths", "mdc", "instructions"
	RulesRef     *Reference    // how the program is told of Rules, where it must be
	RulesAlso    []string      // folders and instruction files of others from which it loads rules too
	RulesBlock   string        // instruction file that it reads, in which a marked block can hold the rules
	BlockRef     *Reference    // how the program is told of RulesBlock, where it must be
	BlockLimit   *BlockLimit   // how much of RulesBlock it reads; nil: all of it
	RulesIndex   string        // instruction file in which a marked block only names the files in Rules
	RulesKept    string        // folder for rules that only skills refer to; no program loads it
	Skills       string        // folder of skills
	SkillsAlso   []string      // other folders that it loads skills from as well
	Hooks        string        // folder of hook programs
	Settings     *SettingsFile // settings and hooks
	Instructions []string      // instruction files, the seeded one first
	Imports      string        // line ensured in Instructions[0] where AGENTS.md holds something of ours
	ImportsApart *ImportLine   // the same where another program would follow that line and see it all twice
	Follows      []string      // instruction files of others that it reads, with what they import
	MCP          *MCPFile
	Trust        []Reference      // leaves that mark a project as trusted; {dir} is its path
	Commands     *PromptFolder    // prompts with a name
	Agents       *PromptFolder    // subagents
	Events       *EventsFile      // where it is told which hooks to run
	Permissions  *PermissionsFile // where it is told what agents may do
	Ignore       string           // file of patterns that it does not read
	Endpoint     []Reference      // leaves that point the program at a server; {url} {model} {context} {output} {key} {name}
	Always       []Reference      // leaves that a file gets as soon as it holds anything of ours
	Obeys        []Obeyed         // files that steer the program, and what in them is an effect
}

// SettingsFile is a structured file in which only some leaves are ours.
type SettingsFile struct {
	Path   string
	Format string   // "json", "jsonc", "toml", "yaml"
	Sets   []string // pointers of arrays that are sets; * matches one key
	Hooks  string   // pointer of hooks by event, matcher, command; "" if none
}

// MCPFile is where a runtime reads MCP servers.
type MCPFile struct {
	Path    string
	Format  string
	Pointer string // parent object of the servers
	Shape   string // form of one server: "claude", "gemini", "cursor", "opencode", "codex", "copilot", "goose"
	// How it names a variable of the environment, or a file, instead of a
	// secret: NAME stands for it. "": it cannot, or its shape has a way.
	SecretEnv, SecretFile string
}

// PromptFolder is where a program reads Markdown prompts.
type PromptFolder struct {
	Path string
	Form string // see package render
}

// EventsFile is where a program reads hooks, or a module of ours that runs them.
type EventsFile struct {
	Path    string
	Format  string   // "" for a module
	Pointer string   // object of hooks by event
	Shape   string   // "claude", "cursor", "copilot", "opencode-plugin", "pi-extension"
	Also    []string // files of others from which it takes hooks too
	Program string   // how a command calls a program of ours: {path} is its own
	Millis  bool     // timeouts are in milliseconds, else in seconds
	Always  []Reference
}

// PermissionsFile is where a program reads what agents may do.
type PermissionsFile struct {
	Path    string
	Format  string // "" for a file that is all ours
	Pointer string // object of the lists
	Shape   string // "claude", "cursor", "gemini", "opencode", "codex"
}

// ImportLine is a line of an instruction file that brings in another one.
type ImportLine struct {
	Path string
	Line string
}

// BlockLimit says that a program stops reading after some bytes, and which
// setting, a number of bytes, moves that.
type BlockLimit struct {
	Bytes   int64
	Setting Reference // its JSON is not used
}

// Reference is one leaf that an adapter always sets.
type Reference struct {
	Path    string
	Format  string
	Pointer string // JSON pointer; ends with /- for a member of a set
	JSON    []byte
}
