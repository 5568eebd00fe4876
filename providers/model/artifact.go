// Package model is the provider of model files. A file appears under its name
// only after its sha256 matched; an unchanged file is known by its stat and not
// read; bytes of a model are never deleted here. Start reading at Artifact,
// then observe.go and publish.go.
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

// Artifact is one file of a model. It is a Body: a leaf with the key "" or, for
// a model in shards, the name of the file. Its bytes lie in the store under
// their sha256; the leaf owns the friendly name.
type Artifact struct {
	ID      string
	Quant   string
	License string
	Shard   int                // its place among the files of the model, from 0
	Store   fsys.LogicalPath   // folder of all models
	Path    fsys.LogicalPath   // store.Friendly
	Views   []fsys.LogicalPath // names in other programs' folders, each a resource
	Size    int64              // bytes; an estimate while it is not pinned
	SHA256  string             // 64 hex digits; "" while it is not pinned
	Sources []string
	Mirrors []string // that are asked before Sources; for Explain
	Open    string   // what pinning will find, and where, while Path and Size are unknown; otherwise ""
	Reason  string   // why this quant
	Unknown string   // why its content cannot be known now, and what to do; "" if it is known or was not asked for
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

// unverified is the fingerprint of a file of that size whose bytes were not read.
func unverified(size int64, p fsys.LogicalPath) reconcile.Fingerprint {
	return reconcile.Fingerprint(fmt.Sprintf("unverified:%d %s", size, p))
}

// blob is the place of the verified bytes.
func (a Artifact) blob() fsys.LogicalPath {
	if a.SHA256 == "" {
		return ""
	}
	return store.Blob(a.Store, a.SHA256)
}

// part is the place of the unfinished download.
func (a Artifact) part() fsys.LogicalPath { return store.Part(a.Store, a.SHA256) }

// pinned returns an error with what to do if the content is not known yet.
func (a Artifact) pinned() error {
	if a.Open != "" {
		return fmt.Errorf("%s are not known yet; %s", a.Open, advice.LockOnline)
	}
	if a.SHA256 == "" || a.Size <= 0 {
		return fmt.Errorf("%s has no digest yet, so nothing could be verified; %s", a.Path.Base(), advice.LockOnline)
	}
	return nil
}

// artifact is the Artifact that l wants.
func artifact(l reconcile.Leaf) (Artifact, error) {
	a, ok := l.Body.(Artifact)
	if !ok {
		return a, fmt.Errorf("leaf %q wants a %T, not a model file", l.Key, l.Body)
	}
	return a, nil
}
