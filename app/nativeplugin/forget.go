package nativeplugin

import (
	"path"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// files of the program in a home, and what it keeps there of plugins and
// marketplaces: by ID, by name.
const (
	knownFile     = ".claude/plugins/known_marketplaces.json"
	installedFile = ".claude/plugins/installed_plugins.json"
	dataFolder    = ".claude/plugins/data"
	stateFile     = ".claude.json"
)

// Forget returns what removes, once a file of a native plugin or of its marketplace
// is gone, what the program has noted about it. project is the folder of the project.
// Data that a plugin has stored stays, and so does what is about another checkout.
func Forget(project string) func(w reconcile.WriteEnv, gone reconcile.Address) {
	var mu sync.Mutex // several files may be gone at once
	return func(w reconcile.WriteEnv, gone reconcile.Address) {
		root, name, ok := split(gone)
		if !ok {
			return
		}
		at := path.Join(project, root)
		if rest, home := strings.CutPrefix(root, "~/"); home {
			at = string(w.Home.Join(rest))
		}
		mu.Lock()
		defer mu.Unlock()
		doc, err := w.FS.ReadFile(w.Home.Join(knownFile))
		if err != nil {
			return
		}
		for marketplace, known := range knownIn(doc) {
			if known != at {
				continue
			}
			for _, id := range slices.Concat(namedIn(w, installedFile, "plugins", marketplace), namedIn(w, stateFile, "pluginUsage", marketplace)) {
				if plugin, _, _ := strings.Cut(id, "@"); name == "" || plugin == name {
					drop(w, installedFile, merge.Pointer("plugins", id))
					drop(w, stateFile, merge.Pointer("pluginUsage", id))
					_ = w.FS.Rmdir(w.Home.Join(dataFolder, strings.ReplaceAll(id, "@", "-"))) // stays unless it is empty
				}
			}
			if name == "" {
				drop(w, knownFile, merge.Pointer(marketplace))
			}
		}
	}
}

// split tells a file of a marketplace of aisync's: its folder, and the plugin whose
// manifest it is, "" for the marketplace's own.
func split(a reconcile.Address) (root, plugin string, ok bool) {
	root, rest, ok := strings.Cut(a.Name(), folder+"/")
	if !ok || root != "" && root != "~/" {
		return "", "", false
	}
	plugin, below, _ := strings.Cut(rest, "/")
	switch {
	case rest == manifest:
		return root + folder, "", true
	case below == ".claude-plugin/plugin.json":
		return root + folder, plugin, true
	}
	return "", "", false
}

// drop removes one key from a file of the program. What fails stays there: it has no
// effect without its plugin.
func drop(w reconcile.WriteEnv, name, key string) {
	p := w.Home.Join(name)
	doc, err := w.FS.ReadFile(p)
	if err != nil {
		return
	}
	r, err := merge.Edit("json", doc, []merge.Op{{Key: key}}, nil)
	if err == nil && r.Changed && len(r.Doc) > 0 {
		_ = w.FS.Replace(p, fsys.Content{Bytes: r.Doc}, fsys.Expect{Digest: fsys.Digest(doc)}, nil)
	}
}
