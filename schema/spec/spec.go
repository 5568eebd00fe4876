// Package spec holds what a person wrote, as plain Go values: no CUE, no
// defaults that depend on a machine, no behaviour. Package schema fills it.
// Start reading at Spec.
package spec

import (
	"slices"
	"strconv"
	"strings"
)

// Position is a place in a file that a person can open. File is as the person
// named it (relative to where they stand, where that is shorter).
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// String renders file:line:col, the form editors and CI systems link.
func (p Position) String() string {
	if p.File == "" {
		return ""
	}
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Spec is everything that one invocation loaded: the selected host, the
// project if there is one, and the catalog with the person's own entries.
type Spec struct {
	Host    *Host    // nil when only a project was loaded
	Project *Project // nil outside a project
	Catalog Catalog  // only the person's own entries; package catalog has the embedded ones
	Files   []string // every file that was read, absolute, sorted
	Digest  string   // sha256:… over the names and bytes of Files
}

// Host describes one machine.
type Host struct {
	Name      string
	Pos       Position
	Dir       string // absolute folder of the spec; relative sources start here
	Builtin   bool   // the embedded default host, used where there is no spec
	Match     Match
	Runtimes  []RuntimeUse // sorted by ID
	Default   string
	Roots     []string
	Mailboxes []Mailbox // sorted by Machine
	Trust     Flag
	// TrustSources are bundle sources whose effects need no question, each at one pin.
	TrustSources []TrustedSource
	Packages     []Named
	Bundles      []HostBundle // sorted by Name
	MCP          []MCPServer  // sorted by Name
	Store        Named
	Views        []Named    // programs that see the models as if they had fetched them: "huggingface", "ollama", "lmstudio"
	Models       []ModelUse // sorted by ID
	Services     []Service  // sorted by Name
	Endpoint     Named
	Settings     []Settings // sorted by Runtime
	Policy       Policy
	Nightly      *Nightly // nil: nothing is worked by itself
}

// Nightly is when the queues of some repositories are worked by themselves.
type Nightly struct {
	At, Until string  // HH:MM, local time; no Until: when the queues are empty
	Repos     []Named // ~/PATH or /PATH
	Max       int     // tasks in one night; 0: as many as there are
	Executor  string  // "": whoever fits each task
	Push      string  // remote that branches go to; "": nowhere
	Gitea     *Gitea
	Pos       Position
}

// Gitea is a server that reports go back to.
type Gitea struct {
	URL                  string
	Token                Secret
	Comment, PullRequest bool
}

// Flag is a boolean with the place that set it.
type Flag struct {
	On  bool
	Pos Position
}

// TrustedSource is a bundle source at one pin.
type TrustedSource struct {
	Source string // as sources name it
	Pin    string // a commit or the digest of a tree, as aisync.lock has it
	Pos    Position
}

// Named is a string with the place that said it.
type Named struct {
	Value string
	Pos   Position
}

// Mailbox is the folder through which messages for the agents of a machine go.
type Mailbox struct {
	Machine string
	Place   string // ~/PATH, /PATH or ssh://[user@]host[:port]/PATH
	Pos     Position
}

// Match selects a host: every field that is set must hold.
type Match struct {
	Hostname  string
	CPU       string // regular expression
	Product   string // regular expression
	MemoryGiB Bound
}

// Bound is a comparison with a number of GiB, such as >=60. A zero Bound
// always holds.
type Bound struct {
	Op  string // "", "==", "<", "<=", ">", ">="
	GiB float64
}

// RuntimeUse is one runtime that a host wants.
type RuntimeUse struct {
	ID      string
	Pos     Position
	Install *Install // nil: adapter only, if the program is there
	CLI     string   // the program that drives a generic runtime
	// Endpoint says whether it talks to a service of the host; nil: a generic
	// local runtime talks to the host's endpoint, a vendor's program to its maker.
	Endpoint *EndpointUse
}

// EndpointUse is what a host says about one runtime and its services.
type EndpointUse struct {
	On      bool
	Service string // "": the host's endpoint
	Pos     Position
}

// Install says how a program gets onto the machine.
type Install struct {
	Via     string // "npm", "pacman", …
	Version string // "any", ">=1.2", "1.2.3"; "" means pinned by the lock
	Node    string // version of Node that npm also installs; "" means that of the machine
	URL     string // of a release's archive; "": where the catalog knows that its makers put it
	SHA256  string // of that archive; "" means pinned by the lock
	Pos     Position
}

// HostBundle is a bundle source that the host uses in user scope.
type HostBundle struct {
	Name   string
	Source string // as written; see Source in package bundle for its grammar
	Parts  []string
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

// EnvVar is a name with a value or a secret reference, exactly one of them.
type EnvVar struct {
	Name   string
	Value  string
	Secret *Secret
	Pos    Position
}

// Secret names where a value is read from; the value itself is never in a spec.
type Secret struct {
	Env  string
	File string
}

// ModelUse is one model that a host wants.
type ModelUse struct {
	ID      string
	Quant   string // "auto", a quant's name, or "" for the only one there is
	Context int64  // tokens to plan its memory for where no service says it; 0 means not said
	Fit     string // "ignore": no warning if it does not fit; "" otherwise
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

	Install      *Install          // of its program; nil: it is there already
	Backend      string            // "vulkan", "rocm", "cuda", "cpu"; "" is what the machine has
	Parallel     int               // conversations at once, each with Context tokens; 0 is one
	GPULayers    *int              // nil: all where the machine's graphics are worth it, else none
	ChatTemplate string            // a name, or a file that starts with ~/ or /
	Args         []string          // of llama-server, after those that aisync gives it
	Env          map[string]string // beside what aisync sets
}

// maxUnsaid is how many tokens a conversation is planned with that nobody said:
// enough for an agent's first question, and not the memory of a whole machine.
const maxUnsaid = 32768

// ContextOf is how many tokens one conversation with model m has where s serves
// it: what the service says, then what h says of the model. 0: not known.
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

// Settings is a fragment merged into one runtime's own settings file.
type Settings struct {
	Runtime string
	JSON    []byte // canonical JSON, object keys sorted
	Pos     Position
	Leaves  map[string]Position // JSON pointer to the line that said it
}

// Policy is how strict the host is.
type Policy struct {
	Drift string // "report" or "enforce"
	Pos   Position
}

// Project is one project's own wishes; nothing in it depends on a machine.
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

// Source names a place bundles come from: a folder, git::URL?ref=…, or an
// archive URL.
type Source struct {
	Name string
	URL  string
	Dir  string // folder that a relative URL starts from
	Pos  Position
}

// BundleRef is source//name, or a bare name that exactly one source has.
type BundleRef struct {
	Source string
	Name   string // "." is the generic part alone
	Pos    Position
}

// Agents says which coordination systems a project lays out.
type Agents struct {
	Sessions Flag
	Ledger   Flag
	Tasks    Flag
	Queues   []string
	Runs     Flag
	Track    bool // true: git carries what agents write there
	Pos      Position
}

// Catalog is data about the world: runtimes, models.
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
	Chat     string  // form of its prompts: "chatml"; "" where aisync knows none
	Quants   []Quant // smallest first
}

// Quant is one quantization of a model: one file, or the shards in order.
// Where Repo is not "", Name finds them there once it is asked: until then
// there are no Files.
type Quant struct {
	Name     string
	Files    []ModelFile
	Repo     string // Hugging Face repository
	Revision string // of Repo: a branch, tag or commit; "" is main
}

// Size is the sum of the files' sizes in bytes.
func (q Quant) Size() int64 {
	var n int64
	for _, f := range q.Files {
		n += f.Size
	}
	return n
}

// ModelFile is one artifact. SHA256 is empty where only a hub knows it; it
// must then be pinned before anything is fetched.
type ModelFile struct {
	Path     string
	Size     int64 // bytes
	SHA256   string
	Repo     string // Hugging Face repository, where it comes from there
	Revision string // of the repository, as it was asked for: a branch, tag or commit; "" is main
	Commit   string // of the repository, where it is pinned
	Sources  []string
}

// InRegistry reports whether f comes from an OCI registry, which knows its digest.
func (f ModelFile) InRegistry() bool {
	return slices.ContainsFunc(f.Sources, IsOCI)
}

// IsOCI reports whether a source is an artifact of an OCI registry.
func IsOCI(source string) bool {
	return strings.HasPrefix(source, "oci://") || strings.HasPrefix(source, "oci+http://")
}
