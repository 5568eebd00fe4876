package doctor

import (
	"context"
	"time"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// checkContents has every provider that can do so verify the bytes of its targets.
func checkContents(ctx context.Context, e *Env) Outcome {
	if e.storeErr != nil {
		return Outcome{}
	}
	env := reconcile.ReadEnv{FS: e.reader, Home: e.places.Home, Run: e.run, Contents: e.store.Contents, Backup: e.store.Backup, Clock: time.Now}
	var out []Finding
	for _, provider := range stack.Providers(e.places, e.services, true, stack.NewSecretHasher(e.reader, e.places.State).Hash) {
		v, ok := provider.(reconcile.Verifier)
		if !ok {
			continue
		}
		for _, rec := range e.records() {
			if rec.Address.Kind() != provider.Kind() {
				continue
			}
			t := reconcile.Target{Resource: reconcile.Resource{Address: rec.Address, Format: rec.Format}, Last: rec.Leaves, Private: rec.Private}
			if err := v.Verify(ctx, env, t); err != nil {
				out = append(out, fail("aisync apply --restore --target "+shellquote.Terminal(string(rec.Address)), "%s: %v", rec.Address, err))
			}
		}
	}
	return found(out...)
}
