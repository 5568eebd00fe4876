package models

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

// modelDuDoc is models du --json; see docs/json.md.
type modelDuDoc struct {
	FormatVersion string       `json:"format_version"`
	Store         string       `json:"store"`
	Models        []usageDoc   `json:"models"`
	Bytes         int64        `json:"models_bytes"` // of all models; what several share counts once
	Loose         []garbageDoc `json:"loose"`        // that no model uses
	Garbage       int64        `json:"gc_bytes"`     // of Loose, what gc would remove
}

type usageDoc struct {
	ID     string   `json:"id"`
	Quant  string   `json:"quant,omitempty"`
	Bytes  int64    `json:"bytes"`        // on the disk
	Own    int64    `json:"own_bytes"`    // of Bytes, what no other model shares
	Shared []string `json:"shared_with"`  // models
	Names  int      `json:"names"`        // under which programs see its files
	Wanted bool     `json:"wanted"`       // by the spec
	Keeps  string   `json:"kept_because"` // why gc leaves it
}

func modelsDuCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "du",
		Short: "list what the models take on the disk, what they share and what gc would free",
		Long: `Adds up the bytes of each model in the store. What several models share counts
once in the sum, and OWN is what would be free without the model. Names of other
programs for the same bytes take none. Below the models it lists what no model
uses, as gc would treat it. It reads no bytes of models.`,
		Example:     "  $ aisync models du",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return modelsDu(cmd.Context(), a) },
	}
}

func modelsDu(ctx context.Context, a *cli.App) error {
	inv, models, loose, err := stored(ctx, a)
	if err != nil {
		return err
	}
	doc := usageOf(models)
	doc.FormatVersion, doc.Store = cli.ViewVersion, inv.View.Places.Physical(inv.Folder)
	doc.Loose = garbageDocs(inv, loose)
	for _, g := range loose {
		if g.Removed {
			doc.Garbage += g.Size
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	t := a.Table()
	if len(doc.Models) > 0 {
		fmt.Fprintln(t, "MODEL\tQUANT\tSIZE\tOWN\tNAMES\tKEPT BECAUSE")
	}
	for _, u := range doc.Models {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", termtext.Safe(u.ID), termtext.Safe(cmp.Or(u.Quant, "-")), quantity.Bytes(u.Bytes), quantity.Bytes(u.Own), u.Names, termtext.Safe(u.Keeps))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	a.Printf("%s of models in %s\n", quantity.Bytes(doc.Bytes), termtext.Safe(doc.Store))
	for _, g := range loose {
		sayGarbage(a, inv, g)
	}
	if len(loose) > 0 {
		a.Printf("aisync models gc would remove %s\n", quantity.Bytes(doc.Garbage))
	}
	return nil
}

// usageOf adds up what models take, without those that have no bytes yet.
func usageOf(models []store.Model) modelDuDoc {
	doc := modelDuDoc{Models: []usageDoc{}}
	users := map[string][]string{} // of a digest: the models
	for _, m := range models {
		for _, f := range m.Files {
			users[f.SHA256] = append(users[f.SHA256], m.ID)
		}
	}
	counted := map[string]bool{}
	for _, m := range models {
		u := usageDoc{ID: m.ID, Quant: m.Quant, Wanted: m.Wanted, Shared: []string{}, Keeps: "the spec asks for it"}
		if !m.Wanted {
			u.Keeps = "it is on record; the next apply lets it go"
		}
		seen := map[string]bool{m.ID: true}
		for _, f := range m.Files {
			if f.Have == 0 {
				continue
			}
			u.Bytes += f.Have
			u.Names += len(f.Views) + 1
			if len(users[f.SHA256]) < 2 || f.SHA256 == "" {
				u.Own += f.Have
			}
			if !counted[f.SHA256] || f.SHA256 == "" {
				counted[f.SHA256] = true
				doc.Bytes += f.Have
			}
			for _, other := range users[f.SHA256] {
				if !seen[other] {
					seen[other] = true
					u.Shared = append(u.Shared, other)
				}
			}
		}
		if len(u.Shared) > 0 {
			u.Keeps += "; shares files with " + strings.Join(u.Shared, ", ")
		}
		if u.Bytes > 0 {
			doc.Models = append(doc.Models, u)
		}
	}
	return doc
}
