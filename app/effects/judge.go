package effects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// judge groups the settings of a file by effect.
func (t *tree) judge(program string, o spec.Obeyed, name string, list []setting) []Effect {
	type group struct {
		rule spec.EffectRule
		wild []string
		at   []string // the names that its settings share
		in   []setting
	}
	var groups []*group
	byKey := map[string]*group{}
	for _, s := range list {
		if len(s.path) == 0 || len(o.Reads) > 0 && !reads(o, s) || t.safe(o, path.Dir(name), s) {
			continue
		}
		rule, n, wild := ruleFor(o, s, list)
		at := s.path[:n]
		key := rule.Key + "\x00" + rule.Has + "\x00" + merge.Pointer(at...)
		if byKey[key] == nil {
			byKey[key] = &group{rule: rule, wild: wild, at: at}
			groups = append(groups, byKey[key])
		}
		byKey[key].in = append(byKey[key].in, s)
	}
	var out []Effect
	for _, g := range groups {
		e := Effect{Program: program, Class: classOf(g.rule.Class), File: name, Key: merge.Pointer(g.at...)}
		e.Text = fill(g.rule.Says, name, describe(g.in, len(g.at)), g.wild)
		parts := []string{generalized(g.in[0], len(g.at))}
		parts = append(parts, beside(list, g.in[0], len(g.at))...)
		var values []string
		for _, s := range g.in {
			values = append(values, merge.Pointer(s.path[len(g.at):]...)+"="+s.canonical())
		}
		slices.Sort(values) // the order of names has no meaning
		out = append(out, t.finished(e, g.in, append(parts, values...)...))
	}
	return out
}

// reads reports whether the program reads s from a file of another program.
func reads(o spec.Obeyed, s setting) bool {
	return slices.ContainsFunc(o.Reads, func(pattern string) bool {
		_, _, ok := merge.MatchPrefix(pattern, s.path)
		return ok
	})
}

// ruleFor is the first rule for s, one of list, and the number of its names
// that the rule covers. Without a rule, s is assumed to run something.
func ruleFor(o spec.Obeyed, s setting, list []setting) (rule spec.EffectRule, n int, wild []string) {
	for _, rule := range o.Effects {
		n, wild, ok := merge.MatchPrefix(rule.Key, s.path)
		if !ok || n == 0 || len(rule.Values) > 0 && !slices.ContainsFunc(rule.Values, func(v string) bool { return merge.MatchName(v, plainText(s.value)) }) {
			continue
		}
		if rule.Has != "" && !slices.ContainsFunc(list, func(o setting) bool {
			return len(o.path) > n && o.path[n] == rule.Has && slices.Equal(o.path[:n], s.path[:n])
		}) {
			continue
		}
		return rule, n, wild
	}
	n = min(2, len(s.path))
	if i := slices.Index(s.arrays[:n], true); i > 0 {
		n = i
	}
	return spec.EffectRule{Class: "runs", Says: "obeys " + strings.Join(s.path[:n], ".") + " ({value}) in {file}, which is not known to be harmless"}, n, nil
}

// generalized is the pointer of the first n names of s, with array indexes left
// open.
func generalized(s setting, n int) string {
	names := slices.Clone(s.path[:n])
	for i := range names {
		if s.arrays[i] {
			names[i] = "*"
		}
	}
	return merge.Pointer(names...)
}

// beside are the scalars next to a setting in the array elements that hold it:
// the matcher of a hook says when it runs.
func beside(list []setting, s setting, n int) []string {
	var out []string
	for i := 1; i < n; i++ {
		if !s.arrays[i] {
			continue
		}
		for _, other := range list {
			if len(other.path) == i+2 && slices.Equal(other.path[:i+1], s.path[:i+1]) && other.path[i+1] != s.path[min(i+1, len(s.path)-1)] {
				out = append(out, "beside "+other.path[i+1]+"="+other.canonical())
			}
		}
	}
	return out
}

// loosened are the restrictions of name that exist now and will be gone.
func (t *tree) loosened(program string, o spec.Obeyed, name string, after []setting) []Effect {
	a, changes := t.planned(name)
	if !changes || !a.change.Writes() || len(o.Restricts) == 0 || t.outcome(a).gone && areItems(o) {
		return nil
	}
	doc, _, err := t.live(name)
	if err != nil {
		return nil
	}
	before, err := settings(o.Format, doc)
	if err != nil {
		return nil // what cannot be read is assumed to restrict nothing
	}
	mark := func(s setting) string { return generalized(s, len(s.path)) + "=" + s.canonical() }
	left := map[string]bool{}
	for _, s := range after {
		left[mark(s)] = true
	}
	var out []Effect
	for _, s := range before {
		if !matchAll(o.Restricts, s.path) || left[mark(s)] || empty(s.value) {
			continue
		}
		n := len(s.path)
		if s.arrays[n-1] {
			n--
		}
		e := Effect{Program: program, Class: Loosens, File: name, Key: merge.Pointer(s.path[:n]...)}
		e.Text = fmt.Sprintf("no longer has %s %s", strings.Join(s.path[:n], "."), text(s))
		out = append(out, t.finished(e, nil, "removed", mark(s)))
	}
	return out
}

// areItems reports whether each file of o is an item of a folder, such as a subagent:
// its restrictions are about itself, and nothing is left for them to restrict once it
// is gone. Those in settings are about the program.
func areItems(o spec.Obeyed) bool {
	return !slices.ContainsFunc(o.Files, func(name string) bool { return !strings.Contains(name, "*") })
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
