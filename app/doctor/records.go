package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/state"
)

// checkRecords reports state that cannot be read, an unfinished apply, and backups
// that are not complete.
func checkRecords(_ context.Context, e *Env) Outcome {
	if errors.Is(e.storeErr, fs.ErrPermission) {
		return found(fail("give the folder "+e.places.Physical(e.places.State)+" and what is in it to the person who runs aisync", "%v", e.storeErr))
	}
	if errors.Is(e.storeErr, state.ErrNewer) {
		return found(fail("upgrade aisync; moving the file away would forget what was there before aisync", "%v", e.storeErr))
	}
	if e.storeErr != nil {
		return found(fail(cmp.Or(advice.Of(e.storeErr), "move the file away: what aisync made is then taken over again by the next apply"), "%v", e.storeErr))
	}
	var out []Finding
	if e.store.Unfinished() {
		out = append(out, fail("aisync apply", "an apply was interrupted; the next one completes its records"))
	}
	if _, err := e.store.History(); err != nil {
		next := "move the file away; what it describes can no longer be rolled back"
		if errors.Is(err, state.ErrNewer) {
			next = "upgrade aisync"
		}
		out = append(out, fail(next, "%v", err))
	}
	owners, err := e.store.Owners()
	if err != nil {
		out = append(out, fail("move the file away: what aisync made is then taken over again by the next apply", "%v", err))
	}
	for _, owner := range owners {
		for _, rec := range e.store.Records(owner) {
			for _, leaf := range rec.Leaves {
				if kind, _, _ := strings.Cut(string(leaf.Prior), ":"); kind != "sha256" && kind != "link" {
					continue // no backup, or one that needs no file
				}
				if _, err := e.store.Backup(leaf.Prior); err != nil {
					out = append(out, fail("nothing brings it back; aisync adopt "+string(rec.Address)+" accepts that", "%s: the backup of what was there before aisync is not complete: %v", rec.Address, err))
				}
			}
		}
	}
	return found(out...)
}
