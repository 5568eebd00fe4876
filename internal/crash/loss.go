package crash

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Loss is the state of a disk after a loss of power.
type Loss struct {
	Text  string // the surviving steps, for a person
	tops  []string
	names map[int]map[string]int
	bytes map[int]string
	r     *Recording
}

// Losses calls f for each possible state of the folders when the power fails
// after the given number of steps, each state once over all calls; seeds is the
// number of random choices beside the extreme ones.
func (r *Recording) Losses(steps int, seeds uint64, known map[uint64]bool, f func(Loss) bool) bool {
	done := r.events[:steps]
	must := map[int]bool{}
	byDir := map[int][]int{}
	made := map[int]int{} // folders, and the steps that create them
	for i, e := range done {
		for _, c := range e.entries {
			byDir[c.dir] = append(byDir[c.dir], i)
			if c.to != 0 && r.objects[c.to].mode.IsDir() {
				made[c.to] = i
			}
		}
		if e.synced != 0 {
			for _, j := range byDir[e.synced] {
				must[j] = true
			}
		}
	}
	// closed adds the steps that kept implies.
	closed := func(kept map[int]bool) map[int]bool {
		for {
			n := len(kept)
			for i := range maps.Clone(kept) {
				for _, c := range done[i].entries {
					before := byDir[c.dir]
					if r.objects[c.from].mode.IsDir() {
						before = slices.Concat(before, byDir[c.from]) // it was empty
					}
					for _, j := range before {
						if j < i {
							kept[j] = true
						}
					}
					if j, ok := made[c.dir]; ok && c.to != 0 {
						kept[j] = true
					}
				}
			}
			if len(kept) == n {
				return kept
			}
		}
	}
	choices := map[string]map[int]bool{"nothing": {}, "everything": {}}
	for dir, events := range byDir {
		ahead, behind := map[int]bool{}, map[int]bool{}
		for _, i := range events {
			ahead[i] = true
		}
		for i := range done {
			choices["everything"][i] = true
			if !slices.Contains(events, i) {
				behind[i] = true
			}
		}
		choices[fmt.Sprintf("folder %d ahead", dir)] = ahead
		choices[fmt.Sprintf("folder %d behind", dir)] = behind
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, uint64(steps)))
		some := map[int]bool{}
		for i := range done {
			if random.IntN(2) == 0 {
				some[i] = true
			}
		}
		choices[fmt.Sprintf("seed %d", seed)] = some
	}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		kept := closed(merged(must, choices[name]))
		names := r.namesOf(done, kept)
		for how, text := range []string{"old", "new", "cut off", "zeros"} {
			l := Loss{Text: fmt.Sprintf("after %d steps (%s), of the unsynced names %s, of the unsynced bytes %s", steps, last(done), name, text), tops: r.tops, names: names, bytes: r.bytesOf(done, how), r: r}
			sum := l.sum()
			if known[sum] {
				continue
			}
			known[sum] = true
			if !f(l) {
				return false
			}
		}
	}
	return true
}

func last(events []event) string {
	if len(events) == 0 {
		return "none"
	}
	return events[len(events)-1].op
}

// namesOf returns the start with the kept steps.
func (r *Recording) namesOf(done []event, kept map[int]bool) map[int]map[string]int {
	names := map[int]map[string]int{}
	for dir, entries := range r.began {
		names[dir] = maps.Clone(entries)
	}
	for i, e := range done {
		if !kept[i] {
			continue
		}
		for _, c := range e.entries {
			if names[c.dir] == nil {
				names[c.dir] = map[string]int{}
			}
			if c.to == 0 {
				delete(names[c.dir], c.name)
			} else {
				names[c.dir][c.name] = c.to
			}
		}
	}
	return names
}

// bytesOf returns the files' content: how selects the state of unsynced bytes.
func (r *Recording) bytesOf(done []event, how int) map[int]string {
	synced, latest := map[int]string{}, map[int]string{}
	for id, o := range r.objects {
		if o.old {
			synced[id], latest[id] = o.first, o.first
		}
	}
	for _, e := range done {
		maps.Copy(latest, e.bytes)
		if e.synced != 0 {
			synced[e.synced] = latest[e.synced]
		}
	}
	out := map[int]string{}
	for id, text := range latest {
		base := synced[id]
		same := 0
		for same < min(len(base), len(text)) && base[same] == text[same] {
			same++
		}
		rest := text[same:]
		switch {
		case how == 0:
			out[id] = base
		case how == 1 || rest == "":
			out[id] = text
		case how == 2:
			out[id] = text[:same] + rest[:len(rest)/2]
		default:
			out[id] = text[:same] + strings.Repeat("\x00", len(rest))
		}
	}
	return out
}

// walk calls f for each entry, folders before their content.
func (l Loss) walk(f func(path string, id int) error) error {
	var below func(dir string, id int) error
	below = func(dir string, id int) error {
		for _, name := range slices.Sorted(maps.Keys(l.names[id])) {
			p, child := filepath.Join(dir, name), l.names[id][name]
			if err := f(p, child); err != nil {
				return err
			}
			if l.r.objects[child].mode.IsDir() {
				if err := below(p, child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, top := range l.tops {
		if err := below(top, l.r.topIDs[top]); err != nil {
			return err
		}
	}
	return nil
}

// sum identifies the state l.
func (l Loss) sum() uint64 {
	h := fnv.New64a()
	_ = l.walk(func(path string, id int) error {
		_, err := fmt.Fprintf(h, "%s %d %q\n", path, id, l.bytes[id])
		return err
	})
	return h.Sum64()
}

// Put makes the folders equal to l.
func (l Loss) Put() error {
	for _, top := range l.tops {
		entries, err := os.ReadDir(top)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(top, e.Name())); err != nil {
				return err
			}
		}
	}
	first := map[int]string{}
	return l.walk(func(path string, id int) error {
		o := l.r.objects[id]
		switch at, again := first[id]; {
		case o.mode.IsDir():
			return os.Mkdir(path, o.mode.Perm())
		case again:
			return os.Link(at, path)
		case o.mode&fs.ModeSymlink != 0:
			first[id] = path
			return os.Symlink(o.link, path)
		}
		first[id] = path
		if err := os.WriteFile(path, []byte(l.bytes[id]), o.mode.Perm()|0o200); err != nil {
			return err
		}
		return os.Chmod(path, o.mode.Perm())
	})
}
