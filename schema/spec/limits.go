package spec

// Limits is what one spec allows: the host's own, a base of it, or the project's. All
// of them hold. A nil list allows everything.
type Limits struct {
	By string // "the spec", "base NAME", "the project"

	Sources  *Allowed // beginnings of addresses of bundle sources
	MCP      *Allowed // beginnings of URLs, or of command lines
	Hooks    *Allowed // beginnings of addresses of sources whose hooks and git hooks count
	Runtimes *Allowed // IDs
}

// Allowed is one list of Limits.
type Allowed struct {
	List []Named
	Pos  Position
}
