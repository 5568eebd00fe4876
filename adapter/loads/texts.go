package loads

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/schema/spec"
)

// candidate is a file in a place of texts.
type candidate struct {
	text *spec.LoadedText
	path string
	dir  string // the folder of the walk: what patterns start from
}

// waiting is a rule for paths that were not read yet.
type waiting struct {
	candidate
	scope scoped
	item  Item
	done  bool
}

// texts takes what is read at the start.
func (s *session) texts() {
	for i := range s.data.Texts {
		if t := &s.data.Texts[i]; t.Walk == spec.WalkUser {
			s.found[t.Name] = s.find(t, nil)
			for _, c := range s.found[t.Name] {
				s.userFiles[c.path] = true
			}
		}
	}
	for i := range s.data.Texts {
		if t := &s.data.Texts[i]; t.Walk != spec.WalkUser && t.Walk != spec.WalkBelow {
			s.found[t.Name] = s.find(t, s.folders(t.Walk))
		}
	}
	for i := range s.data.Texts {
		if t := &s.data.Texts[i]; t.Walk != spec.WalkBelow {
			s.readAll(t, s.found[t.Name])
		}
	}
}

// touch takes what is read once the file p was: the texts of folders on the way
// to it, and rules for it.
func (s *session) touch(p string) {
	s.after = p
	if p != s.start && inside(s.start, p) {
		for _, dir := range between(s.start, path.Dir(p))[1:] {
			if s.visited[dir] {
				continue
			}
			s.visited[dir] = true
			for i := range s.data.Texts {
				if t := &s.data.Texts[i]; t.Walk == spec.WalkBelow {
					s.readAll(t, s.find(t, []string{dir}))
				}
			}
		}
	}
	for i := range s.waiting {
		if w := &s.waiting[i]; !w.done && s.covers(w.candidate, w.scope, p) {
			w.done = true
			s.takeFile(w.candidate, w.scope, nil)
		}
	}
}

// covers reports whether a rule is for the file p.
func (s *session) covers(c candidate, r scoped, p string) bool {
	return inside(c.dir, p) && matches(c.text.Scope.Globs, r.paths, strings.TrimPrefix(strings.TrimPrefix(p, c.dir), "/"))
}

// patterns are those of a place: its own, and those that settings name.
func (s *session) patterns(t *spec.LoadedText) []string {
	names, said := s.named(t.Named)
	switch {
	case !said:
		return t.Files
	case t.Named.Replaces && t.Walk == spec.WalkUser && len(t.Files) > 0:
		for i, n := range names { // in the same folder of the user's
			names[i] = path.Join(path.Dir(t.Files[0]), n)
		}
		return names
	case t.Named.Replaces:
		return names
	}
	return slices.Concat(t.Files, names)
}

// find returns the files of a place that the program would read, in its order.
// What a preferred name, a setting or the person keeps it from reading, it
// writes down.
func (s *session) find(t *spec.LoadedText, dirs []string) []candidate {
	type named struct {
		name  string
		files []candidate
	}
	byName := []named{}
	for _, pattern := range s.patterns(t) {
		n := named{name: pattern}
		switch {
		case strings.HasPrefix(pattern, "~/") || path.IsAbs(pattern):
			n.files = s.lying(t, "/", pattern)
		default:
			for _, dir := range dirs {
				n.files = append(n.files, s.lying(t, dir, pattern)...)
			}
		}
		if why := s.dropped(pattern); why != "" {
			for _, c := range n.files {
				s.skip(Kind(t.Kind), c.path, Off, why)
			}
			continue
		}
		byName = append(byName, n)
	}
	var out []candidate
	first := map[string]string{} // by what one file is picked of
	had := map[string]bool{}
	for _, n := range byName {
		for _, c := range n.files {
			if by := first[t.Pick+picked(t, c)]; t.Pick != "" && by != "" {
				s.skip(Kind(t.Kind), c.path, Shadowed, s.relative(by)+" comes first")
			} else if !had[c.path] {
				had[c.path] = true
				out = append(out, c)
			}
		}
		for _, c := range n.files { // all of this name count
			if key := t.Pick + picked(t, c); first[key] == "" {
				first[key] = c.path
			}
		}
	}
	if t.Walk != spec.WalkUser {
		sort.SliceStable(out, func(i, j int) bool {
			if t.Upward {
				i, j = j, i
			}
			return len(out[i].dir) < len(out[j].dir)
		})
	}
	return out
}

// picked is what a place has one name of: a folder, or all of them.
func picked(t *spec.LoadedText, c candidate) string {
	if t.Pick == "folder" {
		return c.dir
	}
	return ""
}

// lying returns the files that a pattern finds in dir and that the program may
// read.
func (s *session) lying(t *spec.LoadedText, dir, pattern string) []candidate {
	from := dir
	switch wild := strings.ContainsAny(pattern, "*?[{"); {
	case strings.HasPrefix(pattern, "~/") && wild:
		base, rest := doublestar.SplitPattern(pattern)
		from, pattern, dir = s.user(base), rest, s.top
	case strings.HasPrefix(pattern, "~/"):
		p := s.user(pattern)
		from, pattern, dir = path.Dir(p), path.Base(p), s.top
	case path.IsAbs(pattern):
		from, pattern, dir = "/", strings.TrimPrefix(path.Clean(pattern), "/"), s.top
	}
	var out []candidate
	for _, p := range s.files.match(from, path.Clean(pattern)) {
		if t.Walk != spec.WalkUser && s.userFiles[p] {
			continue // it is the user's, and counts as that
		}
		if s.mayRead(t, p) {
			out = append(out, candidate{t, p, dir})
		}
	}
	return out
}

// mayRead reports whether nothing keeps the program from a file.
func (s *session) mayRead(t *spec.LoadedText, p string) bool {
	kind := Kind(t.Kind)
	if why := s.off(t.Name); why != "" {
		s.skip(kind, p, Off, why)
		return false
	}
	if s.excluded(kind, p) {
		return false
	}
	if t.RealFiles && s.files.isLink(p) {
		s.skip(kind, p, Link, "it is a link, which the program does not follow there")
		return false
	}
	if t.Walk != spec.WalkUser {
		if ok, do := s.trusted("instructions"); !ok {
			s.skip(kind, p, Untrusted, do)
			return false
		}
	}
	_, mode, err := s.files.resolve(p)
	if err != nil {
		s.unreadable(kind, p, err)
		return false
	}
	return mode.IsRegular()
}

func (s *session) excluded(kind Kind, p string) bool {
	for _, e := range s.excludes {
		if matchPath(spec.Globs{}, e, p) || matchPath(spec.Globs{}, e, strings.TrimPrefix(p, "/")) {
			s.skip(kind, p, Excluded, "a setting leaves out "+e)
			return true
		}
	}
	return false
}

func (s *session) unreadable(kind Kind, p string, err error) {
	switch {
	case errors.Is(err, errCircle):
		s.skip(kind, p, Circular, "its links lead in a circle")
	case errors.Is(err, fs.ErrNotExist):
		s.skip(kind, p, Missing, "the link leads nowhere")
	default:
		s.skip(kind, p, Unread, err.Error())
	}
}

// readAll takes the files of a place, unless others end that.
func (s *session) readAll(t *spec.LoadedText, list []candidate) {
	for _, c := range list {
		if by := s.endedBy(t, c); by != "" {
			s.skip(Kind(t.Kind), c.path, Ended, s.relative(by)+" is there")
			continue
		}
		s.readFile(c)
	}
}

// endedBy is the file whose presence keeps the program from c; "" is none.
func (s *session) endedBy(t *spec.LoadedText, c candidate) string {
	if s.lifted(t.Name) {
		return ""
	}
	for _, id := range t.Unless {
		for _, other := range s.found[id] {
			if s.says(other) {
				return other.path
			}
		}
	}
	for _, id := range t.UnlessBeside {
		i := slices.IndexFunc(s.data.Texts, func(o spec.LoadedText) bool { return o.Name == id })
		for _, other := range s.find(&s.data.Texts[i], []string{c.dir}) {
			if s.says(other) {
				return other.path
			}
		}
	}
	return ""
}

// says reports whether a text holds anything but blanks and comments.
func (s *session) says(c candidate) bool {
	text, _, err := s.files.read(c.path)
	if err != nil {
		return false
	}
	if c.text.DropsComments {
		text = withoutComments(text)
	}
	return len(normal(text)) > 0
}

// readFile takes a text now, or once a path that it is for is read.
func (s *session) readFile(c candidate) {
	text, real, err := s.files.read(c.path)
	if err != nil {
		s.unreadable(Kind(c.text.Kind), c.path, err)
		return
	}
	r := scopeOf(c.text.Scope, text)
	if r.when == AtStart || r.when == OnPath && s.after != "" && s.covers(c, r, s.after) {
		s.takeFile(c, r, nil)
		return
	}
	item := s.item(c, r, r.body)
	item.From = []File{{Path: c.path, Real: real, Why: "for " + strings.Join(r.paths, ", ")}}
	if r.when == OnRequest || r.when == Manual {
		item.From[0].Why = "when it is asked for"
	}
	s.waiting = append(s.waiting, waiting{candidate: c, scope: r, item: item, done: r.when != OnPath && s.asked[c.path]})
	s.asked[c.path] = true
}
