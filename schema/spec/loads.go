package spec

// Loads is what a program loads by itself, as measured or documented: which
// files, in which order, and what ends that. Package adapter/loads interprets
// it. Paths start with ~/ (user), or are relative to each folder of their Walk.
// Source says where a fact is known from: trees of loads.json, an address, or
// "measured".
type Loads struct {
	Texts       []LoadedText  // in the order in which the program takes them
	Parts       []LoadedPart  // at most one of a kind
	Imports     *TextImports  // nil: it follows none
	Once        []LoadedOnce  // what it takes once; none: it takes everything as often as it finds it
	Limit       *TextLimit    // nil: none was seen
	Rootless    string        // "up": outside of git its walks to the top reach up to /; "": they end at start
	Excludes    []LoadSetting // lists of patterns of absolute paths that it passes over
	Environment []LoadSetting // objects of variables that count beside those of the process
	Moves       []Move
	Switches    []LoadSwitch
}

// The folders that a program looks into.
const (
	WalkUser    = "user"    // the person's own, by paths with ~/
	WalkStart   = "start"   // where it is started
	WalkTop     = "top"     // the top of the project, or start where there is none
	WalkEnds    = "ends"    // top and start
	WalkProject = "project" // from the top down to start
	WalkParent  = "parent"  // from the folder above the top down to start
	WalkUp      = "up"      // from / down to start
	WalkBelow   = "below"   // below start, down to a file that it has read; looked into then
)

// LoadedText is a place of instruction files or rules.
type LoadedText struct {
	Name          string      // that other parts of Loads know it by
	Kind          string      // "note", "rule"
	Files         []string    // path patterns, the preferred one first: "*" within a segment, "**" any number of segments
	Named         *NamedFiles // settings that name more files, or others
	Walk          string
	Upward        bool       // start first
	Pick          string     // "": every file; "folder": the first in each folder; "name": all files of the first name that is in any folder
	Unless        []string   // names of texts: it reads none of these where there is one of those that says anything
	UnlessBeside  []string   // likewise, in the same folder
	Scope         *RuleScope // nil: always, whatever front matter says
	Imports       bool       // it follows lines @path
	Limited       bool       // counts against Limit
	DropsComments bool       // HTML comments do not reach the model; a text of nothing else is empty
	RealFiles     bool       // it passes links over
	Source        string
}

// NamedFiles is settings that hold names or patterns of files, one text or a list.
type NamedFiles struct {
	Settings []LoadSetting
	All      bool // every setting counts; else the first that says anything
	Replaces bool // in place of LoadedText.Files, which stand where no setting says anything
}

// LoadSetting is a setting that decides what a program loads. A path without ~/
// is relative to the folders of Walk, the nearest to the start first.
type LoadSetting struct {
	Path, Format, Pointer string
	Walk                  string // "" is WalkTop
	Trusted               bool   // it counts only where the project is trusted
}

// RuleScope says when a rule is loaded, by its front matter. A rule without the
// fields is loaded at the start.
type RuleScope struct {
	Field     string   // its patterns: loaded once a path that matches was read
	Always    string   // field that is true in a rule for all; a rule with other front matter is not one
	OnRequest string   // field of words by which the model asks for a rule without patterns
	Whole     []string // patterns that make a rule one that is loaded at the start
	Asked     []string // patterns that name no file: a rule with one waits for the model to ask for it
	Globs     Globs
}

// Globs is a dialect of patterns.
type Globs struct {
	Syntax  string // "gitignore": as lines of a .gitignore; "path": a pattern matches the whole path
	AnyName bool   // of "path": a pattern without a slash matches names in every folder
	Dot     bool   // of "path": a leading ./ counts for nothing
	Commas  bool   // a text is a list with commas; else it is one pattern
}

// TextImports is how a program follows lines @path in a text.
type TextImports struct {
	Depth        int    // files in a chain below the first; 0: no limit was seen
	Within       string // "start", "project": it takes nothing from outside that folder; "": from everywhere
	UserAnywhere bool   // texts of the user's may import from everywhere
	PerLine      bool   // a text that two lines import comes twice
	Approval     []Reference
	Source       string
}

// LoadedOnce is texts of which a program takes the first.
type LoadedOnce struct {
	By     string   // "path", "file" (that links lead to), "content"
	Among  []string // "note", "rule", "import"
	Source string
}

// TextLimit is how many bytes of its Limited texts a program takes, all in all.
type TextLimit struct {
	Bytes    int64
	Settings []LoadSetting // numbers that count in its place, the first that is there
	Source   string
}

// LoadedPart is how a program finds what Scope names: Skills and SkillsAlso,
// Commands, Agents, MCP, Events.
type LoadedPart struct {
	Kind    string   // "skills", "commands", "subagents", "mcp", "hooks"
	Walk    string   // of the project's places; the user's always count
	Also    []string // more places of the project, files of the same form
	AtStart []string // places of the project that count in the folder of the start only
	Below   bool     // places in folders below the start count once a file there was read
	Same    string   // of several of a name: "project" or "user" counts, the first place first; "": each
	Deep    bool     // it looks into folders of folders
	Needs   []string // fields of front matter without which it passes a skill over
	Source  string
}

// Move is a variable that moves a path of the user's.
type Move struct {
	Variable string
	From     string
	To       string // "" is {value}, which stands for the variable's value
	Source   string
}

// LoadSwitch ends the reading of texts or parts, or lifts what holds them back.
type LoadSwitch struct {
	Variable string       // is set and not empty, "0" or "false"; "": not asked
	Setting  *LoadSetting // has the value; nil: not asked
	JSON     []byte
	Without  string   // a variable that makes it count for nothing
	Off      []string // names of texts and kinds of parts
	Lifts    []string // names of texts, whose Unless counts no more
	Drops    []string // patterns of texts and places of parts, as they stand there
	Why      string   // a clause, such as "instructionFiles is claude-md"
	Source   string
}
