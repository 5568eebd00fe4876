package spec

// Scope says where one runtime reads its parts in one scope. Paths of user scope
// start with ~/, those of project scope are relative to its root. An empty field
// means that the runtime has no such place.
type Scope struct {
	Dir          string        // the runtime's folder
	Rules        string        // folder of rule files that it loads by default or through RulesRef
	RulesForm    string        // form of these files: "" unchanged, "paths", "mdc", "instructions"
	RulesRef     *Reference    // the setting that names Rules, if required
	RulesAlso    []string      // foreign folders and instruction files from which it also loads rules
	RulesBlock   string        // instruction file that it reads, in which a marked block can hold the rules
	BlockRef     *Reference    // the setting that names RulesBlock, if required
	BlockLimit   *BlockLimit   // how much of RulesBlock it reads; nil: all
	RulesKept    string        // folder for rules that skills refer to, or lines that say when to read them; no program loads it
	Skills       string        // folder of skills
	SkillsAlso   []string      // other folders from which it also loads skills
	Hooks        string        // folder of hook programs
	Settings     *SettingsFile // settings and hooks
	SettingsOwn  *SettingsFile // settings of one person in a project, which git does not carry; nil: none
	Instructions []string      // instruction files, the seeded one first
	Imports      string        // line ensured in Instructions[0] if AGENTS.md holds content of ours
	ImportsApart *FileLine     // another file, for a link or such a line, where the first one holds a person's text or another program would load the file twice
	Follows      []string      // foreign instruction files that it reads, with their imports
	MCP          *MCPFile
	MCPOwn       *MCPFile         // servers of one person in a project, which git does not carry; {dir} is the project's path; nil: none
	Trust        []Reference      // leaves that mark a project as trusted; {dir} is its path
	Commands     *PromptFolder    // prompts with a name
	Agents       *PromptFolder    // subagents
	Events       *EventsFile      // where its hooks are configured
	Permissions  *PermissionsFile // where its permissions are configured
	Ignore       string           // file with patterns of files that it does not read
	Endpoint     []Reference      // leaves that point the program at a server, filled by adapter/start
	Always       []Reference      // leaves that a file gets as soon as it has content of ours
	Lines        []FileLine       // lines that files get as soon as Dir holds anything of ours
	Obeys        []Obeyed         // files that configure the program, and what in them is an effect
}

// SettingsFile is a structured file of which aisync owns some leaves.
type SettingsFile struct {
	Path   string
	Format string   // "json", "jsonc", "toml", "yaml"
	Sets   []string // pointers of arrays that are sets; * matches one key
	Hooks  string   // pointer of hooks by event, matcher, command; "" if none
	Also   []string // its other names, which the program reads after Path: where they differ, the last that exists counts
}

// MCPFile says where a runtime reads MCP servers.
type MCPFile struct {
	Path    string
	Format  string
	Pointer string // parent object of the servers, or with /- the list of them
	Shape   string // form of one server: "claude", "gemini", "cursor", "opencode", "codex", "copilot", "goose", "continue", "pi"
	// How it refers to a variable of the environment, or a file, instead of a
	// secret: NAME stands for it. "": it cannot, or its shape has a way.
	SecretEnv, SecretFile string
	Workspace             string            // how it names the folder of the project; "": by .
	Fields                map[string]string // its fields by the names of #MCPFields; nested ones as a/b
}

// PromptFolder says where a program reads Markdown prompts, and which words it
// has in their front matter.
type PromptFolder struct {
	Path   string
	Form   string            // see package render
	Fields map[string]string // its fields beside name, description, model and those of Limits, by Claude Code's names for them
	Models map[string]string // its names of models, by a part of the name elsewhere; no other name is translated
	Words  string            // the program whose words these are, if not this one's
	Limits *ToolLimits       // how a subagent is kept from tools; nil: it cannot be
}

// ToolLimits says how the front matter of a subagent keeps it from tools. A
// program has one of Only, Deny and ReadOnly, or the first two.
type ToolLimits struct {
	Tools         map[string]string // its names, separated by "|", of a bundle's tools and of "mcp", a tool of a server, and "mcp*", all of them
	Also          map[string]string // names of a bundle's tools, and of "other" ones, that aisync reads and does not write, separated by "|"; SET/* is each tool of a set
	Only          string            // field with the list of all tools that the subagent has
	Deny          string            // field with the list, or opencode's object, of tools that it does not have
	ReadOnly      string            // field that keeps it from editing files, and from nothing else for certain
	ReadOnlyValue string
}

// EventsFile says where a program reads hooks, or a module of ours that runs
// them.
type EventsFile struct {
	Path    string
	Format  string   // "" for a module
	Pointer string   // object of hooks by event
	Shape   string   // "claude", "cursor", "copilot", "opencode-plugin", "pi-extension", "cline-plugin"
	Also    []string // foreign files from which it also takes hooks
	Program string   // how a command calls a program of ours: {path} is its path
	Millis  bool     // timeouts are in milliseconds, else in seconds
	Refuses []string // texts with which it runs no command
	Starts  string   // as what it tells SessionStart of a new session; "": "startup"
	Always  []Reference
}

// PermissionsFile says where a program reads permissions.
type PermissionsFile struct {
	Path    string
	Format  string // "" for a file that is entirely ours
	Pointer string // object of the lists
	Shape   string // "claude", "cursor", "gemini", "opencode", "codex", "continue"
}

// FileLine is a line of a file.
type FileLine struct {
	Path string
	Line string
}

// BlockLimit is the number of bytes after which a program stops reading, and the
// setting that changes it.
type BlockLimit struct {
	Bytes   int64
	Setting Reference // its JSON is unused
}

// Reference is one leaf that an adapter always sets.
type Reference struct {
	Path    string
	Format  string
	Pointer string // JSON pointer; ends with /- for a member of a set
	JSON    []byte
	// Of an endpoint: how the program refers to a variable of the environment, or to a
	// file, instead of a secret: NAME stands for it, 'NAME' for it as a shell's word.
	// "": it cannot.
	SecretEnv, SecretFile string
	Theirs                []string // of an endpoint: members of the value that the program goes on writing
}
