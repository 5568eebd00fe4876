package spec

import (
	"fmt"
	"slices"
)

// Pick is what a spec takes of the top of a source, each kind by names or globs,
// as path.Match has them. A kind without names is taken only if no kind has any.
type Pick struct {
	Skills, Agents, Commands, Hooks, Servers []string
	Runtimes                                 []string // that get it; none: all
	Native                                   []string // of these, the ones that load the plugin itself, whole and by their own means
}

// Whole reports whether a program takes all of a source as it is; p may be nil.
func (p *Pick) Whole() bool { return p != nil && len(p.Native) > 0 }

// AllParts are the parts of a bundle source that a host uses if it names none.
var AllParts = []string{"rules", "skills", "hooks", "commands", "agents", "permissions", "ignore", "servers"}

// Parts returns the number of names. 0 takes everything; nil is such a Pick.
func (p *Pick) Parts() int {
	if p == nil {
		return 0
	}
	return len(p.Skills) + len(p.Agents) + len(p.Commands) + len(p.Hooks) + len(p.Servers)
}

// Equal reports whether p and o take the same.
func (p *Pick) Equal(o *Pick) bool {
	if p == nil || o == nil {
		return p == o
	}
	return slices.Equal(p.Skills, o.Skills) && slices.Equal(p.Agents, o.Agents) && slices.Equal(p.Commands, o.Commands) &&
		slices.Equal(p.Hooks, o.Hooks) && slices.Equal(p.Servers, o.Servers) && slices.Equal(p.Runtimes, o.Runtimes) && slices.Equal(p.Native, o.Native)
}

// String identifies p; "" is nil.
func (p *Pick) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%q", *p)
}
