package adapter

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/ollama"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// viewer declares the names of one model in other programs' folders. Each is a
// separate resource that depends on the model.
type viewer struct {
	b      *builder
	h      Host
	id     string
	chat   string // form of its prompts
	files  []spec.ModelFile
	origin []reconcile.Position
	of     *model.Artifact // the file being declared
}

// views declares the names that the host's spec asks for, for the file a, the
// i-th of its model, and returns them.
func (v viewer) views(i int, a model.Artifact) []fsys.LogicalPath {
	if a.SHA256 == "" {
		return nil // an unknown file has no name
	}
	v.of = &a
	var names []fsys.LogicalPath
	for _, program := range v.h.viewers(v.id) {
		var p fsys.LogicalPath
		switch program {
		case "huggingface":
			p = v.huggingFace(v.files[i])
		case "ollama":
			p = v.ollama()
		case "lmstudio":
			p = v.lmStudio(v.files[i])
		}
		if p != "" {
			names = append(names, p)
		}
	}
	return names
}

// viewers are the programs that see a model: those in the spec, and ollama if
// it serves the model.
func (h *Host) viewers(id string) []string {
	var out []string
	for _, program := range h.Spec.Views {
		out = append(out, program.Value)
	}
	serves := func(s spec.Service) bool {
		return s.Enabled && s.Kind == "ollama" && slices.Contains(s.Models, id)
	}
	if !slices.Contains(out, "ollama") && slices.ContainsFunc(h.Spec.Services, serves) {
		out = append(out, "ollama")
	}
	return out
}

// at is the address of a host path.
func (v viewer) at(kind string, p fsys.LogicalPath) reconcile.Address {
	if rest, ok := strings.CutPrefix(string(p), string(v.h.Home)+"/"); ok && v.h.Home != "" {
		return reconcile.Address(kind + ":~/" + rest)
	}
	return reconcile.Address(kind + ":" + string(p))
}

// name declares p as a name of the file's bytes.
func (v viewer) name(p fsys.LogicalPath) reconcile.Address {
	body := store.View{Dir: v.of.Store, SHA256: v.of.SHA256, Size: v.of.Size, Path: v.of.Path}
	return v.declare(v.at("view", p), reconcile.Leaf{Body: body, Origin: v.origin}, reconcile.Address("model:"+v.id))
}

func (v viewer) declare(a reconcile.Address, l reconcile.Leaf, after ...reconcile.Address) reconcile.Address {
	v.b.leaf(a, "", l, v.id)
	v.b.targets[a].DependsOn = append(v.b.targets[a].DependsOn, after...)
	return a
}

// huggingFace lays f out like the hub's cache: the blob under its digest, a
// link to it in the snapshot of its commit, and the branch that names the
// commit. See https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
func (v viewer) huggingFace(f spec.ModelFile) fsys.LogicalPath {
	switch {
	case v.h.programs().HuggingFace == "":
		return ""
	case f.Repo == "":
		v.b.note(false, v.origin, "model %s is not from Hugging Face, so its cache does not show it", v.id)
		return ""
	case f.Commit == "":
		v.b.note(false, v.origin, "the cache of Hugging Face does not show model %s: its commit in %s is not pinned", v.id, f.Repo)
		return ""
	}
	repo := v.h.programs().HuggingFace.Join("models--" + strings.ReplaceAll(f.Repo, "/", "--"))
	blob := repo.Join("blobs", strings.ToLower(v.of.SHA256))
	name := v.name(blob)
	shown := repo.Join("snapshots", f.Commit, f.Path)
	up := strings.Repeat("../", 2+strings.Count(path.Clean(f.Path), "/"))
	v.declare(v.at("link", shown), reconcile.Leaf{Body: link.To(up + "blobs/" + blob.Base()), Origin: v.origin}, name)
	branch := v.at("file", repo.Join("refs", cmp.Or(f.Revision, "main")))
	if f.Revision != f.Commit && v.b.targets[branch] == nil { // two commits of one repository: the first wins
		v.declare(branch, reconcile.Leaf{Key: reconcile.Seed, Own: reconcile.SeedOnly, Body: file.Whole([]byte(f.Commit), 0o644), Origin: v.origin}, name)
	}
	return blob
}

// lmStudio names the file where LM Studio looks: exactly two folders deep.
func (v viewer) lmStudio(f spec.ModelFile) fsys.LogicalPath {
	if v.h.programs().LMStudio == "" {
		return ""
	}
	p := store.Friendly(v.h.programs().LMStudio, v.id, f.Repo, f.Path)
	v.name(p)
	return p
}

// ollama declares the blob, a config and, after both, the manifest that keeps
// ollama from pruning them.
func (v viewer) ollama() fsys.LogicalPath {
	dir := v.h.programs().Ollama
	if dir == "" {
		return ""
	}
	if len(v.files) > 1 {
		if v.of.Shard == 0 {
			v.b.note(true, v.origin, "ollama cannot show model %s: it does not support shards", v.id)
		}
		return ""
	}
	digest := "sha256:" + strings.ToLower(v.of.SHA256)
	manifest, blobs := ollama.View(ollama.Model{Digest: digest, Size: v.of.Size, Quant: v.of.Quant, Chat: v.chat})
	blobAt := func(digest string) fsys.LogicalPath {
		return dir.Join("blobs", strings.Replace(digest, ":", "-", 1))
	}
	name := v.name(blobAt(digest))
	whole := func(p fsys.LogicalPath, b []byte, after ...reconcile.Address) reconcile.Address {
		return v.declare(v.at("file", p), reconcile.Leaf{Body: file.Whole(b, 0o644), Origin: v.origin}, after...)
	}
	after := []reconcile.Address{name}
	for _, blob := range blobs {
		after = append(after, whole(blobAt(blob.Digest), blob.Text, name))
	}
	if why := ollama.NoTools(v.id, v.chat); why != "" {
		v.b.note(true, v.origin, "%s", why)
	}
	whole(dir.Join("manifests", "registry.ollama.ai", "library", v.id, "latest"), manifest, after...)
	return blobAt(digest)
}
