package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// rule is one rule of a bundle, or the instructions of bundles for one runtime,
// before its place is chosen.
type rule struct {
	rel    string // "commits.md"
	text   []byte
	title  string
	globs  []string
	src    bundle.File // source of text; zero if it was put together
	only   []string    // ids of its runtimes, sorted; none: all
	label  string
	origin []reconcile.Position
}

// addRules records the rules that programs must load. only is the runtime of
// the rules, "" for any.
func (b *builder) addRules(w bundleRequest, files []bundle.File, only string) {
	b.rules = slices.Grow(b.rules, len(files))
	for _, f := range files {
		r := rule{rel: f.Rel, text: f.Text, title: f.About.Title, globs: f.About.Globs, src: f, label: w.label, origin: w.origin}
		switch {
		case only != "":
			r.only = []string{only}
		case len(f.About.Runtimes) > 0:
			r.only = slices.Sorted(slices.Values(f.About.Runtimes))
		}
		b.rules = append(b.rules, r)
	}
}

// addInstructions records a bundle's text for one runtime. The texts of several
// bundles form one rule, in their order.
func (b *builder) addInstructions(p place, w bundleRequest, docs []bundle.Document) {
	for _, d := range docs {
		content := strings.TrimRight(string(d.Text), "\n") + "\n"
		i := slices.IndexFunc(b.rules, func(r rule) bool { return r.src.Path == "" && slices.Equal(r.only, []string{p.rt.ID}) })
		if i < 0 {
			b.rules = append(b.rules, rule{rel: "instructions.md", text: []byte(content), title: "for " + p.rt.ID, only: []string{p.rt.ID}, label: w.label, origin: w.origin})
			continue
		}
		r := &b.rules[i]
		r.origin = joined(r.origin, w.origin)
		if !strings.Contains(string(r.text), content) {
			r.text = []byte(string(r.text) + "\n" + content)
		}
	}
}

// body is the rule as a file of a form.
func (r rule) body(form string) reconcile.Body {
	if form == render.Plain && r.src.Path != "" {
		return madeOf(r.src, reconcile.Fingerprint(r.src.Digest), 0o644, nil)
	}
	text := render.RuleFile(form, r.text)
	if r.src.Path == "" {
		return file.Whole(text, 0o644)
	}
	sum := sha256.Sum256(text)
	return madeOf(r.src, reconcile.Fingerprint("sha256:"+hex.EncodeToString(sum[:])), 0o644, func(src []byte) []byte {
		return render.RuleFile(form, src)
	})
}

// identity is equal for rules with the same text, and holds no reference to a file.
func (r rule) identity() string {
	if r.src.Digest != "" {
		return r.src.Digest
	}
	return string(r.text)
}

// describe says which files a rule is about, and its purpose.
func (r rule) describe() string {
	if r.src.Path == "" {
		return r.title
	}
	s := cmp.Or(r.title, strings.TrimSuffix(path.Base(r.rel), ".md"))
	if len(r.globs) > 0 {
		s += " (" + list(r.globs) + ")"
	}
	if len(r.only) > 0 {
		s += ", for " + list(r.only)
	}
	return s
}

func (r rule) isFor(p place) bool { return len(r.only) == 0 || slices.Contains(r.only, p.rt.ID) }

// placeRules chooses from where each program loads each rule, if possible just
// once, and declares the files.
func (b *builder) placeRules(places []place) {
	sort.SliceStable(b.rules, func(i, j int) bool { return b.rules[i].rel < b.rules[j].rel })
	var groups [][]rule // of rules for the same runtimes
	for _, r := range b.rules {
		i := slices.IndexFunc(groups, func(g []rule) bool { return slices.Equal(g[0].only, r.only) })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		b.placeGroup(places, g)
	}
}

// indexed reports whether a program only gets a list of its rules.
func (p place) indexed() bool { return p.scope.RulesIndex != "" }

// ruleConsumer says from where the program of p loads rules, and whether it
// wants them.
func ruleConsumer(p place, wants bool) consumer {
	s := consumer{wants: wants && !p.indexed(), loads: slices.Clone(p.scope.RulesAlso)}
	if p.indexed() {
		s.loads = append(s.loads, p.scope.RulesIndex)
		if wants {
			s.loads = nil // a text or a list suits it: it does not restrict the choice
		}
		return s
	}
	if p.scope.RulesBlock != "" {
		s.loads = append(s.loads, p.scope.RulesBlock)
	}
	switch {
	case p.scope.Rules == "":
	case p.scope.RulesRef != nil:
		s.told = p.scope.Rules
	default:
		s.loads = append(s.loads, p.scope.Rules)
	}
	if p.scope.RulesForm != render.Plain {
		s.best = p.scope.Rules
	}
	return s
}

// placeGroup places rules that are all for the same runtimes.
func (b *builder) placeGroup(places []place, rules []rule) {
	price, form := map[string]int{}, map[string]string{}
	consumers := make([]consumer, len(places))
	for i, p := range places {
		wants := rules[0].isFor(p)
		if consumers[i] = ruleConsumer(p, wants); !wants || p.indexed() {
			continue
		}
		if f := p.scope.Rules; f != "" {
			if _, ok := price[f]; !ok {
				price[f], form[f] = 1, p.scope.RulesForm
			}
		}
		if f := p.scope.RulesBlock; f != "" {
			price[f] = 2
		}
	}
	chosen := cover(price, consumers)
	for _, folder := range chosen {
		for _, r := range rules {
			if f, ok := form[folder]; ok {
				b.leaf(fileAt(path.Join(folder, render.RuleName(f, r.rel))), "", reconcile.Leaf{Body: r.body(f), Origin: r.origin}, r.label)
			} else {
				b.text(folder, r)
			}
		}
	}
	for i, p := range places {
		b.told(p, consumers[i], chosen, form, rules)
	}
}

// told makes the program of p load the rules from the chosen places, and
// reports if that is impossible.
func (b *builder) told(p place, s consumer, chosen []string, form map[string]string, rules []rule) {
	found := s.finds(chosen)
	if p.indexed() && slices.Contains(chosen, p.scope.RulesIndex) {
		found = []string{p.scope.RulesIndex} // it holds the text
	}
	labels, origin := askers(rules)
	switch wants := rules[0].isFor(p); {
	case !wants && len(found) > 0:
		b.note(false, origin, "%s reads %s too, which of %s is for %s", p.rt.ID, list(found), labels, list(rules[0].only))
		return
	case !wants:
		return
	case len(found) == 0 && p.indexed():
		b.indexRules(p, rules)
		return
	case len(found) == 0:
		b.note(true, origin, "the rules of %s are not for %s, which has no place for them in this scope", labels, p.rt.ID)
		return
	case len(found) > 1:
		b.note(true, joined(origin, p.origin), "%s loads the rules of %s from %s: other runtimes here need each of them", p.rt.ID, labels, strings.Join(found, " and from "))
	}
	if ref := p.scope.RulesRef; ref != nil && slices.Contains(found, p.scope.Rules) {
		for _, r := range rules {
			b.reference(*ref, r.origin, r.label)
		}
	}
	for _, r := range rules {
		for _, from := range found {
			b.loads = append(b.loads, load{p.rt.ID, r.rel, r.identity(), from, r.origin})
		}
	}
	if f, ok := form[found[0]]; ok && (f == render.Plain || f == render.Paths) && len(rules[0].only) == 0 {
		b.folders[p.rt.ID] = found[0]
	}
}

// askers names the bundles of rules, and where a spec names them.
func askers(rules []rule) (string, []reconcile.Position) {
	var labels []string
	var origin []reconcile.Position
	for _, r := range rules {
		if !slices.Contains(labels, r.label) {
			labels = append(labels, r.label)
		}
		origin = joined(origin, r.origin)
	}
	return list(labels), origin
}

// indexRules places rules for a program that loads no folder and must not load
// a text, and lists them in the file that it reads.
func (b *builder) indexRules(p place, rules []rule) {
	for _, r := range rules {
		folder := p.scope.Rules
		if r.src.Path == "" && p.scope.Dir != "" {
			folder = p.scope.Dir
		}
		target := path.Join(folder, r.rel)
		b.leaf(fileAt(target), "", reconcile.Leaf{Body: r.body(render.Plain), Origin: r.origin}, r.label)
		b.index[p.scope.RulesIndex] = append(b.index[p.scope.RulesIndex], indexEntry{"rule " + r.rel + " " + list(r.only), target, r.describe(), r.origin})
		b.loads = append(b.loads, load{p.rt.ID, r.rel, r.identity(), "", r.origin})
		if len(r.only) == 0 {
			b.folders[p.rt.ID] = folder
		}
	}
}
