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
		Short: "remove unused files from the store, after asking",
		Long: `Removes files that no spec and no record names, abandoned downloads and broken
links. It lists and keeps what another name, another user or another process
uses. A fetched model stays until its spec no longer asks for it and an apply
has run since.`,
		Example:     "  $ aisync models gc --dry-run",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return modelsGC(cmd.Context(), a, f, dryRun) },
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "list what would be removed, and change nothing")
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	return cmd
}

func modelsGC(ctx context.Context, a *cli.App, f cli.ApplyFlags, dryRun bool) error {
	inv, w, err := writableInventory(ctx, a, f, dryRun, "aisync models gc")
	if err != nil {
		return err
	}
	defer w.Release()
	found, err := store.GC(w.FS, inv.Folder, inv.Files, store.GCOptions{DryRun: true, Now: time.Now()})
	if err != nil {
		return err
	}
	if a.Flags.JSON && dryRun {
		return a.WriteJSON(modelGCDoc{cli.ViewVersion, true, garbageDocs(inv, found)})
	}
	if len(found) == 0 && !a.Flags.JSON {
		a.Printf("Nothing to remove: everything in %s is in use.\n", inv.View.Places.Physical(inv.Folder))
		return nil
	}
	files, bytes := 0, int64(0)
	for _, g := range found {
		if g.Removed {
			files, bytes = files+1, bytes+g.Size
		}
		if !a.Flags.JSON {
			sayGarbage(a, inv, g)
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
		found, err = store.GC(w.FS, inv.Folder, inv.Files, store.GCOptions{Now: time.Now()})
		if err != nil {
			return err
		}
		if err := w.FS.Flush(); err != nil {
			return err
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(modelGCDoc{cli.ViewVersion, false, garbageDocs(inv, found)})
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

// unusedBecause says of each kind of garbage why nothing needs it.
var unusedBecause = map[string]string{
	"blob": "unused: no spec and no record names it",
	"part": "unused: a download that no spec asks for any more",
	"view": "unused: the file that it links to is gone",
}

func sayGarbage(a *cli.App, inv *stack.Inventory, g store.Garbage) {
	why := "kept: " + g.Kept
	if g.Removed {
		why = unusedBecause[g.Kind]
	}
	a.Printf("  %s  %s, %s, %s\n", termtext.Safe(inv.View.Places.Physical(g.Path)), g.Kind, quantity.Bytes(g.Size), termtext.Safe(why))
}

// writableInventory is readInventory with a session that can write. A dry run
// takes no lock. The caller releases the session.
func writableInventory(ctx context.Context, a *cli.App, f cli.ApplyFlags, dryRun bool, command string) (*stack.Inventory, *stack.Session, error) {
	if dryRun {
		inv, err := readInventory(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		w, err := stack.DryRun(inv.View)
		return inv, w, err
	}
	w, err := a.Held(ctx, stack.ScopeHost, f.LockTimeout, command, stack.HoldLoaded)
	if err != nil {
		return nil, nil, err
	}
	inv, err := inventoryOf(ctx, w.View)
	if err != nil {
		w.Release()
		return nil, nil, err
	}
	return inv, w, nil
}
