package keeper

import (
	"os"
	"path"
	"slices"
	"time"

	"aisync.dev/aisync/agents/process"
)

// Known is an agent as a file names it: a claim's lease, or a seat.
type Known struct {
	Runtime, Session string
	PID              int // of its process; 0: not found
	Start            uint64
	Place            Place
	Kept             bool          // it has, or had, a record
	Age              time.Duration // since the last sign of life; beyond Lease it tells nothing
}

// Records are those of a project at one moment.
type Records struct {
	Here Place

	table process.Table
	found []Found
	whole bool // the folder is visible, and all in it was read
}

// Look reads the records of the project in root.
func Look(t process.Table, root string) Records {
	found, err := List(t, root)
	info, missing := os.Stat(path.Join(root, Dir)) // from a folder that is hidden or removed follows nothing
	return Records{Here(t), t, found, err == nil && missing == nil && info.IsDir()}
}

// Life decides whether an agent is alive: by its process, by its record, also that
// of another process that goes on with its session, by a record that its keeper has
// taken away, and else by its last sign of life.
func (r Records) Life(k Known) Life {
	e := Evidence{Here: r.Here, There: k.Place, Age: k.Age}
	if r.Here.Shows(k.Place) {
		e.Process = presence(r.table, k.PID, k.Start)
	}
	if e.Process == Present {
		return Alive
	}
	var by []Life
	for _, f := range r.found {
		if k.Session != "" && f.Session == k.Session && f.Runtime == k.Runtime || k.PID != 0 && f.PID == k.PID && f.Start == k.Start && f.Place == k.Place {
			by = append(by, f.Life)
		}
	}
	for _, life := range []Life{Alive, Unknown, Gone} {
		if slices.Contains(by, life) {
			return life
		}
	}
	if k.Kept && r.whole {
		return Gone
	}
	return Judge(e)
}
