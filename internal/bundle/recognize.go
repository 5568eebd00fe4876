package bundle

import (
	"path"
	"slices"
	"strings"
)

// Recognized is a bundle that a project probably had before its installation
// was recorded.
type Recognized struct {
	Kind  Kind
	Name  string
	Rules []string // names of its rules found, sorted
	Of    int      // number of such names in the bundle
}

// Recognize finds the languages and teams of t by the file names of the rules
// in a project: installers without records are known by what they copied. A
// name in several bundles counts for none. Names from the history of the source
// count too, so that an old copy is recognized by its old names.
func (t *Tree) Recognize(there []string) ([]Recognized, error) {
	type bundle struct {
		kind Kind
		name string
		now  []string
		ever []string
	}
	var all []bundle
	holders := map[string]int{}
	add := func(kind Kind, name, folder string, part func(string) (*Part, error)) error {
		p, err := part(name)
		if err != nil {
			return err
		}
		b := bundle{kind: kind, name: name}
		for _, f := range slices.Concat(p.Rules, p.Runtime(oldFolder).Rules) {
			b.now = append(b.now, path.Base(f.Rel))
		}
		b.ever = append(slices.Clone(b.now), t.ruleNames(folder+"/"+name+"/")...)
		slices.Sort(b.ever)
		b.ever = slices.Compact(b.ever)
		for _, n := range b.ever {
			holders[n]++
		}
		all = append(all, b)
		return nil
	}
	for _, name := range t.languages {
		if err := add(Language, name, "languages", t.Language); err != nil {
			return nil, err
		}
	}
	for _, name := range t.teams {
		if err := add(Team, name, "teams", t.Team); err != nil {
			return nil, err
		}
	}
	core, err := t.Core()
	if err != nil {
		return nil, err
	}
	for _, f := range core.Rules {
		holders[path.Base(f.Rel)]++
	}
	var out []Recognized
	for _, b := range all {
		r := Recognized{Kind: b.kind, Name: b.name, Of: len(b.now)}
		for _, n := range b.ever {
			if holders[n] == 1 && slices.Contains(there, n) {
				r.Rules = append(r.Rules, n)
			}
		}
		if len(r.Rules) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// ruleNames are the names of all rules that were ever below folder.
func (t *Tree) ruleNames(folder string) []string {
	var out []string
	for _, versions := range t.versions.history().versions {
		for _, v := range versions {
			if strings.HasPrefix(v.Path, folder) && path.Base(path.Dir(v.Path)) == "rules" && isRule(path.Base(v.Path)) {
				out = append(out, path.Base(v.Path))
			}
		}
	}
	return out
}
