package start

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// maxRounds is how often things are left aside until the rest can be planned.
const maxRounds = 4

// settle plans what the import would write, before it is written. What aisync
// would not write again as it lies there is left aside; a spec that cannot be
// planned is an error.
func (im *importing) settle(ctx context.Context) (map[string][]byte, error) {
	for round := 1; ; round++ {
		texts, err := im.specTexts(ctx)
		if err != nil {
			return nil, err
		}
		without := map[string][]string{}
		aside, err := im.rehearse(ctx, texts, without)
		if err != nil && im.wasBroken(ctx) {
			im.app.Say("the spec cannot be planned as it is, so this import is not checked; see: aisync plan")
			return texts, nil
		}
		if err != nil {
			return nil, advice.New(fmt.Errorf("the spec that this would write cannot be planned, so nothing was written: %w", err), "leave a program out, such as: aisync import --from "+string(im.found.From[0]))
		}
		if len(aside)+len(without) == 0 || round == maxRounds {
			return texts, nil
		}
		if im.options.Without == nil {
			im.options.Without = map[string][]string{}
		}
		for from, ids := range without {
			im.options.Without[from] = append(im.options.Without[from], ids...)
		}
		if im.options.Aside == nil {
			im.options.Aside = map[string]string{}
		}
		for from, why := range aside {
			im.options.Aside[from] = why
		}
		if im.found, err = gather.From(im.dir, im.options); err != nil {
			return nil, err
		}
	}
}

// wasBroken reports whether the spec that is there cannot be planned, such as one
// with a source that was never fetched.
func (im *importing) wasBroken(ctx context.Context) bool {
	if im.edit == nil {
		return false
	}
	m := im.app.Machine(im.places)
	m.Notify, m.Offline = func(string, ...any) {}, true
	_, err := stack.Open(ctx, m, im.where())
	return err != nil
}

// where is the scope of the spec.
func (im *importing) where() stack.Scope {
	if im.options.Home {
		return stack.ScopeHost
	}
	return stack.ScopeProject
}

// rehearse plans with the specs in texts and the bundle as it would be. It
// returns what would be a conflict with the very file that it was taken from, and
// adds to without the runtimes for which something else lies where a neutral text
// would go.
func (im *importing) rehearse(ctx context.Context, texts map[string][]byte, without map[string][]string) (map[string]string, error) {
	stage, err := os.MkdirTemp("", "aisync-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if err := im.stage(stage); err != nil {
		return nil, err
	}
	m := im.app.Machine(im.places)
	m.Texts, m.Instead = texts, map[string]string{im.bundle: stage}
	m.Notify, m.Offline = func(string, ...any) {}, true
	v, err := stack.Open(ctx, m, im.where())
	if err != nil {
		return nil, err
	}
	ask := stack.Request{Scope: im.where()}
	for _, d := range v.Declared.Declarations {
		if d.Target.Kind() == "file" || d.Target.Kind() == "link" {
			ask.Targets = append(ask.Targets, string(d.Target))
		}
	}
	if len(ask.Targets) == 0 {
		im.superfluous, im.changes = nil, []contextreport.LoadChange{}
		return nil, nil
	}
	p, err := v.Plan(ctx, ask)
	if err != nil {
		return nil, err
	}
	if im.superfluous, err = im.replaced(v, p); err != nil {
		return nil, err
	}
	if im.changes, err = im.loadChanges(v, p); err != nil {
		return nil, err
	}
	aside := im.serversAside(p)
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.Want == nil || l.Action != reconcile.Clash && l.Action != reconcile.Unclear {
				continue
			}
			src, _, ok := file.SourceOf(l.Want.Body)
			rel, err := filepath.Rel(stage, src)
			if !ok || err != nil || strings.HasPrefix(rel, "..") {
				continue
			}
			for _, t := range im.found.Taken {
				at := strings.TrimPrefix(c.Target.Resource.Address.Name(), "~/")
				if t.To != rel && !strings.HasPrefix(rel, t.To+"/") {
					continue
				}
				if ids := im.placeOf(at); slices.Contains(neutralOrigins, im.found.From[0]) && len(ids) > 0 {
					for _, id := range ids {
						if !slices.Contains(without[t.From], id) {
							without[t.From] = append(without[t.From], id)
						}
					}
					continue
				}
				if t.From == at || strings.HasPrefix(at, t.From+"/") {
					aside[t.From] = "aisync would not write it as it is there: " + l.Meaning
					if _, err := os.Lstat(filepath.Join(im.bundle, rel)); err == nil {
						aside[t.From] = "edited since " + im.short(filepath.Join(im.bundle, rel)) + " was imported; aisync plan shows both"
					}
				}
			}
		}
	}
	return aside, nil
}

// neutralOrigins are sources for all programs.
var neutralOrigins = []gather.Origin{"rulesync", "ruler"}

// placeOf returns the runtimes of the spec that keep rules, skills, commands or
// subagents where at lies.
func (im *importing) placeOf(at string) (ids []string) {
	for _, id := range im.runtimes() {
		rt, _ := catalog.With(spec.Catalog{}).Runtime(id)
		s := rt.Project
		if im.options.Home {
			s = rt.User
		}
		folders := []string{s.Rules, s.Skills}
		if s.Commands != nil {
			folders = append(folders, s.Commands.Path)
		}
		if s.Agents != nil {
			folders = append(folders, s.Agents.Path)
		}
		if slices.ContainsFunc(folders, func(f string) bool {
			return f != "" && strings.HasPrefix(at, strings.TrimPrefix(f, "~/")+"/")
		}) {
			ids = append(ids, id)
		}
	}
	return ids
}

// stage writes the bundle as it would be below dir.
func (im *importing) stage(dir string) error {
	if _, err := os.Stat(im.bundle); err == nil {
		if err := os.CopyFS(dir, os.DirFS(im.bundle)); err != nil {
			return err
		}
	}
	for _, f := range im.found.Files {
		at := filepath.Join(dir, f.Path)
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, f.Text, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether the import brings anything that bundle and spec lack, and
// leaves out of the result what they have.
func (im *importing) isNew() bool {
	known := func(f gather.File) bool { return sameFile(filepath.Join(im.bundle, f.Path), f.Text) }
	lacks := false
	for _, f := range im.found.Files {
		if _, err := os.Lstat(filepath.Join(im.bundle, f.Path)); err != nil {
			lacks = true
		}
	}
	im.found.Taken = slices.DeleteFunc(im.found.Taken, func(t gather.Taken) bool {
		if name, ok := strings.CutPrefix(t.To, "mcp: "); ok {
			return im.edit != nil && slices.Contains(im.had, name)
		}
		return !slices.ContainsFunc(im.found.Files, func(f gather.File) bool {
			return (f.Path == t.To || strings.HasPrefix(f.Path, t.To+"/")) && !known(f)
		})
	})
	return lacks || im.edit == nil || len(im.edit.Diffs()) > 0
}
