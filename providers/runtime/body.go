package runtime

import (
	"slices"

	"aisync.dev/aisync/providers/bundle"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// sourceBody is a file of a bundle as it stands there.
func sourceBody(f bundle.File) reconcile.Body {
	return file.FromSource(f.Path, reconcile.Fingerprint(f.Digest), f.Mode, nil)
}

// ruleBody is a rule in the form that a program reads: "paths" puts front
// matter with the rule's patterns before one that is not for every file.
func ruleBody(f bundle.File, form string) reconcile.Body {
	if form != "paths" || f.Paths == "" {
		return file.FromSource(f.Path, reconcile.Fingerprint(f.Digest), 0o644, nil)
	}
	front := []byte(f.Paths)
	return file.FromSource(f.Path, reconcile.Fingerprint(f.PathsDigest), 0o644, func(rule []byte) []byte {
		return slices.Concat(front, rule)
	})
}
