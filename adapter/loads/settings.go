package loads

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// document is a settings file; one that is not there, or is broken, has no text.
type document []byte

// document reads a settings file once.
func (s *session) document(p string) document {
	if d, ok := s.documents[p]; ok {
		return d
	}
	text, _, err := s.files.read(p)
	if err != nil {
		text = nil
	}
	s.documents[p] = text
	return text
}

// value is the JSON at a pointer; nil where there is none.
func (s *session) value(p, format, pointer string) merge.Value {
	doc := s.document(p)
	if len(doc) == 0 {
		return nil
	}
	if format == "json" {
		format = "jsonc" // a comment does not stop a program
	}
	leaves, err := merge.Read(merge.Format(format), doc, []string{pointer})
	if err != nil {
		return nil
	}
	return leaves[pointer].Value
}

// values are what a setting says in each of its files, the nearest first.
func (s *session) values(l spec.LoadSetting) []merge.Value {
	if l.Trusted {
		if ok, _ := s.trusted("settings"); !ok {
			return nil
		}
	}
	var out []merge.Value
	for _, p := range s.places(l) {
		if v := s.value(p, l.Format, l.Pointer); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// places are the paths at which the files of a setting would lie.
func (s *session) places(l spec.LoadSetting) []string {
	if strings.HasPrefix(l.Path, "~/") {
		return []string{s.user(l.Path)}
	}
	var out []string
	for _, dir := range s.folders(l.Walk) {
		out = append(out, path.Join(dir, l.Path))
	}
	slices.Reverse(out)
	return out
}

// texts are the strings of a value: one, or a list of them.
func textsOf(v merge.Value) []string {
	var one string
	if json.Unmarshal(v, &one) == nil {
		return []string{one}
	}
	var list []any
	var out []string
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	for _, e := range list {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// named returns what settings name as files, and whether any of them says
// anything.
func (s *session) named(n *spec.NamedFiles) (names []string, said bool) {
	if n == nil {
		return nil, false
	}
	for _, setting := range n.Settings {
		for _, v := range s.values(setting) {
			said = true
			names = append(names, textsOf(v)...)
			if !n.All {
				return names, true
			}
		}
	}
	return names, said
}

// limit is how many bytes of its limited texts the program takes; -1 is all.
func (s *session) limit() int64 {
	if s.data.Limit == nil {
		return -1
	}
	for _, setting := range s.data.Limit.Settings {
		for _, v := range s.values(setting) {
			var n int64
			if json.Unmarshal(v, &n) == nil && n >= 0 {
				return n
			}
		}
	}
	return s.data.Limit.Bytes
}

// variable is a variable of the process, or of the settings that stand for it.
func (s *session) variable(name string) string {
	if v, ok := s.m.Environment[name]; ok {
		return v
	}
	for _, e := range s.data.Environment {
		for _, v := range s.values(e) {
			var vars map[string]any
			if json.Unmarshal(v, &vars) == nil {
				if text, ok := vars[name].(string); ok {
					return text
				}
			}
		}
	}
	return ""
}

// set reports whether a variable switches something on.
func (s *session) set(name string) bool {
	v := s.variable(name)
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(v))
}

// holding returns the switches that hold here.
func (s *session) holding() []spec.LoadSwitch {
	var out []spec.LoadSwitch
	for _, w := range s.data.Switches {
		if w.Variable != "" && !s.set(w.Variable) || w.Without != "" && s.set(w.Without) {
			continue
		}
		if w.Setting != nil && !slices.ContainsFunc(s.values(*w.Setting), func(v merge.Value) bool { return merge.Equal(v, w.JSON) }) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// off says why a text or a kind of parts is switched off; "" is on.
func (s *session) off(id string) string {
	for _, w := range s.switches {
		if slices.Contains(w.Off, id) {
			return w.Why
		}
	}
	return ""
}

// dropped says why a pattern or a place is switched off; "" is on.
func (s *session) dropped(place string) string {
	for _, w := range s.switches {
		if slices.Contains(w.Drops, place) {
			return w.Why
		}
	}
	return ""
}

func (s *session) lifted(id string) bool {
	return slices.ContainsFunc(s.switches, func(w spec.LoadSwitch) bool { return slices.Contains(w.Lifts, id) })
}

// trusted reports whether the person has said that the program may take a part
// of the project, as far as one answer for the whole folder says that; do is
// what there is to do where not.
func (s *session) trusted(part string) (ok bool, do string) {
	if s.m.Trust == Granted {
		return true, ""
	}
	for _, t := range s.program.Trust {
		if !slices.Contains(t.Parts, part) && !slices.Contains(t.Parts, "everything") || len(t.Records) == 0 || perItem(t) {
			continue
		}
		if !s.allowed(t) {
			return false, strings.ReplaceAll(t.Do, "{dir}", s.relative(s.top))
		}
	}
	return true, ""
}

// perItem reports whether t asks about each server or subagent by itself.
func perItem(t spec.Trust) bool {
	return slices.ContainsFunc(t.Records, func(r spec.Reference) bool {
		return strings.Contains(r.Pointer+string(r.JSON), "{name}") || strings.Contains(r.Pointer+string(r.JSON), "{sha256}")
	})
}

func (s *session) allowed(t spec.Trust) bool {
	for name, value := range t.Environment {
		if s.variable(name) == value {
			return true
		}
	}
	dirs := []string{s.top}
	if t.Parents {
		dirs = between("/", s.start)
		slices.Reverse(dirs) // the nearest answer counts
	} else if s.start != s.top {
		dirs = append(dirs, s.start)
	}
	for _, ref := range t.Records {
		if slices.ContainsFunc(dirs, func(dir string) bool { return s.record(ref, dir) }) {
			return true
		}
	}
	return false
}

// record reports whether a file holds what ref says, of the folder dir.
func (s *session) record(ref spec.Reference, dir string) bool {
	p := path.Join(s.top, ref.Path)
	if strings.HasPrefix(ref.Path, "~/") {
		p = s.user(ref.Path)
	}
	pointer := strings.ReplaceAll(ref.Pointer, "{dir}", strings.TrimPrefix(merge.Pointer(dir), "/"))
	want := merge.Value(strings.ReplaceAll(string(ref.JSON), "{dir}", strings.Trim(string(merge.TextValue(dir)), `"`)))
	list, member := strings.CutSuffix(pointer, "/-")
	if !member {
		have := s.value(p, ref.Format, pointer)
		return have != nil && merge.Equal(have, want)
	}
	var members []json.RawMessage
	if json.Unmarshal(s.value(p, ref.Format, list), &members) != nil {
		return false
	}
	return slices.ContainsFunc(members, func(m json.RawMessage) bool { return merge.Equal(merge.Value(m), want) })
}
