package model

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Held returns every model file that the declarations want or the records know,
// sorted by model, shards in order. For store.GC, pass the records of every
// owner.
func Held(decls []reconcile.Declaration, records []reconcile.Record) []store.Held {
	type file struct {
		store.Held
		shard int
	}
	var files []file
	find := func(sha256 string, p fsys.LogicalPath) int {
		return slices.IndexFunc(files, func(f file) bool { return strings.EqualFold(f.SHA256, sha256) && f.Path == p })
	}
	for _, d := range decls {
		for _, l := range d.Leaves {
			if a, ok := l.Body.(Artifact); ok && find(a.SHA256, a.Path) < 0 {
				files = append(files, file{store.Held{
					ID: a.ID, Quant: a.Quant, License: a.License, SHA256: lower(a.SHA256), Size: a.Size, Path: a.Path, Views: a.Views, Wanted: true,
				}, a.Shard})
			}
		}
	}
	for _, rec := range records {
		for i := range rec.Leaves {
			switch rec.Address.Kind() {
			case "model":
				n := noteOf(&rec.Leaves[i])
				if n.SHA256 == "" {
					continue
				}
				at := find(n.SHA256, n.Path)
				if at < 0 {
					at = len(files)
					files = append(files, file{store.Held{ID: rec.Address.Name(), SHA256: n.SHA256, Size: n.Size, Path: n.Path}, i})
				}
				files[at].Verified, files[at].Stat, files[at].From = n.Verified, n.Stat, n.From
			case "view":
				var n struct {
					SHA256 string           `json:"sha256"`
					Path   fsys.LogicalPath `json:"path"`
					Stat   store.Stat       `json:"stat"`
				}
				if json.Unmarshal(rec.Leaves[i].Private, &n) == nil && n.SHA256 != "" && find(n.SHA256, n.Path) < 0 {
					files = append(files, file{store.Held{ID: rec.Address.Name(), SHA256: n.SHA256, Size: n.Stat.Size, Path: n.Path}, 0})
				}
			}
		}
	}
	sort.SliceStable(files, func(i, j int) bool {
		a, b := files[i], files[j]
		return a.ID < b.ID || a.ID == b.ID && a.shard < b.shard
	})
	out := make([]store.Held, len(files))
	for i, f := range files {
		out[i] = f.Held
	}
	return out
}
