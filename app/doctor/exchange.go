package doctor

import (
	"context"
	"os"
	"path/filepath"
)

// checkExchange reports folders on file systems without an atomic swap, where an
// apply may overwrite a change made at the same moment.
func checkExchange(_ context.Context, e *Env) Outcome {
	dirs := []string{e.places.Physical(e.places.Home), e.places.Physical(e.places.State), e.places.Project}
	if s := e.storeFolder(); s != "" {
		dirs = append(dirs, e.places.Physical(s))
	}
	var out []Finding
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if kind := cannotExchange(existingAncestor(dir)); kind != "" {
			out = append(out, warn("", "%s is on %s, which cannot swap two files in one step: a change that another program makes to a managed file at the moment of an apply is lost", dir, kind))
		}
	}
	return found(out...)
}

// existingAncestor returns dir, or the nearest folder above it that is there.
func existingAncestor(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
