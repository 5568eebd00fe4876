package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// checkSpec reports what is wrong with the specs.
func checkSpec(_ context.Context, e *Env) Outcome {
	var out []Finding
	if e.specErr != nil {
		for _, err := range advice.Split(e.specErr) {
			out = append(out, fail(cmp.Or(advice.Of(err), "aisync validate"), "%v", err))
		}
	}
	return found(out...)
}

// checkSchema compares the schema that init wrote beside the specs with the one of
// this binary. A folder without one is in order.
func checkSchema(_ context.Context, e *Env) Outcome {
	var out []Finding
	for _, dir := range []string{e.places.Config, e.places.Project} {
		if dir == "" {
			continue
		}
		cueMod := filepath.Join(dir, "cue.mod")
		_, differs, err := schema.Vendored(cueMod)
		if err != nil {
			out = append(out, fail("rm -r "+shellquote.Terminal(filepath.Join(cueMod, "pkg/aisync.dev"))+" && aisync init", "%v", err))
		} else if len(differs) > 0 {
			out = append(out, warn("rm -r "+shellquote.Terminal(filepath.Join(cueMod, "pkg/aisync.dev"))+" && aisync init", "%s holds another schema than this aisync: %s", cueMod, strings.Join(differs, ", ")))
		}
	}
	return found(out...)
}

// checkLock reports locks that cannot be read.
func checkLock(_ context.Context, e *Env) Outcome {
	var out []Finding
	for _, dir := range []string{e.places.Config, e.places.Project} {
		if dir == "" {
			continue
		}
		name := filepath.Join(dir, stack.LockName)
		b, err := regular.Read(name, regular.MaxSpec)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = reconcile.ParseLock(name, b)
		}
		switch {
		case errors.Is(err, reconcile.ErrLockNewer):
			out = append(out, fail("upgrade aisync", "%v", err))
		case err != nil:
			out = append(out, fail(cmp.Or(advice.Of(err), "restore "+name+" from git, or move it away and run aisync lock"), "%v", err))
		}
	}
	return found(out...)
}
