package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/apply"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// modelAdoptDoc is models adopt --json; see docs/json.md.
type modelAdoptDoc struct {
	FormatVersion string            `json:"format_version"`
	DryRun        bool              `json:"dry_run"`
	Files         []modelAdoptedDoc `json:"files"`
}

type modelAdoptedDoc struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Program string `json:"program,omitempty"`
	From    string `json:"from,omitempty"`
	How     string `json:"how,omitempty"`
	Why     string `json:"why,omitempty"`
}

func modelsAdoptCommand(a *cli.App) *cobra.Command {
	var f cli.ApplyFlags
	var dryRun, twice, scan bool
	cmd := &cobra.Command{
		Use:   "adopt [ID...] [DIR...]",
		Short: "take over model files that other programs have already downloaded",
		Long: `Searches the folders of Hugging Face, ollama, LM Studio and llama.cpp, and each
DIR, which must contain a slash (./models), for models that the spec asks for
and that are missing. It reads files of the right size once; a file with the
right sha256 gets a name in the store for the same bytes. It downloads nothing
and does not change those folders. It records adopted models as an apply does.

--scan lists all models in those folders instead, also those that no spec asks
for, with the command that brings each in. It changes nothing.`,
		Example: `  $ aisync models adopt
  $ aisync models adopt tiny ~/Downloads/
  $ aisync models adopt --scan`,
		Annotations: map[string]string{"effect": "writes"},
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if scan {
				return modelsScan(cmd.Context(), a, args)
			}
			return modelsAdopt(cmd.Context(), a, args, f, store.AdoptOptions{DryRun: dryRun, Copy: twice})
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "list files of the right size, and change nothing")
	cmd.Flags().BoolVar(&scan, "scan", false, "list the models of other programs, and change nothing")
	cmd.Flags().BoolVar(&twice, "copy", false, "copy files whose bytes cannot be shared (other file systems)")
	cmd.Flags().DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	return cmd
}

func modelsAdopt(ctx context.Context, a *cli.App, args []string, f cli.ApplyFlags, o store.AdoptOptions) error {
	inv, w, err := writableInventory(ctx, a, f, o.DryRun, "aisync models adopt")
	if err != nil {
		return err
	}
	defer w.Release()
	var ids []string
	places := inv.View.Programs().Locations()
	for _, arg := range args {
		if inv.Has(arg) {
			ids = append(ids, arg)
			continue
		}
		if !strings.Contains(arg, "/") && arg != "." && arg != ".." {
			return inv.Unknown(arg)
		}
		dir, err := folderOfModels(a, inv.View.Places, arg)
		if err != nil {
			return err
		}
		places = append(places, store.Location{Program: "folder", Dir: dir})
	}
	held, err := inv.Of(ids)
	if err != nil {
		return err
	}
	if a.Flags.Verbose {
		o.Progress = func(file fsys.LogicalPath, done, total int64) {
			if done == 0 {
				a.Say("reading %s (%s)", termtext.Safe(string(file)), quantity.Bytes(total))
			}
		}
	}
	found, err := store.Adopt(ctx, w.FS, inv.Folder, held, places, o)
	if err == nil && !o.DryRun {
		err = w.FS.Flush()
	}
	sayAdopted(a, inv, found, o.DryRun)
	if a.Flags.JSON && (err == nil || len(found) > 0) {
		if err := a.WriteJSON(adoptedDoc(inv, found, o.DryRun)); err != nil {
			return err
		}
	}
	if err != nil || o.DryRun {
		return err
	}
	return recordAdopted(ctx, a, w, found, f)
}

func adoptedDoc(inv *stack.Inventory, found []store.Adopted, dryRun bool) modelAdoptDoc {
	doc := modelAdoptDoc{cli.ViewVersion, dryRun, []modelAdoptedDoc{}}
	for _, x := range found {
		d := modelAdoptedDoc{ID: x.ID, Path: inv.View.Places.Physical(x.Path), Program: x.Program, How: x.How, Why: x.Why}
		if x.From != "" {
			d.From = inv.View.Places.Physical(x.From)
		}
		doc.Files = append(doc.Files, d)
	}
	return doc
}

func sayAdopted(a *cli.App, inv *stack.Inventory, found []store.Adopted, dryRun bool) {
	if a.Flags.JSON {
		return
	}
	if len(found) == 0 {
		a.Printf("Nothing to adopt: no program here has a missing model of the spec.\n")
	}
	for _, x := range found {
		who := termtext.Safe(x.ID) + "  " + termtext.Safe(x.Path.Base())
		from := ""
		if x.From != "" {
			from = " " + termtext.Safe(inv.View.Places.Physical(x.From)) + " (" + termtext.Safe(x.Program) + ")"
		}
		switch {
		case dryRun && from != "":
			a.Printf("%s: found%s: %s\n", who, from, termtext.Safe(cmp.Or(x.Why, x.How)))
		case x.How == "":
			a.Printf("%s: not adopted%s: %s\n", who, from, termtext.Safe(x.Why))
		default:
			a.Printf("%s: adopted from%s, %s\n", who, from, x.How)
		}
	}
}

// recordAdopted applies the models of found, if all their files are there.
func recordAdopted(ctx context.Context, a *cli.App, w *stack.Session, found []store.Adopted, f cli.ApplyFlags) error {
	var ids []string
	for _, x := range found {
		if x.How != "" && !slices.Contains(ids, x.ID) {
			ids = append(ids, x.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ask := w.ModelRequest(ids)
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	for _, c := range p.Changes {
		if c.Before.Fetch > 0 {
			a.Say("aisync: %s: %s still to fetch; continue with: aisync models pull %s", c.Target.Resource.Address, quantity.Bytes(c.Before.Fetch), c.Target.Resource.Address.Name())
			return nil
		}
	}
	if err := apply.Undecided(a, p, false); err != nil {
		return err
	}
	quiet := *a
	quiet.Flags.JSON = false
	quiet.Out = a.Err // stdout has the list of adopted files
	f.Parallel = 1
	return apply.CarryOut(ctx, &quiet, w, p, f, reconcile.ApplyOptions{Command: "models adopt"})
}

// folderOfModels resolves a folder that a person typed.
func folderOfModels(a *cli.App, p place.Places, arg string) (fsys.LogicalPath, error) {
	if rest, ok := strings.CutPrefix(arg, "~/"); ok {
		return p.Home.Join(rest), nil
	}
	dir := arg
	if !filepath.IsAbs(dir) {
		cwd, err := a.Cwd()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cwd, dir)
	}
	logical := filepath.Clean(dir)
	if p.Root != "" {
		if rel, err := filepath.Rel(p.Root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			logical = filepath.Join("/", rel)
		}
	}
	info, err := os.Stat(p.Physical(fsys.LogicalPath(logical)))
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return "", fmt.Errorf("look for models in %s: %w", arg, err)
	}
	return fsys.LogicalPath(logical), nil
}
