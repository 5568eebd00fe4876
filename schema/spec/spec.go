// Package spec holds the content of specs as plain Go values: no CUE, no
// machine-dependent defaults, no behaviour. Package schema fills it. See Spec.
package spec

import (
	"slices"
	"strconv"
	"strings"
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
	Files   []string // every file read, absolute, sorted
	Digest  string   // sha256:… over the names and bytes of Files
}

// Host describes one machine.
type Host struct {
	Name      string
	Pos       Position
	Dir       string // absolute folder of the spec; relative sources start here
	Builtin   bool   // the embedded default host, used without a spec
	Match     Match
	Runtimes  []RuntimeUse // sorted by ID
	Default   string
	Roots     []string
	Mailboxes []Mailbox // sorted by Machine
	Trust     Flag
	// TrustSources are bundle sources, each at one pin, whose effects need no
	// confirmation.
	TrustSources []TrustedSource
	Packages     []Named
	Bundles      []HostBundle // sorted by Name
	MCP          []MCPServer  // sorted by Name
	Store        Named
	Views        []Named    // programs that get the models in their stores: "huggingface", "ollama", "lmstudio"
	Models       []ModelUse // sorted by ID
	Services     []Service  // sorted by Name
	Endpoint     Named
	Settings     []Settings // sorted by Runtime
	Policy       Policy
	Nightly      *Nightly // nil: no scheduled work
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

// Gitea is a server that gets the reports.
type Gitea struct {
	URL                  string
	Token                Secret
	Comment, PullRequest bool
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
}

// EndpointUse is a host's setting for one runtime and its services.
type EndpointUse struct {
	On      bool
	Service string // "": the host's endpoint
	Pos     Position
}

// Install says how to install a program.
type Install struct {
	Via     string // "npm", "pacman", …
	Version string // "any", ">=1.2", "1.2.3"; "": pinned by the lock
	Node    string // version of Node that npm also installs; "": the machine's
	URL     string // of a release's archive; "": from the catalog
	SHA256  string // of that archive; "": pinned by the lock
	Pos     Position
}

// HostBundle is a bundle source that the host uses in user scope.
type HostBundle struct {
	Name   string
	Source string // as written; see Source in package bundle for its grammar
	Parts  []string
	Scope  string // as in Source
	Pos    Position
}

// MCPServer is one Model Context Protocol server.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	URL     string // of a remote server; exclusive with Command
	Env     []EnvVar
	Headers []EnvVar
	Pos     Position
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
	Fit     string // "ignore": no warning if it does not fit; else ""
	Pos     Position
}

// Service is a long-running local server.
type Service struct {
	Name    string
	Kind    string // "llama-server", "ollama", "llama-swap", "external"
	Model   string
	Models  []string
	Port    int
	Context int
	Scope   string // "user" or "system"
	Listen  string // "loopback" or "lan"
	URL     string
	APIs    []string
	Enabled bool
	Pos     Position

	Install      *Install          // of its program; nil: it is installed
	Backend      string            // "vulkan", "rocm", "cuda", "cpu"; "": the machine's
	Parallel     int               // conversations at once, each with Context tokens; 0 is one
	GPULayers    *int              // nil: all if the machine's graphics are worth it, else none
	ChatTemplate string            // a name, or a file that starts with ~/ or /
	Args         []string          // of llama-server, after aisync's
	Env          map[string]string // in addition to aisync's
}

// maxUnsaid is the planned size of a conversation in tokens if none is set:
// enough for an agent's first question, without filling a machine's memory.
const maxUnsaid = 32768

// ContextOf returns the tokens of one conversation with model m served by s: the
// service's setting, else h's for the model. 0: unknown.
func (s Service) ContextOf(h *Host, id string, m Model) int64 {
	if s.Context > 0 {
		return int64(s.Context)
	}
	for _, use := range h.Models {
		if use.ID == id && use.Context > 0 {
			return use.Context
		}
	}
	if s.Kind == "external" || m.Context == 0 {
		return 0
	}
	return min(maxUnsaid, m.Context)
}

// Settings is a fragment that is merged into one runtime's settings file.
type Settings struct {
	Runtime string
	JSON    []byte // canonical JSON, object keys sorted
	Pos     Position
	Leaves  map[string]Position // JSON pointer to the position of its value
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
	Sources  []Source
	Bundles  []BundleRef
	Teams    []BundleRef
	MCP      []MCPServer
	Agents   Agents
	Settings []Settings

	NoGitHooks bool // githooks: false: none of the bundles' git hooks
}

// Source names the place of bundles: a folder, git::URL?ref=…, or an archive
// URL.
type Source struct {
	Name  string
	URL   string
	Dir   string // folder where a relative URL starts
	Scope string // "applies-to": a rule's line "Applies to:" is its scope; "": its front matter is, or the source's manifest decides
	Pos   Position
}

// BundleRef is source//name, or a bare name that exactly one source has.
type BundleRef struct {
	Source string
	Name   string // "." is only the generic part
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

// Model is one model with its quantizations.
type Model struct {
	ID       string
	Pos      Position
	License  string
	Context  int64 // native context length, tokens
	Params   string
	Homepage string
	Chat     string  // form of its prompts: "chatml"; "": unknown
	Quants   []Quant // smallest first
}

// Quant is one quantization of a model: one file, or the shards in order. With a
// Repo, Name is looked up there on demand: until then there are no Files.
type Quant struct {
	Name     string
	Files    []ModelFile
	Repo     string // Hugging Face repository
	Revision string // of Repo: a branch, tag or commit; "" is main
}

// Size returns the sum of the files' sizes in bytes.
func (q Quant) Size() int64 {
	var n int64
	for _, f := range q.Files {
		n += f.Size
	}
	return n
}

// ModelFile is one artifact. SHA256 is empty where only a hub knows it; it must
// then be pinned before a download.
type ModelFile struct {
	Path     string
	Size     int64 // bytes
	SHA256   string
	Repo     string // Hugging Face repository, if it is from there
	Revision string // of the repository, as requested: a branch, tag or commit; "": main
	Commit   string // of the repository, if pinned
	Sources  []string
}

// InRegistry reports whether f comes from an OCI registry, which knows its
// digest.
func (f ModelFile) InRegistry() bool {
	return slices.ContainsFunc(f.Sources, IsOCI)
}

// IsOCI reports whether a source is an artifact of an OCI registry.
func IsOCI(source string) bool {
	return strings.HasPrefix(source, "oci://") || strings.HasPrefix(source, "oci+http://")
}
