// Package model is the provider of model files. One is visible under its name
// only after its sha256 was right; an unchanged one is known by its stat, so
// that nothing is read; and no bytes of a model are ever deleted here. Start
// reading at Artifact, then observe.go and publish.go.
package model

import (
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Artifact is one file of a model. It is a Body: a leaf of its own, under the
// key "" or, for a model in shards, the name of the file. Its bytes lie in the
// store under their sha256; what the leaf owns is the friendly name.
type Artifact struct {
	ID      string
	Quant   string
	License string
	Shard   int                // its place among the files of the model, from 0
	Store   fsys.LogicalPath   // folder of all models
	Path    fsys.LogicalPath   // store.Friendly
	Views   []fsys.LogicalPath // names in other programs' folders, resources of their own
	Size    int64              // bytes; a rough figure while it is not pinned
	SHA256  string             // 64 hex digits; "" while it is not pinned
	Sources []string
	Open    string // what is found only when it is pinned, and where: Path and Size are then not known; "" where they are
	Reason  string // why this quant
	Unknown string // why nobody can say now what its content is, and what to do; "" where that is known or was not asked
}

// Fingerprint implements reconcile.Body.
func (a Artifact) Fingerprint() reconcile.Fingerprint {
	if a.SHA256 == "" {
		return reconcile.Fingerprint("unpinned " + string(a.Path))
	}
	return fingerprint(a.SHA256, a.Path)
}

// Redacted implements reconcile.Body.
func (a Artifact) Redacted() json.RawMessage {
	b, _ := json.Marshal(struct {
		Quant   string           `json:"quant"`
		License string           `json:"license,omitempty"`
		Path    fsys.LogicalPath `json:"path"`
		Size    int64            `json:"size,omitempty"`
		SHA256  string           `json:"sha256,omitempty"`
		Reason  string           `json:"reason,omitempty"`
	}{a.Quant, a.License, a.Path, a.Size, a.SHA256, a.Reason}) // plain fields: cannot fail
	return b
}

func fingerprint(sha256 string, p fsys.LogicalPath) reconcile.Fingerprint {
	return reconcile.Fingerprint("sha256:" + strings.ToLower(sha256) + " " + string(p))
}

// unverified is a file of that size whose bytes nobody has read.
func unverified(size int64, p fsys.LogicalPath) reconcile.Fingerprint {
	return reconcile.Fingerprint(fmt.Sprintf("unverified:%d %s", size, p))
}

// blob is where the bytes lie when they are whole and right.
func (a Artifact) blob() fsys.LogicalPath {
	if a.SHA256 == "" {
		return ""
	}
	return store.Blob(a.Store, a.SHA256)
}

// part is where the download lies until then.
func (a Artifact) part() fsys.LogicalPath { return store.Part(a.Store, a.SHA256) }

// pinned says what to do where the content is not known yet.
func (a Artifact) pinned() error {
	if a.Open != "" {
		return fmt.Errorf("%s are not known yet; %s", a.Open, advice.LockOnline)
	}
	if a.SHA256 == "" || a.Size <= 0 {
		return fmt.Errorf("%s has no digest yet, so nothing could be verified; %s", a.Path.Base(), advice.LockOnline)
	}
	return nil
}

// artifact is what l wants.
func artifact(l reconcile.Leaf) (Artifact, error) {
	a, ok := l.Body.(Artifact)
	if !ok {
		return a, fmt.Errorf("leaf %q wants a %T, which is no model file", l.Key, l.Body)
	}
	return a, nil
}
