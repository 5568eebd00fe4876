package task

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Need is one task that another waits for.
type Need struct {
	ID  string `json:"id"`
	Why string `json:"why"` // why it is not done: "queued", "running", "failed", …
}

func (n Need) String() string { return n.ID + " (" + n.Why + ")" }

// Gate is why a task cannot start: Waiting for tasks that can still be done, and
// Never for what needs a person: a dependency failed, is unknown, or is the task
// itself, or another file has the task's id.
type Gate struct {
	Waiting []Need `json:"waiting,omitempty"`
	Never   []Need `json:"never,omitempty"`
}

// Free reports whether the task may start.
func (g Gate) Free() bool { return len(g.Waiting) == 0 && len(g.Never) == 0 }

// Graph holds the dependencies over all queues and the inbox: a task may wait
// for one of another queue.
type Graph struct {
	byID  map[string][]Item
	needs map[string][]string // sorted, unique
	wrong map[string]Item     // invalid files, by name without suffix
}

// NewGraph returns the graph of all items of List.
func NewGraph(all []Item) Graph {
	g := Graph{map[string][]Item{}, map[string][]string{}, map[string]Item{}}
	for _, i := range all {
		if i.Err != nil {
			base, _ := claimed(filepath.Base(i.Path))
			g.wrong[strings.TrimSuffix(base, filepath.Ext(base))] = i
			continue
		}
		g.byID[i.Task.ID] = append(g.byID[i.Task.ID], i)
		g.needs[i.Task.ID] = append(g.needs[i.Task.ID], i.Task.Requires...)
		for _, b := range i.Task.Blocks {
			g.needs[b] = append(g.needs[b], i.Task.ID)
		}
	}
	for id, n := range g.needs {
		g.needs[id] = slices.Compact(slices.Sorted(slices.Values(n)))
	}
	return g
}

// Needs returns the ids that id waits for, done or not, sorted.
func (g Graph) Needs(id string) []string { return g.needs[id] }

// State returns the state of a task by its id: the furthest of the files with
// that id, where a queued one outranks an earlier failed one. "" is an unknown
// id.
func (g Graph) State(id string) State {
	var s State
	for _, i := range g.byID[id] {
		if slices.Index(weight, i.State) > slices.Index(weight, s) {
			s = i.State
		}
	}
	return s
}

var weight = []State{Inbox, Failed, Queued, Running, Done}

// Gate returns what i, which is not done yet, waits for.
func (g Graph) Gate(i Item) Gate {
	var gate Gate
	for _, id := range g.needs[i.Task.ID] {
		switch s := g.State(id); s {
		case Done:
		case Queued, Running:
			gate.Waiting = append(gate.Waiting, Need{id, string(s)})
		case Inbox:
			gate.Waiting = append(gate.Waiting, Need{id, "in the inbox, not approved"})
		case Failed:
			gate.Never = append(gate.Never, Need{id, "failed"})
		default:
			why := "no such task"
			if w, ok := g.wrong[id]; ok {
				why = "no task: " + w.Path
			}
			gate.Never = append(gate.Never, Need{id, why})
		}
	}
	if way := g.circle(i.Task.ID); way != nil {
		gate.Never = append(gate.Never, Need{i.Task.ID, "waits for itself: " + strings.Join(way, " → ")})
	}
	for _, other := range g.byID[i.Task.ID] {
		if !sameFile(other.Path, i.Path) && other.State != Inbox && other.State != Failed {
			gate.Never = append(gate.Never, Need{i.Task.ID, fmt.Sprintf("the same id, %s: %s", other.State, other.Path)})
		}
	}
	return gate
}

// WithGiven returns all and the files of given that are not in all: their tasks
// may depend on each other.
func WithGiven(all, given []Item) []Item {
	out := slices.Clip(all)
	for _, i := range given {
		if !slices.ContainsFunc(all, func(other Item) bool { return other.Task.ID == i.Task.ID && sameFile(other.Path, i.Path) }) {
			out = append(out, i)
		}
	}
	return out
}

// sameFile reports whether two paths name one file. A relative path is below the
// working folder; links of folders are followed, links of files are not.
func sameFile(a, b string) bool { return a == b || absolute(a) == absolute(b) }

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}

// circle returns the shortest cycle from id to itself, nil if there is none.
func (g Graph) circle(id string) []string {
	from := map[string]string{}
	for todo := []string{id}; len(todo) > 0; todo = todo[1:] {
		for _, next := range g.needs[todo[0]] {
			if next == id {
				way := []string{id}
				for at := todo[0]; at != id; at = from[at] {
					way = append(way, at)
				}
				way = append(way, id)
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen {
				from[next] = todo[0]
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// Blocked reports a queue with tasks, none of which can start.
type Blocked struct {
	Project string
	Tasks   []string // each with what it waits for
	Never   bool     // one of them can never start without a person
}

func (b *Blocked) Error() string {
	const shown = 5
	why, more := b.Tasks, ""
	if n := len(why) - shown; n > 0 {
		why, more = why[:shown], fmt.Sprintf("; and %d more: aisync task validate", n)
	}
	return fmt.Sprintf("no task of %s may start: %s%s", b.Project, strings.Join(why, "; "), more)
}

// Is treats a queue that only waits as empty.
func (b *Blocked) Is(target error) bool { return target == ErrNone && !b.Never }

// Why returns one line for a task that cannot start.
func (g Gate) Why(id string) string {
	var parts []string
	for _, n := range slices.Concat(g.Never, g.Waiting) {
		if n.ID == id {
			parts = append(parts, n.Why)
		} else {
			parts = append(parts, "waits for "+n.String())
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "free")
}
