package main

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

	"aisync.dev/aisync/app/stack/place"
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

func modelsAdoptCommand(a *app) *cobra.Command {
	var f applyFlags
	var dryRun, twice bool
	cmd := &cobra.Command{
		Use:   "adopt [ID...] [DIR...]",
		Short: "take over models that other programs have fetched already, instead of fetching them",
		Long: `Looks for the models that the spec wants and that are not there in the folders of
Hugging Face, ollama, LM Studio and llama.cpp, and in each DIR, which is written
with a slash (./models). What has the right size is read once; what has the right
sha256 gets a name in the store, for the same bytes. Nothing is fetched, and
nothing of those folders is changed. What is taken over goes on record as an
apply would do it.`,
		Example: `  $ aisync models adopt
  $ aisync models adopt tiny ~/Downloads/`,
		Annotations:       map[string]string{"effect": "writes"},
		ValidArgsFunction: a.modelNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.modelsAdopt(cmd.Context(), args, f, store.AdoptOptions{DryRun: dryRun, Copy: twice})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what was found, by its size")
	cmd.Flags().BoolVar(&twice, "copy", false, "make a second copy where the bytes cannot be shared (another file system)")
	cmd.Flags().DurationVar(&f.lockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	return cmd
}

func (a *app) modelsAdopt(ctx context.Context, args []string, f applyFlags, o store.AdoptOptions) error {
	s, w, err := a.stockroomToWrite(ctx, f, o.DryRun, "aisync models adopt")
	if err != nil {
		return err
	}
	defer w.Release()
	var ids []string
	places := s.w.programs().Locations()
	for _, arg := range args {
		if slices.ContainsFunc(s.held, func(h store.Held) bool { return h.ID == arg }) {
			ids = append(ids, arg)
			continue
		}
		if !strings.Contains(arg, "/") && arg != "." && arg != ".." {
			return s.unknown(arg)
		}
		dir, err := a.folderOfModels(s.w.Places, arg)
		if err != nil {
			return err
		}
		places = append(places, store.Location{Program: "folder", Dir: dir})
	}
	held, err := s.only(ids)
	if err != nil {
		return err
	}
	if a.g.verbose {
		o.Progress = func(file fsys.LogicalPath, done, total int64) {
			if done == 0 {
				a.say("reading %s (%s)", termtext.Safe(string(file)), quantity.Bytes(total))
			}
		}
	}
	found, err := store.Adopt(ctx, w.FS, s.dir, held, places, o)
	if err == nil && !o.DryRun {
		err = w.FS.Flush()
	}
	a.sayAdopted(s, found, o.DryRun)
	if a.g.json && (err == nil || len(found) > 0) {
		if err := a.writeJSON(s.adopted(found, o.DryRun)); err != nil {
			return err
		}
	}
	if err != nil || o.DryRun {
		return err
	}
	return a.recordAdopted(ctx, w, found, f)
}

func (s *stockroom) adopted(found []store.Adopted, dryRun bool) modelAdoptDoc {
	doc := modelAdoptDoc{viewVersion, dryRun, []modelAdoptedDoc{}}
	for _, x := range found {
		d := modelAdoptedDoc{ID: x.ID, Path: s.w.Places.Physical(x.Path), Program: x.Program, How: x.How, Why: x.Why}
		if x.From != "" {
			d.From = s.w.Places.Physical(x.From)
		}
		doc.Files = append(doc.Files, d)
	}
	return doc
}

func (a *app) sayAdopted(s *stockroom, found []store.Adopted, dryRun bool) {
	if a.g.json {
		return
	}
	if len(found) == 0 {
		a.printf("Nothing to take over: no program here has a model that is wanted and missing.\n")
	}
	for _, x := range found {
		who := termtext.Safe(x.ID) + "  " + termtext.Safe(x.Path.Base())
		from := ""
		if x.From != "" {
			from = " " + termtext.Safe(s.w.Places.Physical(x.From)) + " (" + termtext.Safe(x.Program) + ")"
		}
		switch {
		case dryRun && from != "":
			a.printf("%s: found%s: %s\n", who, from, termtext.Safe(cmp.Or(x.Why, x.How)))
		case x.How == "":
			a.printf("%s: not taken over%s: %s\n", who, from, termtext.Safe(x.Why))
		default:
			a.printf("%s: taken over from%s, %s\n", who, from, x.How)
		}
	}
}

// recordAdopted applies the models of which something was taken over, if all of
// what they need is there.
func (a *app) recordAdopted(ctx context.Context, w *Session, found []store.Adopted, f applyFlags) error {
	var ids []string
	for _, x := range found {
		if x.How != "" && !slices.Contains(ids, x.ID) {
			ids = append(ids, x.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ask := w.askFor(ids)
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	for _, c := range p.Changes {
		if c.Before.Fetch > 0 {
			a.say("aisync: %s: %s still to fetch; go on with: aisync models pull %s", c.Target.Resource.Address, quantity.Bytes(c.Before.Fetch), c.Target.Resource.Address.Name())
			return nil
		}
	}
	if err := a.undecided(p, false); err != nil {
		return err
	}
	quiet := *a
	quiet.g.json = false
	quiet.out = a.err // stdout says what was found
	f.parallel = 1
	return quiet.carryOut(ctx, w, p, f, reconcile.ApplyOptions{Command: "models adopt"})
}

// folderOfModels is a folder as a person typed it.
func (a *app) folderOfModels(p place.Places, arg string) (fsys.LogicalPath, error) {
	if rest, ok := strings.CutPrefix(arg, "~/"); ok {
		return p.Home.Join(rest), nil
	}
	dir := arg
	if !filepath.IsAbs(dir) {
		cwd, err := a.cwd()
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
		err = errors.New("it is no folder")
	}
	if err != nil {
		return "", fmt.Errorf("look for models in %s: %w", arg, err)
	}
	return fsys.LogicalPath(logical), nil
}
