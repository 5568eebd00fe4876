// Package spec holds the content of specs as plain Go values: no CUE, no
// machine-dependent defaults, no behaviour. Package schema fills it. See Spec.
package spec

import (
	"strconv"
	"strings"
	"time"
)

// Position is a place in a file that a person can open. File is relative to the
// working folder where that is shorter.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// String returns file:line:col, the form that editors and CI systems link.
func (p Position) String() string {
	if p.File == "" {
		return ""
	}
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Spec is everything that one invocation loaded: the selected host, the project
// if there is one, and the person's catalog entries.
type Spec struct {
	Host    *Host    // nil when only a project was loaded
	Project *Project // nil outside a project
	Catalog Catalog  // only the person's entries; package catalog has the embedded ones
	Limits  []Limits // the policies of the host's spec, of the bases that it extends, and of the project
	Files   []string // every file read, absolute, sorted
	Digest  string   // sha256:… over the names and bytes of Files
}

// Host describes one machine.
type Host struct {
	Name     string
	Pos      Position
	Dir      string   // absolute folder of the spec; relative sources start here
	Builtin  bool     // the embedded default host, used without a spec
	Bases    []Source // the specs that this one extends, the nearest first
	Match    Match
	GPUGiB   int64        // memory of a graphics unit that cannot be read; 0: unknown
	Runtimes []RuntimeUse // sorted by ID
	Default  string
	// Experimental allows runtimes that are known from documentation alone.
	Experimental bool
	Roots        []string
	Mailboxes    []Mailbox // sorted by Machine
	Trust        Flag
	// TrustSources are bundle sources, each at one pin, whose effects need no
	// confirmation.
	TrustSources []TrustedSource
	Packages     []Named
	Bundles      []HostBundle // sorted by Name
	MCP          []MCPServer  // sorted by Name
	Store        Named
	Mirrors      []Named    // oci://, https:// or peer://; asked before all other servers, by digest
	Views        []Named    // programs that get the models in their stores: "huggingface", "ollama", "lmstudio"
	Models       []ModelUse // sorted by ID
	Services     []Service  // sorted by Name
	Endpoint     Named
	Settings     []Settings      // sorted by Runtime
	Context      []ContextBudget // sorted by Runtime
	Policy       Policy
	Nightly      *Nightly  // nil: no scheduled work
	Converge     *Converge // nil: nothing is applied unattended
	TaskNetwork  Flag      // tasks that ask for the network get it
	TaskShow     []Named   // paths that commands of tasks may read: ~/PATH or /PATH
	TaskTrees    int       // how many work trees may be kept; 0: the default
}

// Converge has the host applied again and again, as far as no decision is needed.
type Converge struct {
	Every time.Duration // whole minutes
	Pos   Position
}

// Nightly schedules work on the queues of some repositories.
type Nightly struct {
	At, Until string  // HH:MM, local time; no Until: until the queues are empty
	Repos     []Named // ~/PATH or /PATH
	Max       int     // tasks in one night; 0: no limit
	Executor  string  // "": the one that fits each task
	Push      string  // remote for branches; "": no push
	Gitea     *Gitea
	Pos       Position
}

// KeptTrees returns how many work trees of tasks and runs may be kept, and
// whether the spec says so; h may be nil.
func (h *Host) KeptTrees() (limit int, asked bool) {
	if h != nil && h.TaskTrees > 0 {
		return h.TaskTrees, true
	}
	return 50, false
}

// Gitea is a server that gets the reports.
type Gitea struct {
	URL                  string
	Token                Secret
	Comment, PullRequest bool
	Repos                map[string]string // OWNER/REPO by a folder of Nightly.Repos, where the remote's URL does not say it
}

// Flag is a boolean and its position.
type Flag struct {
	On  bool
	Pos Position
}

// TrustedSource is a bundle source at one pin.
type TrustedSource struct {
	Source string // as in sources
	Pin    string // a commit or the digest of a tree, as in aisync.lock
	Pos    Position
}

// Named is a string and its position.
type Named struct {
	Value string
	Pos   Position
}

// Mailbox is the folder for messages to the agents of a machine.
type Mailbox struct {
	Machine string
	Place   string // ~/PATH, /PATH or ssh://[user@]host[:port]/PATH
	Pos     Position
}

// Match selects a host: every field that is set must match.
type Match struct {
	Hostname  string
	CPU       string // regular expression
	Product   string // regular expression
	MemoryGiB Bound
}

// Bound is a comparison with a number of GiB, such as >=60. A zero Bound always
// holds.
type Bound struct {
	Op  string // "", "==", "<", "<=", ">", ">="
	GiB float64
}

// RuntimeUse is one runtime of a host.
type RuntimeUse struct {
	ID      string
	Pos     Position
	Install *Install // nil: only its adapter, if the program is installed
	CLI     string   // the program that drives a generic runtime
	// Endpoint says whether it uses a service of the host; nil: a generic local
	// runtime uses the host's endpoint, a vendor's program its vendor's service.
	Endpoint *EndpointUse
	Args     []Named  // of every launch by aisync
	Env      []EnvVar // likewise, sorted by Name
}

// EndpointUse is a host's setting for one runtime and its services.
type EndpointUse struct {
	On      bool
	Service string // "": the host's endpoint
	Pos     Position
}

// Install says how to install a program.
type Install struct {
	Via     string   // "npm", "pacman", …; of several Ways the first, until packages.Choose knows the machine
	Ways    []string // the installers to try in order; nil: Via alone
	Package string   // of an MCP server; a runtime's stands in the catalog
	Version string   // "any", ">=1.2", "1.2.3"; "": pinned by the lock
	Node    string   // version of Node that npm also installs; "": the machine's
	URL     string   // of a release's archive; "": from the catalog
	SHA256  string   // of that archive; "": pinned by the lock
	Pos     Position
}

// Installers returns the installers to try, in order.
func (in *Install) Installers() []string {
	if in.Ways == nil && in.Via != "" {
		return []string{in.Via}
	}
	return in.Ways
}

// HostBundle is a bundle source that the host uses in user scope.
type HostBundle struct {
	Name   string
	Source string // as in Source.URL
	From   string // as in Source
	Parts  []string
	Scope  string // as in Source
	Pick   *Pick  // as in Source
	Dir    string // folder where a relative Source starts, if a base names it; "": the host's
	Pos    Position
}

// MCPServer is one Model Context Protocol server.
type MCPServer struct {
	Name    string
	From    string // the server of a registry, with its version, that it was made of; "" if by hand
	SSE     bool   // speaks server-sent events, the older protocol of remote servers
	Command string
	Args    []string
	Cwd     string // folder in which it starts; "": the project's
	URL     string // of a remote server; exclusive with Command
	Env     []EnvVar
	Headers []EnvVar
	Install *Install // of the package whose program Command is; nil: Command is in PATH

	Start, Call time.Duration // how long it may take to start, and for a call; 0: as the program says
	Disabled    bool
	Allow, Deny []string // tools; a nil Allow is all
	ClientID    string   // registered with its OAuth server
	Scopes      []string // asked of its OAuth server

	Runtimes []string // that get it; none: all
	Pos      Position
}

// EnvVar is a name with either a value or a secret reference.
type EnvVar struct {
	Name   string
	Value  string
	Secret *Secret
	Pos    Position
}

// Secret names the source of a value; the value is never in a spec.
type Secret struct {
	Env  string
	File string
}

// ModelUse is one model of a host.
type ModelUse struct {
	ID      string
	Quant   string // "auto", a quant's name, or "" for the only one
	Context int64  // tokens for which to plan memory if no service sets it; 0: unset
	Prefer  string // of quant "auto": "speed", "quality"; "": by the machine
	Fit     string // "ignore": no warning if it does not fit; else ""
	Pos     Position

	// Models that a llama-server loads beside it: what shows it pictures, and what
	// guesses its next tokens. "" is none.
	Projector, Draft string
}

// Service is a long-running local server.
type Service struct {
	Name    string
	Kind    string // "llama-server", "ollama", "llama-swap", "external"
	Model   string
	Models  []string
	Roles   map[string]string // role, "main" or one of Roles, to a model
	Loaded  int               // models of a llama-server in memory at once; 0 is one
	Port    int
	Context int
	Scope   string // "user" or "system"
	Listen  string // "loopback" or "lan"
	URL     string
	APIs    []string
	Enabled bool
	Pos     Position

	Install      *Install          // of its program; nil: it is installed
	Backend      string            // "vulkan", "rocm", "cuda", "sycl", "metal", "cpu"; "": the machine's
	Parallel     int               // conversations at once, each with Context tokens; 0 is one
	GPULayers    *int              // nil: as many as fit
	ChatTemplate string            // a name, or a file that starts with ~/ or /
	Args         []string          // of llama-server, after aisync's
	Env          map[string]string // in addition to aisync's

	Key     *Secret  // nil: aisync makes that of a server that it starts; an external one has none
	NoKey   bool     // a server that aisync starts has none
	Headers []EnvVar // of requests to an external server
}

// Settings is a fragment that is merged into one runtime's settings file.
type Settings struct {
	Runtime string
	JSON    []byte // canonical JSON, object keys sorted
	Pos     Position
	Leaves  map[string]Position // JSON pointer to the position of its value
}

// At is the line of a pointer or of a key that begins with one (see merge.SetKey), else
// of the nearest pointer above it.
func (s Settings) At(key string) Position {
	for ptr, _, _ := strings.Cut(key, "#"); ptr != ""; ptr = ptr[:strings.LastIndexByte(ptr, '/')] {
		if pos, ok := s.Leaves[ptr]; ok {
			return pos
		}
	}
	return s.Pos
}

// Policy is the strictness of the host.
type Policy struct {
	Drift string // "report" or "enforce"
	Pos   Position
}

// Project is the content of a project's spec; nothing in it depends on a
// machine.
type Project struct {
	Name     string
	Pos      Position
	Dir      string // absolute root of the project
	File     string // its aisync.cue
	Runtimes []Named
	Default  string
	// Experimental allows runtimes that are known from documentation alone.
	Experimental bool
	Sources      []Source
	Bundles      []BundleRef
	Teams        []BundleRef
	Places       []Place   // sorted by Folder
	Nested       []Nesting // where nested specs may lie
	MCP          []MCPServer
	Agents       Agents
	Settings     []Settings
	Context      []ContextBudget // sorted by Runtime
	Local        *Project        // the person's own layer, from aisync.local.cue beside File: no file that git carries depends on it; nil: none

	NoGitHooks bool // githooks: false: none of the bundles' git hooks
}

// ContextBudget is the most that a runtime shall load by itself at its start.
type ContextBudget struct {
	Runtime string
	Max     int    // tokens, estimated as aisync context does
	Text    string // as written: "20k"
	Pos     Position
}

// Source names the place of bundles: a folder, git::URL?ref=…, or an archive
// URL.
type Source struct {
	Name  string
	URL   string // a folder as written, else as package address spells it
	From  string // PLUGIN@MARKETPLACE, that it was made of; "" if by hand
	Dir   string // folder where a relative URL starts
	Scope string // "applies-to": a rule's line "Applies to:" is its scope; "": its front matter is, or the source's manifest decides
	Pick  *Pick  // what is taken of it; nil: all
	Place string // folder of the nested spec that names it, for its own bundles; "": the project's
	Base  bool   // it holds a spec that the host's extends, and all of its files count
	Pos   Position
}

// BundleRef is source//name, or a bare name that exactly one source has.
type BundleRef struct {
	Source string
	Name   string // "." is only the generic part
	Place  string // folder of the nested spec that asks for it, whose sources it may name too
	Pos    Position
}

// Agents selects the coordination systems of a project.
type Agents struct {
	Sessions Flag
	Ledger   Flag
	Tasks    Flag
	Queues   []string
	Runs     Flag
	Track    bool // true: git tracks the agents' files there
	Pos      Position
}

// Catalog is data about runtimes and models.
type Catalog struct {
	Runtimes []Runtime // sorted by ID
	Models   []Model   // sorted by ID
}
