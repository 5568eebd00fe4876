package runtime

import (
	"errors"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/bundle"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// models declares the models that the host wants, each in its own folder of
// the store; one in shards has a leaf a file.
func (h Host) models(b *builder) {
	for _, use := range h.Spec.Models {
		if err := h.model(b, use); err != nil {
			b.fail(from(use.Pos), "model %q: %w", use.ID, err)
		}
	}
}

func (h Host) model(b *builder, use spec.ModelUse) error {
	i := slices.IndexFunc(h.Models, func(m spec.Model) bool { return m.ID == use.ID })
	if i < 0 {
		var names []string
		for _, m := range h.Models {
			names = append(names, m.ID)
		}
		return errors.New("is not in the catalog" + bundle.Suggest(use.ID, names))
	}
	folder, err := h.folder(use.ID)
	if err != nil {
		return err
	}
	q, reason, err := h.Pick(use, h.Models[i])
	if err != nil {
		return err
	}
	for _, f := range q.Files {
		a := model.Artifact{
			ID: use.ID, Quant: q.Name, Path: folder.Join(path.Base(f.Path)),
			Size: f.Size, SHA256: f.SHA256, Sources: f.Sources, Reason: reason,
		}
		leaf := reconcile.Leaf{Body: a, Origin: from(use.Pos), Reason: reason}
		if len(q.Files) > 1 {
			leaf.Key, leaf.Own = reconcile.LeafKey(path.Base(f.Path)), reconcile.Member
		}
		b.leaf(reconcile.Address("model:"+use.ID), "", leaf, use.ID)
	}
	return nil
}

// folder is where the files of a model lie.
func (h Host) folder(id string) (fsys.LogicalPath, error) {
	store := h.store()
	if strings.HasPrefix(store, "~") && h.Home == "" {
		return "", errors.New("the store " + store + " starts at a home folder, and none is known")
	}
	return fileAt(store).Path(h.Home).Join(id), nil
}

// store is the folder of all models, as the spec names it.
func (h Host) store() string {
	return firstOf(h.Store, h.Spec.Store.Value, "~/.local/share/llm/models")
}
