package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Model chooses the quant of a model that the host uses, and returns it with
// its pinned files; reason says why. A quant without files, or with files
// without a digest, is not known yet: Result says why.
func (r *Resolver) Model(ctx context.Context, use spec.ModelUse, m spec.Model) (q spec.Quant, reason string, err error) {
	q, reason, err = r.quant(ctx, use, m)
	if err != nil {
		return q, reason, err
	}
	again := false
	if q.Repo != "" {
		q.Files, again, err = r.filesByName(ctx, use, q)
	} else {
		q.Files, err = withShards(q.Files)
	}
	if err != nil {
		return q, reason, err
	}
	name := ""
	if len(q.Files) > 0 {
		name = fileName(q.Files[0])
	}
	for i := range q.Files {
		if err := r.file(ctx, use, &q.Files[i], again); err != nil {
			return q, reason, err
		}
	}
	x := Chosen{Use: use, Model: m, Quant: q, Reason: reason}
	x.Shape, x.Here = r.shape(ctx, use, name, q)
	if s := x.Shape; s != nil && (!x.Here || local(q)) { // no apply changes what it says
		q.Chat = s.Chat
		x.Quant = q
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen == nil {
		r.chosen = map[string]Chosen{}
	}
	r.chosen[use.ID] = x
	return q, reason, nil
}

// local reports whether each file of q comes from this machine.
func local(q spec.Quant) bool {
	return !slices.ContainsFunc(q.Files, func(f spec.ModelFile) bool { return !slices.ContainsFunc(f.Sources, spec.IsLocal) })
}

func modelAddress(id string) reconcile.Address { return reconcile.Address("model:" + id) }

// withShards names all shards of a quant that names only the first.
func withShards(files []spec.ModelFile) ([]spec.ModelFile, error) {
	if len(files) != 1 || files[0].SHA256 != "" || files[0].Repo == "" && !files[0].InRegistry() {
		return slices.Clone(files), nil
	}
	names, err := hub.Shards(files[0].Path)
	if err != nil {
		return nil, err
	}
	out := make([]spec.ModelFile, len(names))
	for i, name := range names {
		out[i] = files[0]
		out[i].Path, out[i].Sources = name, nil
		if i > 0 {
			out[i].Size = 0
		}
		for _, s := range files[0].Sources {
			switch {
			case spec.IsOCI(s):
				out[i].Sources = append(out[i].Sources, s)
			case path.Base(s) == path.Base(files[0].Path):
				out[i].Sources = append(out[i].Sources, s[:len(s)-len(path.Base(s))]+path.Base(name))
			}
		}
	}
	return out, nil
}

// fileName is the name under which f is pinned: another revision, or another
// tag, has another name. "" if f cannot move.
func fileName(f spec.ModelFile) string {
	if f.Repo != "" {
		return atRevision(f.Repo, f.Revision) + "/" + f.Path
	}
	for _, s := range f.Sources {
		if spec.IsOCI(s) {
			artifact, _, _ := strings.Cut(s, "#")
			return artifact + "#" + path.Base(f.Path)
		}
	}
	return ""
}

// quantName is the name under which the files found by q's name are pinned.
func quantName(q spec.Quant) string { return atRevision(q.Repo, q.Revision) + ":" + q.Name }

// atRevision is a repository, with its revision if there is one.
func atRevision(repo, revision string) string {
	if revision == "" {
		return repo
	}
	return repo + "@" + revision
}

// filesByName returns the files of a repository that match a quant's name: the
// pinned ones, or the present ones, all of one commit; none if that is not
// known yet. again means that this Resolver found them.
func (r *Resolver) filesByName(ctx context.Context, use spec.ModelUse, q spec.Quant) (files []spec.ModelFile, again bool, err error) {
	name := quantName(q)
	pin, ok := r.get(r.Host, "files", name, "")
	if !ok {
		if r.asks() {
			files, _ := r.filesNow(ctx, q) // without them the model is shown as unknown
			return files, false, nil
		}
		if ask, err := r.mayPin(use, name); err != nil || !ask {
			return nil, false, err
		}
		a := r.quantOf(ctx, q)
		if a.err != nil {
			return nil, false, r.unanswered(use, a.err)
		}
		pin = reconcile.Pin{Kind: "files", Name: name, Values: map[string]string{"repo": q.Repo, "commit": a.files[0].Commit, "file": a.files[0].Path}}
		r.put(r.Host, pin)
	}
	first := spec.ModelFile{Path: pin.Values["file"], Repo: q.Repo, Revision: q.Revision, Commit: pin.Values["commit"]}
	if first.Path == "" || first.Commit == "" {
		return nil, false, damaged("files", name, use.ID)
	}
	files, err = withShards([]spec.ModelFile{first})
	return files, r.isFresh("files", name), err
}

// file fills in the fields of a file that only a hub or a registry knows:
// commit or manifest, size and digest. They must match those in the spec. again
// means that the existing pin was made for another answer.
func (r *Resolver) file(ctx context.Context, use spec.ModelUse, f *spec.ModelFile, again bool) error {
	name := fileName(*f)
	if name == "" {
		return nil
	}
	said := f.SHA256 != ""
	pin, ok := r.get(r.Host, "model", name, "")
	if !ok || again && !r.isFresh("model", name) {
		if said && (r.Mode != Lock || r.Network.Offline) {
			if f.Repo != "" {
				f.Sources = append([]string{hub.Source(f.Repo, cmp.Or(f.Commit, f.Revision, "main"), f.Path)}, f.Sources...)
			}
			return nil // the digest decides
		}
		if ask, err := r.mayPin(use, name); err != nil || !ask {
			return err
		}
		values, err := r.valuesOf(ctx, f)
		if err != nil {
			return r.unanswered(use, err)
		}
		if said && values["sha256"] != f.SHA256 {
			where, _, _ := strings.Cut(cmp.Or(f.Repo, name), "#")
			return fmt.Errorf("%s: the spec says sha256 %s, but %s has %s: %w; correct the spec if the new one is right", name, f.SHA256, where, values["sha256"], hub.ErrChanged)
		}
		pin = reconcile.Pin{Kind: "model", Name: name, Values: values}
		r.put(r.Host, pin)
	}
	if said && pin.Values["sha256"] != f.SHA256 {
		return otherDigest(name, f.SHA256, pin, use.ID)
	}
	return fill(f, pin)
}

// asks reports whether this Resolver asks without pinning.
func (r *Resolver) asks() bool { return r.Mode == Ask && r.dials() }

// mayPin reports whether the unpinned what must be pinned now. Otherwise it
// stays unpinned, which the plan shows.
func (r *Resolver) mayPin(use spec.ModelUse, what string) (bool, error) {
	switch {
	case r.Locked:
		return false, notPinned(what, spec.Position{})
	case r.Mode == Lock && r.Network.Offline:
		return false, fmt.Errorf("not pinned: %w", reconcile.ErrOffline)
	case !r.Mode.pins(), !r.about(modelAddress(use.ID)):
		return false, nil // the plan says that it must be pinned first; or it is not part of this apply
	case r.Network.Offline:
		r.leave(use, fmt.Errorf("not pinned: %w", reconcile.ErrOffline))
		return false, nil
	}
	return true, nil
}

// unanswered decides what follows if no host described a model: an error if
// everything must be pinned; otherwise the model is left out.
func (r *Resolver) unanswered(use spec.ModelUse, err error) error {
	var network net.Error
	var later interface{ RetryAfter() time.Duration }
	switch {
	case r.Mode == Lock && (errors.As(err, &network) || errors.As(err, &later) || errors.As(err, new(*timeoutError))):
		return &Error{Reason: HubDown, Err: err}
	case r.Mode == Lock:
		return err
	}
	r.leave(use, fmt.Errorf("it could not be pinned: %w", err))
	return nil
}

// leave records that a model is not available now.
func (r *Resolver) leave(use spec.ModelUse, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models == nil {
		r.models = map[string]LeftOut{}
	}
	r.models[use.ID] = LeftOut{modelAddress(use.ID), use.Pos, err}
}

// fill copies a pin's values to f.
func fill(f *spec.ModelFile, pin reconcile.Pin) error {
	if _, err := fmt.Sscan(pin.Values["size"], &f.Size); err != nil || len(pin.Values["sha256"]) != 64 {
		return damaged("model", pin.Name, pin.Name)
	}
	f.SHA256, f.Commit = pin.Values["sha256"], pin.Values["commit"]
	switch {
	case f.Repo != "" && f.Commit == "":
		return damaged("model", pin.Name, pin.Name)
	case f.Repo != "":
		f.Sources = append([]string{hub.Source(f.Repo, f.Commit, f.Path)}, f.Sources...)
		return nil
	}
	f.Sources = slices.Clone(f.Sources)
	i := slices.IndexFunc(f.Sources, spec.IsOCI)
	var err error
	if f.Sources[i], err = oci.At(f.Sources[i], pin.Values["manifest"]); err != nil {
		return damaged("model", pin.Name, pin.Name)
	}
	return nil
}

// damaged is the error of a pin with missing values; updating id pins it again.
func damaged(kind, name, id string) error {
	return &Error{Reason: Unfit, ID: id, Err: fmt.Errorf("%s: the pin of %s %s is damaged", FileName, kind, name)}
}

// otherDigest is the error of a spec that contradicts its pin.
func otherDigest(name, said string, pin reconcile.Pin, id string) error {
	return &Error{Reason: Unfit, ID: id, Err: fmt.Errorf("%s: the spec says sha256 %s, but %s pins %s", name, said, FileName, pin.Values["sha256"])}
}
