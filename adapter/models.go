package adapter

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// models declares the models that the host wants, and their names in other
// programs' folders; a model in shards has one leaf for each file.
func (h *Host) models(b *builder) {
	for _, use := range h.Spec.Models {
		if err := h.model(b, use); err != nil {
			b.fail(from(use.Pos), "model %q: %w", use.ID, err)
		}
	}
}

func (h *Host) model(b *builder, use spec.ModelUse) error {
	i := slices.IndexFunc(h.Models, func(m spec.Model) bool { return m.ID == use.ID })
	if i < 0 {
		var names []string
		for _, m := range h.Models {
			names = append(names, m.ID)
		}
		return errors.New("is not in the catalog" + nearest.Suggest(use.ID, names))
	}
	dir, err := h.storeDir()
	if err != nil {
		return err
	}
	q, reason, err := h.Pick(use, h.Models[i])
	if err != nil {
		return err
	}
	if len(q.Files) == 0 { // its name is not resolved yet
		body := model.Artifact{ID: use.ID, Quant: q.Name, License: h.Models[i].License, Store: dir, Path: store.Friendly(dir, use.ID, q.Repo, q.Name), Reason: reason, Open: openIn(q)}
		b.leaf(reconcile.Address("model:"+use.ID), "", reconcile.Leaf{Body: body, Origin: from(use.Pos), Reason: reason}, use.ID)
		return nil
	}
	// No model for other programs.
	projects := slices.ContainsFunc(h.Spec.Models, func(u spec.ModelUse) bool { return u.Projector == use.ID })
	show := viewer{b: b, h: *h, id: use.ID, chat: cmp.Or(h.Models[i].Chat, q.Chat), files: q.Files, origin: from(use.Pos)}
	for n, f := range q.Files {
		a := model.Artifact{
			ID: use.ID, Quant: q.Name, License: h.Models[i].License, Shard: n, Store: dir, Path: store.Friendly(dir, use.ID, f.Repo, f.Path),
			Size: f.Size, SHA256: f.SHA256, Sources: f.Sources, Reason: reason,
		}
		for _, m := range h.Spec.Mirrors {
			a.Mirrors = append(a.Mirrors, m.Value)
		}
		if !projects {
			a.Views = show.views(n, a)
		}
		leaf := reconcile.Leaf{Body: a, Origin: from(use.Pos), Reason: reason}
		if len(q.Files) > 1 {
			leaf.Key, leaf.Own = reconcile.LeafKey(path.Base(f.Path)), reconcile.Member
		}
		b.leaf(reconcile.Address("model:"+use.ID), "", leaf, use.ID)
	}
	return nil
}

// openIn says where the files of q will be found.
func openIn(q spec.Quant) string {
	switch {
	case q.Repo == "":
		return "its files"
	case q.Revision == "":
		return "its files in " + q.Repo
	}
	return "its files in " + q.Repo + " at " + q.Revision
}

// storeDir is the folder of all models.
func (h *Host) storeDir() (fsys.LogicalPath, error) {
	dir := h.store()
	if strings.HasPrefix(dir, "~") && h.Home == "" {
		return "", errors.New("the store " + dir + " starts at the home folder, which is unknown")
	}
	return fileAt(dir).Path(h.Home), nil
}

// programs are the folders of other programs that keep models.
func (h *Host) programs() store.Programs {
	if h.Programs != (store.Programs{}) {
		return h.Programs
	}
	return store.ProgramPlaces(func(string) string { return "" }, h.Home)
}

// store is the folder of all models, as written in the spec.
func (h *Host) store() string {
	return cmp.Or(h.Store, h.Spec.Store.Value, "~/.local/share/llm/models")
}
