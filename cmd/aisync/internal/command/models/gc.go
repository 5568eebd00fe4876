package models

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile/fsys"
)

// modelGCDoc is models gc --json; see docs/json.md.
type modelGCDoc struct {
	FormatVersion string       `json:"format_version"`
	DryRun        bool         `json:"dry_run"`
	Files         []garbageDoc `json:"files"`
}

func modelsGCCommand(a *cli.App) *cobra.Command {
	var f cli.ApplyFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "remove what lies in the store and nobody wants, after asking",
		Long: `Removes blobs that no spec and no record names, downloads that were given up, and
links that lead nowhere. What another name, another user or another process uses
stays, and is named. A model that was fetched stays on record, and therefore
here, until its spec no longer asks for it and an apply has taken note.`,
		Example:     "  $ aisync models gc --dry-run",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return modelsGC(cmd.Context(), a, f, dryRun) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed")
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	return cmd
}

func modelsGC(ctx context.Context, a *cli.App, f cli.ApplyFlags, dryRun bool) error {
	s, w, err := stockroomToWrite(ctx, a, f, dryRun, "aisync models gc")
	if err != nil {
		return err
	}
	defer w.Release()
	found, err := store.GC(w.FS, s.dir, s.held, store.GCOptions{DryRun: true, Now: time.Now()})
	if err != nil {
		return err
	}
	if a.Flags.JSON && dryRun {
		return a.WriteJSON(modelGCDoc{cli.ViewVersion, true, s.garbage(found)})
	}
	if len(found) == 0 && !a.Flags.JSON {
		a.Printf("Nothing to remove: everything in %s is wanted.\n", s.w.Places.Physical(s.dir))
		return nil
	}
	files, bytes := 0, int64(0)
	for _, g := range found {
		if g.Removed {
			files, bytes = files+1, bytes+g.Size
		}
		if !a.Flags.JSON {
			sayGarbage(a, s, g)
		}
	}
	if dryRun {
		a.Printf("Would remove %s, %s.\n", quantity.Count(files, "file"), quantity.Bytes(bytes))
		return nil
	}
	if files > 0 {
		if err := a.Confirm(f.Yes, "Remove "+quantity.Count(files, "file")+", "+quantity.Bytes(bytes)+"?"); err != nil {
			return err
		}
		found, err = store.GC(w.FS, s.dir, s.held, store.GCOptions{Now: time.Now()})
		if err != nil {
			return err
		}
		if err := w.FS.Flush(); err != nil {
			return err
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(modelGCDoc{cli.ViewVersion, false, s.garbage(found)})
	}
	files, bytes = 0, 0
	for _, g := range found {
		if g.Removed {
			files, bytes = files+1, bytes+g.Size
		}
	}
	a.Printf("Removed %s, %s.\n", quantity.Count(files, "file"), quantity.Bytes(bytes))
	return nil
}

func sayGarbage(a *cli.App, s *stockroom, g store.Garbage) {
	why := "kept: " + g.Kept
	if g.Removed {
		why = "nobody wants it"
	}
	a.Printf("  %s  %s, %s, %s\n", termtext.Safe(s.w.Places.Physical(g.Path)), g.Kind, quantity.Bytes(g.Size), termtext.Safe(why))
}

// stockroomToWrite is stockroom with a session that can write. Where nothing
// shall be written it holds no lock. The caller releases it.
func stockroomToWrite(ctx context.Context, a *cli.App, f cli.ApplyFlags, dryRun bool, command string) (*stockroom, *stack.Session, error) {
	if dryRun {
		s, err := openStock(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		disk, err := fsys.New(s.w.Places.FSOptions("none"))
		return s, &stack.Session{View: s.w, FS: disk}, err
	}
	w, err := a.Held(ctx, stack.ScopeHost, f.LockTimeout, command, stack.HoldLoaded)
	if err != nil {
		return nil, nil, err
	}
	s, err := stockOf(ctx, w.View)
	if err != nil {
		w.Release()
		return nil, nil, err
	}
	return s, w, nil
}
