package keeper

// Caller is what the environment of a process says of the agent that started it.
// A process in a sandbox does not see its agent's process.
type Caller struct {
	ID, Session, Launch string // as in Agent
}

// Is reports whether a record is that of the caller's agent. An agent that
// another one started may have inherited its variables; of two sessions, each
// has another id.
func (c Caller) Is(f Found) bool {
	switch {
	case c.Session != "" && f.Session != "":
		return c.Session == f.Session
	case c.Launch != "" && f.Launch != "":
		return c.Launch == f.Launch
	}
	return c.ID != "" && c.ID == f.ID
}
