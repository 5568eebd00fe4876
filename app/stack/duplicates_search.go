package stack

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// duplicates is what Duplicates knows of one plan.
type duplicates struct {
	*View
	ctx     context.Context
	plan    *reconcile.Plan
	own     map[string]contextreport.Own
	changes map[string]reconcile.Change // of whole files, by path
	trees   []*bundle.Tree
	known   map[string]lookalikes
}

// overlay fills in what aisync writes, and returns the tree with the changes of
// the plan to files that others write too.
func (d *duplicates) overlay() (loads.Tree, error) {
	known := folders{}
	after, err := d.filesAfter(d.plan, known, whole)
	if err != nil {
		return nil, err
	}
	owners := []reconcile.Owner{reconcile.HostOwner, reconcile.ProjectOwner(d.Places.Project)}
	if d.plan != nil {
		owners = slices.DeleteFunc(owners, d.Has) // the plan tells of those
		d.changesOf(after, known)
	}
	for _, o := range owners { // what others own is aisync's all the same
		for _, rec := range d.Store.Records(o) {
			at := known.of(d.Places, rec.Address)
			if _, there := d.own[at]; !there && rec.Address.Kind() == "file" {
				d.own[at] = recorded(rec)
			}
		}
	}
	return after, nil
}

// whole reports whether c makes or removes a file that is aisync's alone, which is
// told apart by its path.
func whole(c reconcile.Change) bool {
	return c.Target.Resource.Address.Kind() == "file" && slices.ContainsFunc(c.Leaves, func(l reconcile.LeafChange) bool {
		return l.Key == "" && (l.Want == nil && l.Writes() || l.Want != nil && kept(l))
	})
}

// changesOf fills in what the plan makes.
func (d *duplicates) changesOf(after *loads.Planned, known folders) {
	for _, c := range d.plan.Changes {
		if c.Target.Resource.Address.Kind() != "file" || c.Target.Stray && !c.Writes() {
			continue
		}
		at := known.of(d.Places, c.Target.Resource.Address)
		own := contextreport.Own{Whole: whole(c)}
		for _, l := range c.Leaves {
			switch {
			case l.Want == nil || !kept(l):
			case l.Key == "":
				own.Digest, _, _ = strings.Cut(string(l.Want.Body.Fingerprint()), "+")
			default:
				own.Keys = append(own.Keys, string(l.Key))
			}
		}
		if own.Whole {
			d.changes[at] = c
		} else if doc, err := after.ReadFile(strings.TrimPrefix(at, "/")); err == nil {
			own.Only = nothingBut(doc, own.Keys)
		}
		if own.Whole || len(own.Keys) > 0 {
			d.own[at] = own
		}
	}
}

// recorded is a file as records have it.
func recorded(rec reconcile.Record) contextreport.Own {
	var own contextreport.Own
	for _, l := range rec.Leaves {
		switch {
		case l.Declined != "":
		case l.Key == "":
			own.Whole = true
			own.Digest, _, _ = strings.Cut(string(l.Live), "+")
		default:
			own.Keys = append(own.Keys, string(l.Key))
		}
	}
	return own
}

// kept reports whether what l wants is there after the plan.
func kept(l reconcile.LeafChange) bool {
	return l.Action != reconcile.Clash && l.Action != reconcile.Unclear && !l.Decline
}

// nothingBut reports whether an instruction file holds only blocks and lines that
// keys name.
func nothingBut(doc []byte, keys []string) bool {
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, merge.BlockKey("")); ok {
			before, rest, begins := bytes.Cut(doc, []byte("<!-- aisync:begin "+name+" -->"))
			_, after, ends := bytes.Cut(rest, []byte("<!-- aisync:end "+name+" -->"))
			if begins && ends {
				doc = slices.Concat(before, after)
			}
		}
	}
	for line := range bytes.Lines(doc) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !slices.Contains(keys, merge.LineKey(string(line))) {
			return false
		}
	}
	return true
}

// text is what the file of c at a path holds after the plan.
func (d *duplicates) text(c reconcile.Change, at string) ([]byte, error) {
	if !c.Writes() {
		return os.ReadFile(at)
	}
	doc, _, gone, err := file.After(d.ReadEnv(), c)
	if gone {
		err = errors.Join(err, fs.ErrNotExist)
	}
	return doc, err
}

// open returns the sources of the specs that are on this machine.
func (d *duplicates) open() []*bundle.Tree {
	if d.trees == nil && d.Bundles != nil {
		d.trees = []*bundle.Tree{}
		for _, src := range SourcesOf(d.Spec.Host, d.Spec.Project) {
			if t, err := d.Bundles.Open(d.ctx, src); err == nil && !slices.Contains(d.trees, t) {
				d.trees = append(d.trees, t)
			}
		}
	}
	return d.trees
}

// titles are the rules that lie in files, by their heading. It reads the rules
// that the project asks for, which were read for the plan.
func (d *duplicates) titles() map[string][]string {
	of := map[string]string{}
	take := func(p *bundle.Part, err error) {
		if err == nil { // declaring it reports the error
			for _, f := range p.Rules {
				of[f.Path] = "# " + f.About.Title
			}
		}
	}
	for _, t := range d.open() {
		take(t.Core())
		if d.Spec.Project == nil {
			continue
		}
		bundles, teams := d.Spec.Project.References()
		for _, ref := range bundles {
			if slices.Contains(t.Languages(), ref.Name) {
				take(t.Language(ref.Name))
			}
		}
		for _, ref := range teams {
			if slices.Contains(t.Teams(), ref.Name) {
				take(t.Team(ref.Name))
			}
		}
	}
	out := map[string][]string{}
	for at, c := range d.changes {
		for _, l := range c.Leaves {
			if l.Want == nil {
				continue
			}
			if src, _, ok := file.SourceOf(l.Want.Body); ok && of[src] != "" {
				out[of[src]] = append(out[of[src]], at)
			}
		}
	}
	return out
}

// rules are the texts of all rules of the sources.
func (d *duplicates) rules() (texts [][]byte) {
	for _, t := range d.open() {
		files, _ := t.Files() // declaring the bundles reports the error
		for _, f := range files {
			if f.Text != nil {
				texts = append(texts, f.Text)
			}
		}
	}
	return texts
}

// unix is a text without the carriage returns that git may add to line ends.
func unix(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }

// lookalikes is what sources have, and had, under one name.
type lookalikes struct{ now, past [][]byte }

// lookUp tells what sources of bundles have of a file's name.
func (d *duplicates) lookUp(kind loads.Kind, at string, text []byte) contextreport.KnownFile {
	name := path.Join(path.Base(path.Dir(at)), path.Base(at))
	if kind == loads.Rule {
		name = path.Base(at)
		for _, suffix := range []string{".instructions.md", ".mdc"} {
			if stem, ok := strings.CutSuffix(name, suffix); ok {
				name = stem + ".md"
			}
		}
		name = "rules/" + name
	}
	l, ok := d.known[name]
	if !ok {
		for _, t := range d.open() {
			now, past := t.Lookalikes(name)
			for _, f := range now {
				if b, err := t.Read(f); err == nil { // declaring it reports the error
					l.now = append(l.now, b)
				}
			}
			l.past = append(l.past, past...)
		}
		d.known[name] = l
	}
	text = unix(text)
	is := func(b []byte) bool {
		if kind != loads.Rule {
			return bytes.Equal(unix(b), text)
		}
		return slices.ContainsFunc([]string{render.Plain, render.Paths, render.MDC, render.Instructions}, func(form string) bool {
			return bytes.Equal(unix(render.RuleFile(form, b)), text)
		})
	}
	now := slices.ContainsFunc(l.now, is) || kind == loads.Rule && slices.ContainsFunc(d.rules(), is) // under another name
	return contextreport.KnownFile{Now: now, Earlier: slices.ContainsFunc(l.past, is), Gone: len(l.now) == 0, Texts: l.now}
}
