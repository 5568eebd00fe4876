package seat

import (
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
)

// Role is what an agent does in its project.
type Role string

const (
	Leads   Role = Primary  // it leads: git, memory files and the end of the session are its own
	Beside  Role = "agent"  // it works beside the primary, with an id
	Helps   Role = "helper" // it changes neither git nor memory files
	Works   Role = "worker" // it carries out one task of a run or a queue
	Nothing Role = "none"   // the caller is no agent
)

// IsWorker reports whether the environment is that of a task's worker.
func IsWorker(getenv func(string) string) bool { return getenv(identity.VarTask) != "" }

// IsHelper reports whether the launcher started an agent as a helper. name is its
// seat; "" if it has none.
func IsHelper(getenv func(string) string, name string) bool {
	return getenv(identity.VarHelper) == "1" || identity.IsHelper(name) || identity.IsHelper(strings.TrimSpace(getenv(identity.VarID)))
}

// Role returns the role of an agent whose seat is own, nil if it has none, among
// all seats. The hooks ask IsHelper too, and who leads is in the record of the seat.
func (r *Room) Role(all []*Seat, own *Seat, getenv func(string) string) Role {
	name := ""
	if own != nil {
		name = own.Name
	}
	switch {
	case IsWorker(getenv):
		return Works
	case IsHelper(getenv, name):
		return Helps
	case own != nil && own.Primary:
		return Leads
	case own != nil, strings.TrimSpace(getenv(identity.VarID)) != "", first(all, func(s *Seat) bool { return s.Primary && r.Life(s) != keeper.Gone }) != nil:
		return Beside
	}
	return Leads
}
