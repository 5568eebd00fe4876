// Package flagged finds, in what a plan writes from pinned sources of bundles, text
// that attacks the agent that reads it. A person's own files are theirs: aisync lint
// examines those. It writes nothing. Call Of, then Undecided and Hold.
package flagged

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Text is a text of a source in which something was found.
type Text struct {
	ID       string                `json:"id"`     // for apply --accept; it changes with the text
	Source   string                `json:"source"` // its name
	File     string                `json:"file"`   // in the source, or the target where no file of the source is the text
	Findings []hostiletext.Finding `json:"findings"`
	Targets  []reconcile.Address   `json:"targets"` // what it is written to, or into
	Origin   []reconcile.Position  `json:"origin"`
	Digest   string                `json:"digest"` // of the text, and of the rules that found something

	leaves []leaf
}

// leaf is a part of a target that the text is.
type leaf struct {
	address reconcile.Address
	key     reconcile.LeafKey
}

// Asked are the bundles that specs ask for.
type Asked struct {
	Host    *spec.Host           // nil: none
	Bundles *bundle.Sources      // opens the sources of the host's bundles
	Used    []adapter.UsedSource // of a project's bundles
}

// Of returns the texts of pinned sources that plan writes and in which something is
// found. What the host's spec trusts at its pin is left out.
func Of(ctx context.Context, asked Asked, trusted []string, plan *reconcile.Plan) []Text {
	f := finder{trees: asked.trees(ctx, trusted), texts: map[string]*examined{}}
	if len(f.trees) == 0 {
		return nil
	}
	for _, c := range plan.Changes {
		if !c.Writes() {
			continue
		}
		for _, l := range c.Leaves {
			if l.Want != nil && l.Writes() {
				f.add(c.Target.Resource.Address, *l.Want)
			}
		}
	}
	f.examine()
	var out []Text
	for _, x := range f.order {
		if len(x.findings) > 0 {
			out = append(out, x.result())
		}
	}
	return out
}

// trees are the pinned sources, by the place of a spec that asks for a bundle.
func (a Asked) trees(ctx context.Context, trusted []string) map[reconcile.Position]*bundle.Tree {
	out := map[reconcile.Position]*bundle.Tree{}
	add := func(at reconcile.Position, t *bundle.Tree) {
		if t.Pinned != "" && !slices.Contains(trusted, bundle.PinnedSource(t.URL, t.Pinned)) {
			out[at] = t
		}
	}
	for _, u := range a.Used {
		add(u.Origin, u.Tree)
	}
	if a.Host != nil && a.Bundles != nil {
		for _, b := range a.Host.Bundles {
			if !bundle.Remote(b.Source) {
				continue
			}
			if t, err := a.Bundles.Open(ctx, bundle.OfHost(b, a.Host.Dir)); err == nil { // else the plan has failed for it
				add(reconcile.Position(b.Pos), t)
			}
		}
	}
	return out
}

// finder collects the texts that a plan writes, and examines each once.
type finder struct {
	trees map[reconcile.Position]*bundle.Tree
	texts map[string]*examined // by source and file, or by part of a target
	order []*examined
}

// examined is a text, and where it goes.
type examined struct {
	tree     *bundle.Tree
	name     string // of a file of the tree, or of a part of a target that is made of several or of settings
	read     func() []byte
	leaves   []leaf
	origin   []reconcile.Position
	text     []byte
	findings []hostiletext.Finding
}

// add adds what a leaf writes, if it comes from a pinned source.
func (f *finder) add(a reconcile.Address, l reconcile.Leaf) {
	i := slices.IndexFunc(l.Origin, func(p reconcile.Position) bool { return f.trees[p] != nil })
	if i < 0 {
		return
	}
	x := &examined{tree: f.trees[l.Origin[i]]}
	key := x.of(a, l)
	if known := f.texts[key]; known != nil {
		x = known
	} else {
		f.texts[key] = x
		f.order = append(f.order, x)
	}
	x.leaves = append(x.leaves, leaf{a, l.Key})
	for _, p := range l.Origin {
		if !slices.Contains(x.origin, p) {
			x.origin = append(x.origin, p)
		}
	}
}

// of sets the name of what l writes, and how to read it. It returns what tells it
// from all others.
func (x *examined) of(a reconcile.Address, l reconcile.Leaf) (key string) {
	if src, _, is := file.SourceOf(l.Body); is {
		if rel, err := filepath.Rel(x.tree.Dir, src); err == nil && filepath.IsLocal(rel) {
			x.name = filepath.ToSlash(rel)
			x.read = func() []byte {
				text, _ := os.ReadFile(src) // what cannot be read is not written either
				return text
			}
			return x.tree.Dir + "\x00" + x.name
		}
	}
	x.name = string(a)
	if part, _, _ := strings.Cut(string(l.Key), "#"); part != "" {
		x.name += "#" + part
	}
	v, is := file.ValueOf(l.Body)
	var s string
	switch {
	case is && json.Unmarshal(v, &s) == nil:
		x.read = func() []byte { return []byte(s) }
	case is:
		x.name += settings
		x.read = func() []byte { return v }
	default:
		x.read = func() []byte {
			text, _ := file.Text(l.Body)
			return text
		}
	}
	return string(a) + "\x00" + string(l.Key)
}

// settings ends the name of a value, which is JSON.
const settings = ".json"

// examine scans all texts, several at once.
func (f *finder) examine() {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(f.order)) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(f.order)); i = next.Add(1) - 1 {
				x := f.order[i]
				x.text = x.read()
				if x.findings = hostiletext.Scan(x.name, x.text); len(x.findings) == 0 {
					x.text = nil
				}
			}
		})
	}
	wait.Wait()
}

// OfFile returns the text of a file of a source; ok is false if nothing is found in it.
func OfFile(source, name string, text []byte) (t Text, ok bool) {
	t = Text{Source: source, File: name, Findings: hostiletext.Scan(name, text)}
	t.identify(text)
	return t, len(t.Findings) > 0
}

// identify masks secrets in what was found, and sets what tells text from all others.
func (t *Text) identify(text []byte) {
	h := sha256.New()
	fmt.Fprintf(h, "flagged 1\x00%d\x00", len(text))
	h.Write(text)
	var rules []string
	for i, found := range t.Findings {
		t.Findings[i].Excerpt = secret.MaskText(found.Excerpt)
		if !slices.Contains(rules, found.Rule) {
			rules = append(rules, found.Rule)
		}
	}
	slices.Sort(rules)
	fmt.Fprintf(h, "\x00%s", strings.Join(rules, "\x00"))
	sum := hex.EncodeToString(h.Sum(nil))
	t.ID, t.Digest = sum[:12], "sha256:"+sum
}

// result returns what was found in x.
func (x *examined) result() Text {
	t := Text{Source: x.tree.Name, File: x.name, Findings: x.findings, Origin: x.origin, leaves: x.leaves}
	t.identify(x.text)
	for _, l := range x.leaves {
		if !slices.Contains(t.Targets, l.address) {
			t.Targets = append(t.Targets, l.address)
		}
	}
	if strings.HasPrefix(x.name, string(x.leaves[0].address)) {
		t.File = strings.TrimSuffix(x.name, settings)
		t.locate(x.tree)
	}
	return t
}

// locate names the file of the tree that has the findings, where one has them all:
// a person reads that.
func (t *Text) locate(tree *bundle.Tree) {
	files, err := tree.Files()
	if err != nil {
		return
	}
	for _, f := range files {
		text, err := os.ReadFile(f.Path)
		if err != nil {
			continue
		}
		at := slices.Clone(t.Findings)
		there := hostiletext.Scan(f.Src, text)
		for i, x := range at {
			k := slices.IndexFunc(there, func(y hostiletext.Finding) bool { return y.Rule == x.Rule && secret.MaskText(y.Excerpt) == x.Excerpt })
			if k < 0 {
				at = nil
				break
			}
			at[i].Line, at[i].Column = there[k].Line, there[k].Column
		}
		if at != nil {
			t.File, t.Findings = f.Src, at
			return
		}
	}
}

// Undecided returns the texts of list that the person did not agree to. An agreement
// is about the bytes of a text, wherever it comes from.
func Undecided(list []Text, a effects.Answers) []Text {
	return slices.DeleteFunc(slices.Clone(list), func(t Text) bool { return a.Agreed(reconcile.HostOwner, t.Digest) })
}

// Hold returns why a leaf of a plan must not be written while list needs an answer.
func Hold(list []Text) func(reconcile.Address, reconcile.LeafKey) string {
	return func(a reconcile.Address, key reconcile.LeafKey) string {
		for _, t := range list {
			if slices.Contains(t.leaves, leaf{a, key}) {
				return fmt.Sprintf("%s: %s of source %s is flagged: %s", effects.Waits, t.File, t.Source, t.Findings[0].Rule)
			}
		}
		return ""
	}
}

// Rules returns the rules that found something in what is written to a, each once.
func Rules(list []Text, a reconcile.Address) []string {
	var out []string
	for _, t := range list {
		if !slices.Contains(t.Targets, a) {
			continue
		}
		for _, f := range t.Findings {
			if !slices.Contains(out, f.Rule) {
				out = append(out, f.Rule)
			}
		}
	}
	return out
}

// Waiting says how many texts wait.
func Waiting(n int) string {
	if n == 1 {
		return "1 flagged text waits"
	}
	return fmt.Sprintf("%d flagged texts wait", n)
}
