package loads

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// session is one run of a program: what it knows of the machine, and what it has
// taken so far.
type session struct {
	program spec.Runtime
	data    *spec.Loads
	m       Machine
	files   *files
	start   string
	top     string
	inGit   bool

	switches  []spec.LoadSwitch // that hold here
	excludes  []string
	documents map[string]document // settings files, by path
	userFiles map[string]bool     // that texts of the user's name

	waiting []waiting              // rules for paths that were not read yet, and those to be asked for
	asked   map[string]bool        // paths of those to be asked for
	visited map[string]bool        // folders below start that were looked into
	once    map[string]string      // what LoadedOnce has seen, and from where
	left    int64                  // bytes of Limit that are left
	after   string                 // the path that was read last; "" at the start
	found   map[string][]candidate // of texts, by id
	items   []Item
	at      map[string]int // index in items
	never   []Never
}

func newSession(program spec.Runtime, m Machine, start string) *session {
	s := &session{
		program: program, data: program.Loads, m: m, files: newFiles(m.Tree), start: start,
		documents: map[string]document{}, visited: map[string]bool{}, once: map[string]string{},
		found: map[string][]candidate{}, asked: map[string]bool{}, at: map[string]int{}, userFiles: map[string]bool{},
	}
	s.top, s.inGit = start, false
	for dir := start; ; dir = path.Dir(dir) {
		if s.files.exists(path.Join(dir, ".git")) {
			s.top, s.inGit = dir, true
			break
		}
		if dir == path.Dir(dir) {
			break
		}
	}
	s.switches = s.holding()
	for _, e := range s.data.Excludes {
		for _, v := range s.values(e) {
			s.excludes = append(s.excludes, textsOf(v)...)
		}
	}
	s.left = s.limit()
	return s
}

// result is what was taken, then what waits, and what was not. A file that came
// another way, by an import or a link, is not among the last.
func (s *session) result() Result {
	taken := map[string]bool{}
	for _, i := range s.items {
		for _, f := range i.From {
			taken[f.Real] = true
		}
	}
	for _, w := range s.waiting {
		if w.item.Total == 0 && !w.done {
			s.items = append(s.items, w.item)
		}
	}
	s.never = slices.DeleteFunc(s.never, func(n Never) bool {
		if n.Reason != Ended && n.Reason != Shadowed || n.Kind != Note && n.Kind != Rule {
			return false
		}
		real, _, err := s.files.resolve(n.Path)
		return err == nil && taken[real]
	})
	return Result{Program: s.program.ID, Top: s.top, Limit: s.limit(), Items: s.items, Never: s.never}
}

// folders returns the folders of a walk, the outermost first.
func (s *session) folders(walk string) []string {
	if !s.inGit && s.data.Rootless == "up" && (walk == spec.WalkProject || walk == spec.WalkParent) {
		walk = spec.WalkUp
	}
	switch walk {
	case spec.WalkStart:
		return []string{s.start}
	case spec.WalkTop, "":
		return []string{s.top}
	case spec.WalkEnds:
		return slices.Compact([]string{s.top, s.start})
	case spec.WalkProject:
		return between(s.top, s.start)
	case spec.WalkParent:
		return between(path.Dir(s.top), s.start)
	case spec.WalkUp:
		return between("/", s.start)
	}
	return nil
}

// between returns the folders from top down to dir, which lies in top.
func between(top, dir string) []string {
	var out []string
	for {
		out = append(out, dir)
		if dir == top || dir == path.Dir(dir) {
			slices.Reverse(out)
			return out
		}
		dir = path.Dir(dir)
	}
}

// user is a path of the user's as this machine has it: below home, or where a
// variable moves it.
func (s *session) user(p string) string {
	best, moved := -1, ""
	for _, m := range s.data.Moves {
		value := s.m.Environment[m.Variable]
		if value == "" || !path.IsAbs(value) || !inside(m.From, p) || len(m.From) <= best {
			continue
		}
		to := m.To
		if to == "" {
			to = "{value}"
		}
		best, moved = len(m.From), path.Join(strings.ReplaceAll(to, "{value}", value), strings.TrimPrefix(p, m.From))
	}
	if best >= 0 {
		return moved
	}
	return path.Join(s.m.Home, strings.TrimPrefix(p, "~"))
}

// inside reports whether p is dir or lies in it.
func inside(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// relative is p as people read it: below the top, below home, or absolute.
func (s *session) relative(p string) string {
	switch {
	case p != s.top && inside(s.top, p):
		return strings.TrimPrefix(strings.TrimPrefix(p, s.top), "/")
	case p != s.m.Home && inside(s.m.Home, p):
		return "~" + strings.TrimPrefix(p, s.m.Home)
	}
	return p
}

func (s *session) skip(kind Kind, p string, reason Reason, says string) {
	n := Never{kind, p, reason, says}
	if !slices.Contains(s.never[max(0, len(s.never)-50):], n) {
		s.never = append(s.never, n)
	}
}

// reached says what made the program look, in words.
func (s *session) reached() string {
	if s.after == "" {
		return "at the start"
	}
	return "after " + s.relative(s.after) + " was read"
}

// take counts one copy of an item.
func (s *session) take(i Item, from File) {
	from.Why, from.After = s.reached(), s.after
	key := string(i.Kind) + "\x00" + i.Digest
	if i.Kind != Note && i.Kind != Rule {
		key += "\x00" + i.Name
	}
	n, there := s.at[key]
	if !there {
		n = len(s.items)
		s.at[key] = n
		s.items = append(s.items, i)
	}
	have := &s.items[n]
	have.From = append(have.From, from)
	have.Total++
	if s.after == "" {
		have.Start++
	}
}
