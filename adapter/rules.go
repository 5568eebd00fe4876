package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/adapter/cover"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// rule is one rule of a bundle, or the instructions of bundles for one runtime,
// before its place is chosen.
type rule struct {
	rel     string // "commits.md"
	text    []byte
	title   string
	kind    frontmatter.Kind
	globs   []string
	src     bundle.File // source of text; zero if it was put together
	only    []string    // ids of its runtimes, sorted; none: all
	readers []string    // of a list of rules: the runtimes that need it
	label   string
	origin  []reconcile.Position
	folders []string // of the project, to which it is limited; none: the whole project
	bare    string   // of a rule for folders: rel in its bundle
	plain   []byte   // of a rule for folders: text before it was limited
}

// addRules records the rules that programs must load. only is the runtime of
// the rules, "" for any.
func (b *builder) addRules(w bundleRequest, files []bundle.File, only string) {
	b.rules = slices.Grow(b.rules, len(files))
	for _, f := range files {
		r := rule{rel: f.Rel, text: f.Text, title: f.About.Title, kind: f.About.Kind, globs: f.About.Globs, src: f, label: w.label, origin: w.origin, folders: w.folders()}
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
		i := slices.IndexFunc(b.rules, func(r rule) bool {
			return r.src.Path == "" && slices.Equal(r.only, []string{p.rt.ID}) && slices.Equal(r.folders, w.folders())
		})
		if i < 0 {
			b.rules = append(b.rules, rule{rel: "instructions.md", text: []byte(content), title: "for " + p.rt.ID, only: []string{p.rt.ID}, label: w.label, origin: w.origin, folders: w.folders()})
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
	if form == render.Plain && r.src.Path != "" && len(r.folders) == 0 {
		return madeOf(r.src, reconcile.Fingerprint(r.src.Digest), 0o644, nil)
	}
	text := render.RuleFile(form, r.text)
	if r.src.Path == "" {
		return file.Whole(text, 0o644)
	}
	sum := sha256.Sum256(text)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if digest == r.src.Digest {
		return madeOf(r.src, reconcile.Fingerprint(digest), 0o644, nil)
	}
	return madeOf(r.src, reconcile.Fingerprint(digest), 0o644, func(src []byte) []byte {
		if len(r.folders) > 0 {
			src = frontmatter.ScopeTo(r.folders, src)
		}
		return render.RuleFile(form, src)
	})
}

// identity is equal for rules with the same text, and holds no reference to a file.
func (r rule) identity() string {
	switch {
	case r.src.Digest != "":
		return r.src.Digest
	case r.plain != nil:
		return string(r.plain)
	}
	return string(r.text)
}

func (r rule) isFor(p place) bool {
	if r.readers != nil {
		return slices.Contains(r.readers, p.rt.ID)
	}
	return len(r.only) == 0 || slices.Contains(r.only, p.rt.ID)
}

// placeRules chooses from where each program loads each rule, just once if
// possible, and declares the files. A rule keeps its kind for every program:
// what one cannot load for some files alone is named for it in a list.
func (b *builder) placeRules(places []place) {
	b.rules = b.distinct(b.rules)
	var groups [][]rule // of one kind, for the same runtimes
	for _, r := range b.rules {
		i := slices.IndexFunc(groups, func(g []rule) bool { return slices.Equal(g[0].only, r.only) && g[0].kind == r.kind })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		if g[0].kind == frontmatter.Always {
			b.placeAlways(places, g)
		} else {
			b.placeWaiting(places, g)
		}
	}
	for _, r := range b.lists() {
		b.placeAlways(places, []rule{r})
	}
	b.completeFolders(places)
}

// distinct returns rules by name, each once. Two rules of one name for the same
// program are an error unless they are equal.
func (b *builder) distinct(rules []rule) []rule {
	sort.SliceStable(rules, func(i, j int) bool { return rules[i].rel < rules[j].rel })
	var out []rule
next:
	for _, r := range rules {
		for i := len(out) - 1; i >= 0 && out[i].rel == r.rel; i-- {
			had := &out[i]
			switch {
			case len(had.only) > 0 && len(r.only) > 0 && !slices.ContainsFunc(r.only, func(id string) bool { return slices.Contains(had.only, id) }):
			case had.identity() != r.identity():
				b.fail(r.origin, "%s and %s (%s) bring different rules %s; leave one of the bundles out, or make the files equal",
					had.label, r.label, text(had.origin), r.rel)
				continue next
			case slices.Equal(had.only, r.only):
				had.origin = joined(had.origin, r.origin)
				continue next
			}
		}
		out = append(out, r)
	}
	return out
}

// The prices of places: a folder is cheaper than the common block for one
// program, and dearer for two.
const (
	priceFolder = 2
	priceBlock  = 3
)

// placeAlways places rules that hold always and are all for the same runtimes.
func (b *builder) placeAlways(places []place, rules []rule) {
	price, form := map[string]int{}, map[string]string{}
	consumers := make([]cover.Consumer, len(places))
	for i, p := range places {
		s, block, folder := b.alwaysConsumer(p, places, rules[0].isFor(p))
		if consumers[i] = s; !s.Wants {
			continue
		}
		if _, ok := price[folder]; folder != "" && !ok {
			price[folder], form[folder] = priceFolder, p.scope.RulesForm
		}
		if block != "" {
			price[block] = priceBlock
			if rules[0].readers != nil && b.written(block) {
				price[block] = 1 // the list costs nothing more there
			}
		}
	}
	chosen := cover.Choose(price, consumers)
	for _, folder := range chosen {
		for _, r := range rules {
			if f, ok := form[folder]; ok {
				b.ruleFile(folder, f, r)
			} else {
				b.text(folder, r)
			}
		}
	}
	for i, p := range places {
		b.told(p, consumers[i].Finds(chosen), rules)
	}
}

// alwaysConsumer says from where the program of p loads rules that hold always. It
// also returns the block and the folder of the program that can hold them.
func (b *builder) alwaysConsumer(p place, places []place, wants bool) (s cover.Consumer, block, folder string) {
	s = cover.Consumer{Wants: wants, Loads: slices.Clone(p.scope.RulesAlso)}
	block, folder = p.scope.RulesBlock, p.scope.Rules
	if b.barred[block] != "" || b.apart(p, places) {
		block = ""
	}
	if block != "" {
		s.Loads = append(s.Loads, block)
	}
	switch {
	case folder == "":
	case p.scope.RulesRef != nil:
		s.Told = folder
	default:
		s.Loads = append(s.Loads, folder)
	}
	return s, block, folder
}

// ruleFile declares a rule as a file of a folder.
func (b *builder) ruleFile(folder, form string, r rule) string {
	target := path.Join(folder, render.RuleName(form, r.rel))
	b.leaf(fileAt(target), "", reconcile.Leaf{Body: r.body(form), Origin: r.origin}, r.label)
	if len(r.only) == 0 && len(r.folders) == 0 && r.readers == nil && (form == render.Plain || form == render.Paths) {
		if b.holds[folder] == nil {
			b.holds[folder] = map[string]bool{}
		}
		b.holds[folder][r.rel] = true
	}
	return target
}

// native reports whether the program of p loads a rule of a kind when it is due,
// and not before.
func (p place) native(kind frontmatter.Kind) bool {
	if kind == frontmatter.Scoped {
		return p.scope.RulesForm != render.Plain
	}
	return p.scope.RulesForm == render.MDC || p.scope.RulesForm == render.Instructions
}

// placeWaiting places rules that do not hold always, all of one kind and for the
// same runtimes: in the form of each program that has one, and in a list for the
// others, which names the file that lies there already, or one that no program
// loads.
func (b *builder) placeWaiting(places []place, rules []rule) {
	price, form := map[string]int{}, map[string]string{}
	consumers := make([]cover.Consumer, len(places))
	for i, p := range places {
		s := cover.Consumer{Loads: p.scope.RulesAlso}
		if s.Wants = rules[0].isFor(p) && p.native(rules[0].kind); s.Wants {
			price[p.scope.Rules], form[p.scope.Rules] = priceFolder, p.scope.RulesForm
			s.Best = p.scope.Rules
			s.Loads = append([]string{s.Best}, s.Loads...)
		}
		consumers[i] = s
	}
	chosen := cover.Choose(price, consumers)
	for _, folder := range chosen {
		for _, r := range rules {
			b.ruleFile(folder, form[folder], r)
		}
	}
	var readers []string
	kept := ""
	for i, p := range places {
		switch {
		case !rules[0].isFor(p):
		case p.native(rules[0].kind):
			b.told(p, consumers[i].Finds(chosen), rules)
		default:
			readers = append(readers, p.rt.ID)
			kept = cmp.Or(kept, p.scope.RulesKept)
		}
	}
	if len(readers) == 0 {
		return
	}
	labels, origin := askers(rules)
	keptForm := render.Plain
	if len(chosen) > 0 {
		kept, keptForm = chosen[0], form[chosen[0]]
	}
	if kept == "" {
		b.note(true, origin, "the rules of %s that do not hold always are not for %s, which has no place for them %s", labels, list(readers), b.here(theirBundle))
		return
	}
	for _, r := range rules {
		if target := b.ruleFile(kept, keptForm, r); r.kind != frontmatter.Manual {
			b.listed = append(b.listed, listing{readers, r, target})
		}
	}
}

// completeFolders records for each program the folder of its rules that holds
// all of them, for the skills that refer to it.
func (b *builder) completeFolders(places []place) {
	all := map[string]bool{}
	for _, r := range b.rules {
		if len(r.only) == 0 && len(r.folders) == 0 {
			all[r.rel] = true
		}
	}
	for _, p := range places {
		for _, folder := range append([]string{p.scope.Rules, p.scope.RulesKept}, p.scope.RulesAlso...) {
			if b.folders[p.rt.ID] == "" && len(all) > 0 && len(b.holds[folder]) == len(all) {
				b.folders[p.rt.ID] = folder
			}
		}
	}
}

// told makes the program of p load rules from the places where it finds them,
// and reports if that is impossible.
func (b *builder) told(p place, found []string, rules []rule) {
	labels, origin := askers(rules)
	switch wants := rules[0].isFor(p); {
	case !wants && len(found) > 0 && rules[0].readers == nil:
		b.note(false, origin, "%s reads %s too, which of %s is for %s", p.rt.ID, list(found), labels, list(rules[0].only))
		return
	case !wants:
		return
	case len(found) == 0 && b.barred[p.scope.RulesBlock] != "":
		b.wait(p, origin)
		return
	case len(found) == 0:
		b.note(true, origin, "the rules of %s are not for %s, which has no place for them %s", labels, p.rt.ID, b.here(theirBundle))
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

// here says where a program has no place for something, and what puts that into
// all projects instead.
func (b *builder) here(instead string) string {
	if b.local {
		return "in this project that is one person's; to have them in all your projects, name " + instead + " of your host"
	}
	return "in this scope"
}

const theirBundle = "their bundle under bundles"
