package pin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Pushed is an artifact that a registry has now.
type Pushed struct {
	At       string // oci://HOST/REPO:TAG, or @DIGEST
	Manifest string // sha256:…
	Sent     int64  // bytes of files; 0 if the registry had them
}

// PushedModel is a model to push: its files are verified ones.
type PushedModel struct {
	ID, Quant, License string
	Files              []PushedFile // shards in order
}

// PushedFile is one file of a model.
type PushedFile struct {
	Name, Path, SHA256 string
	Size               int64
}

// Repository is a repository of a registry, oci://HOST/REPO, and a tag in it.
type Repository struct{ Name, Tag string }

// ParseRepository reads oci://HOST/REPO, or with :TAG at its end.
func ParseRepository(text string) (Repository, error) {
	if text = strings.TrimRight(text, "/"); !spec.IsOCI(text) || strings.Contains(text, "@") {
		return Repository{}, fmt.Errorf("%q is no repository of a registry; want oci://HOST/REPO, or oci://HOST/REPO:TAG", text)
	}
	if err := oci.Check(text); err != nil {
		return Repository{}, err
	}
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "/") {
		return Repository{text[:i], text[i+1:]}, nil
	}
	return Repository{text, ""}, nil
}

func (r Repository) at(tag string) string {
	if r.Tag != "" {
		tag = r.Tag
	}
	return r.Name + ":" + tag
}

// PushModel sends a model to r, with the tag ID-QUANT where r has none. progress may be
// nil. The error wraps reconcile.ErrOffline if the network must not be used.
func (n *Network) PushModel(ctx context.Context, r Repository, m PushedModel, progress func(done, total int64)) (Pushed, error) {
	at := r.at(m.ID + "-" + m.Quant)
	if n.Offline {
		return Pushed{}, fmt.Errorf("push to %s: %w", at, reconcile.ErrOffline)
	}
	out := oci.Model{Name: m.ID, Quant: m.Quant, License: m.License}
	for _, f := range m.Files {
		out.Files = append(out.Files, oci.File{Layer: oci.Layer{Title: f.Name, SHA256: f.SHA256, Size: f.Size}, Path: f.Path})
	}
	p, err := n.registry(n.client()).PushModel(ctx, at, out, progress)
	return Pushed{at, p.Manifest, p.Sent}, err
}

// PushSource sends a bundle source to r: a folder with the tag of r, or latest; what is
// pinned so that a mirror has it by its pin. dir is its folder on this machine, and pin
// its commit or manifest, "" for a folder.
func (n *Network) PushSource(ctx context.Context, r Repository, src spec.Source, dir, pin string) (Pushed, error) {
	registry := n.registry(n.client())
	switch root := bundle.Fetched(src, n.Home); {
	case n.Offline:
		return Pushed{}, fmt.Errorf("push to %s: %w", r.Name, reconcile.ErrOffline)
	case pin == "":
		at := r.at("latest")
		p, err := registry.PushFolder(ctx, at, dir)
		return Pushed{at, p.Manifest, p.Sent}, err
	case r.Tag != "":
		return Pushed{}, fmt.Errorf("source %q is pinned, and a mirror has it by its pin; leave :%s out", src.Name, r.Tag)
	case strings.HasPrefix(root, "git::"):
		return n.pushCommit(ctx, r, src, dir, pin)
	case spec.IsOCI(root):
		p, err := registry.Copy(ctx, pinnedAddress(root, map[string]string{"manifest": pin}), r.Name)
		return Pushed{r.Name + "@" + pin, p.Manifest, p.Sent}, err
	}
	return Pushed{}, fmt.Errorf("source %q is an archive, which is pinned by what it installs: nothing could verify a mirror's; push its folder, and name that as the source", src.Name)
}

// pushCommit sends the commit that is checked out in dir, with its history.
func (n *Network) pushCommit(ctx context.Context, r Repository, src spec.Source, dir, commit string) (Pushed, error) {
	at := r.at(CommitTag(commit))
	registry := n.registry(n.client())
	if has, err := registry.Has(ctx, at); has || err != nil {
		return Pushed{At: at}, err
	}
	tmp, err := os.MkdirTemp("", "aisync-push-")
	if err != nil {
		return Pushed{}, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, fetch.BundleFile)
	switch id, err := git.Bundle(ctx, dir, out); {
	case err != nil:
		return Pushed{}, fmt.Errorf("source %q: %w", src.Name, err)
	case id != commit:
		return Pushed{}, errors.New("the fetched source " + src.Name + " is at another commit than its pin; fetch it again: aisync lock --update " + src.Name)
	}
	p, err := registry.PushCommit(ctx, at, out, fetch.BundleFile)
	return Pushed{at, p.Manifest, p.Sent}, err
}
