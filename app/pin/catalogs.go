package pin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
)

// oldestReader is the oldest aisync that understands what this one writes; it
// is pinned so that an older one refuses rather than misreads.
const oldestReader = "v0.1.0"

// pinCatalogs checks and pins, in each lock, the catalog and the oldest aisync
// that may apply.
func (r *Resolver) pinCatalogs(res *Result) error {
	var errs []error
	now := catalog.Digest()
	for _, f := range r.Owned {
		if pin, ok := f.Lock.Pin("aisync", "oldest", ""); ok && olderThan(r.Version, pin.Values["version"]) {
			errs = append(errs, fmt.Errorf("%s: written for aisync %s or newer, but this is %s; upgrade aisync", f.Path, pin.Values["version"], r.Version))
			continue
		}
		pin, ok := r.get(f, "catalog", "embedded", "")
		switch {
		case !ok && r.Mode.pins() && !r.Locked:
			r.put(f, reconcile.Pin{Kind: "catalog", Name: "embedded", Values: map[string]string{"digest": now}})
			r.put(f, reconcile.Pin{Kind: "aisync", Name: "oldest", Values: map[string]string{"version": oldestReader}})
		case !ok || pin.Values["digest"] == now:
		case r.Locked:
			errs = append(errs, &Error{Reason: Unfit, ID: "catalog", Err: fmt.Errorf("%s: pins another catalog than the one in aisync %s", f.Path, r.Version)})
		default:
			res.Notes = append(res.Notes, Note{Kind: OtherCatalog, Text: f.Path + " pins another catalog than the one in this aisync; adapters may write other bytes than a teammate's"})
		}
	}
	return errors.Join(errs...)
}

// olderThan compares versions of the form v1.2.3. Any other version, such as
// that of a build from a clone, is never older; nor is v0.0.0-TIME-COMMIT, Go's
// version of a build from a clone without a tag.
func olderThan(have, need string) bool {
	if strings.HasPrefix(have, "v0.0.0-") {
		return false
	}
	var a, b [3]int
	if n, _ := fmt.Sscanf(have, "v%d.%d.%d", &a[0], &a[1], &a[2]); n != 3 {
		return false
	}
	if n, _ := fmt.Sscanf(need, "v%d.%d.%d", &b[0], &b[1], &b[2]); n != 3 {
		return false
	}
	return slices.Compare(a[:], b[:]) < 0
}
