package crash

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"aisync.dev/aisync/reconcile/fsys"
)

// Recording records a command's changes to some folders, operation by operation,
// to replay a loss of power at each of them: Hook records, End ends the
// recording, Losses yields the possible states of the disk.
//
// The model is what fsync of POSIX file systems allows. Synced data survives.
// Otherwise the names in one folder change in order, but those of two folders in
// any order; a rename is one step in both of its folders, a surviving entry lies
// in a surviving folder, and a removed folder was empty. Bytes written to a file
// since its last fsync survive completely, not at all, cut off, or as zeros,
// whether or not its name survives.
type Recording struct {
	tops []string

	mu      sync.Mutex
	ids     map[fileID]int
	topIDs  map[string]int
	began   map[int]map[string]int // names at the start, by folder
	objects []object               // by id; the first is unused
	now     shape
	events  []event
	pending fsys.Op
	ended   bool
	err     error
}

type fileID struct{ dev, ino uint64 }

// object is a file, a folder or a link that existed at some time.
type object struct {
	mode  fs.FileMode
	link  string
	first string // content at the start
	old   bool   // there from the start, and on disk
}

// shape is the state at one time.
type shape struct {
	names map[int]map[string]int // by folder
	bytes map[int]string         // of regular files
	paths map[string]int
}

// event is one step: names that change together, bytes that are written, or a
// file or folder that is synced.
type event struct {
	op      string
	entries []entryChange
	bytes   map[int]string
	synced  int
}

type entryChange struct {
	dir  int
	name string
	from int // 0: none
	to   int // 0: the name is removed
}

// Record starts recording changes in folders.
func Record(tops ...string) (*Recording, error) {
	r := &Recording{tops: tops, ids: map[fileID]int{}, topIDs: map[string]int{}, objects: make([]object, 1)}
	now, err := r.look()
	if err != nil {
		return nil, err
	}
	for id := range r.objects {
		r.objects[id].old, r.objects[id].first = true, now.bytes[id]
	}
	for _, top := range tops {
		r.topIDs[top] = now.paths[top]
	}
	r.now, r.began = now, now.names
	return r, nil
}

// Hook records op, and the effect of the previous one. Operations must be
// sequential, except within one Flush.
func (r *Recording) Hook(op fsys.Op) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.step()
	r.pending = op
	return r.err
}

// End records the effect of the last operation, and returns the number of steps.
func (r *Recording) End() (steps int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step()
	r.ended = true
	return len(r.events), r.err
}

// step appends the changes since the last step, and what the pending operation
// synced.
func (r *Recording) step() {
	now, err := r.look()
	if err != nil {
		r.err = err
		return
	}
	e := event{op: r.pending.Name + " " + r.pending.Path, bytes: map[int]string{}}
	for dir := range merged(r.now.names, now.names) {
		for name := range merged(r.now.names[dir], now.names[dir]) {
			if was, is := r.now.names[dir][name], now.names[dir][name]; is != was && now.names[dir] != nil {
				e.entries = append(e.entries, entryChange{dir, name, was, is})
			}
		}
	}
	for id, text := range now.bytes {
		if was, there := r.now.bytes[id]; there && was != text || !there && text != "" {
			e.bytes[id] = text
		}
	}
	if len(e.entries)+len(e.bytes) > 0 {
		r.events = append(r.events, e)
	}
	if r.pending.Name == "fsync" || r.pending.Name == "fsyncdir" {
		if id := r.now.paths[r.pending.Path]; id != 0 {
			r.events = append(r.events, event{op: e.op, synced: id})
		}
	}
	r.now = now
}

func merged[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(b)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, a)
	return out
}

// look reads the folders.
func (r *Recording) look() (shape, error) {
	s := shape{map[int]map[string]int{}, map[int]string{}, map[string]int{}}
	seen := map[fileID]int{}
	for _, top := range r.tops {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			at := fileID{uint64(st.Dev), st.Ino}
			id := r.ids[at]
			if id == 0 {
				id = len(r.objects)
				r.objects = append(r.objects, object{})
			}
			r.ids[at], seen[at] = id, id
			o := &r.objects[id]
			o.mode = info.Mode()
			switch {
			case d.IsDir():
				s.names[id] = map[string]int{}
			case info.Mode()&fs.ModeSymlink != 0:
				if o.link, err = os.Readlink(path); err != nil {
					return err
				}
			default:
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				s.bytes[id] = string(b)
			}
			s.paths[path] = id
			if path != top {
				s.names[s.paths[filepath.Dir(path)]][filepath.Base(path)] = id
			}
			return nil
		})
		if err != nil {
			return s, err
		}
	}
	r.ids = seen // a number may be reused
	return s, nil
}
