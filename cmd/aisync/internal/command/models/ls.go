package models

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

// modelsDoc is models ls --json; see docs/json.md.
type modelsDoc struct {
	FormatVersion string       `json:"format_version"`
	Store         string       `json:"store"`
	Models        []modelDoc   `json:"models"`
	Loose         []garbageDoc `json:"loose"` // unused files in the store
}

type modelDoc struct {
	ID       string         `json:"id"`
	Quant    string         `json:"quant,omitempty"`
	License  string         `json:"license,omitempty"`
	State    store.State    `json:"state"`
	Size     int64          `json:"size_bytes"`
	Have     int64          `json:"have_bytes"`
	Wanted   bool           `json:"wanted"`
	Verified *time.Time     `json:"verified,omitempty"`
	Files    []modelFileDoc `json:"files"`
}

type modelFileDoc struct {
	Path   string      `json:"path"`
	SHA256 string      `json:"sha256,omitempty"`
	Size   int64       `json:"size_bytes"`
	State  store.State `json:"state"`
	From   string      `json:"from,omitempty"` // the source that served it
	Views  []string    `json:"views"`
}

type garbageDoc struct {
	Path    string `json:"path"`
	Size    int64  `json:"size_bytes"`
	Kind    string `json:"kind"`
	Removed bool   `json:"removed"`
	Kept    string `json:"kept,omitempty"` // why
}

func modelsLsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "list the models of the spec and those fetched, with the state of each",
		Long: `Lists each model with its quantization, size and state: ok; unverified: present,
but not read yet; partial: partly downloaded; missing; changed: present, but
changed since it was verified; unpinned: not pinned in aisync.lock yet. It reads
no bytes of models and exits 0 whatever it reports.`,
		Example:     "  $ aisync models ls",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return modelsLs(cmd.Context(), a) },
	}
}

func modelsLs(ctx context.Context, a *cli.App) error {
	inv, models, loose, err := stored(ctx, a)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.WriteJSON(docOf(inv, models, loose))
	}
	if len(models) == 0 {
		a.Printf("No models: the spec asks for none.\n")
	}
	t := a.Table()
	if len(models) > 0 {
		fmt.Fprintln(t, "MODEL\tQUANT\tSIZE\tSTATE\tLICENSE")
	}
	for _, m := range models {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", termtext.Safe(m.ID), termtext.Safe(cmp.Or(m.Quant, "-")), knownSize(m.Size), stateText(m), termtext.Safe(cmp.Or(m.License, "-")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var size int64
	for _, g := range loose {
		size += g.Size
	}
	if len(loose) > 0 {
		a.Printf("\nUnused in the store: %s, %s. To list them: aisync models gc --dry-run\n", quantity.Count(len(loose), "file"), quantity.Bytes(size))
	}
	return nil
}

// knownSize returns a number of bytes as text, - for an unknown one.
func knownSize(n int64) string {
	if n == 0 {
		return "-"
	}
	return quantity.Bytes(n)
}

func stateText(m store.Model) string {
	text := string(m.State)
	if m.State == store.Partial && m.Size > 0 {
		text += fmt.Sprintf(" (%d%%)", 100*m.Have/m.Size)
	}
	if !m.Wanted {
		text += ", no longer in the spec"
	}
	return text
}

func docOf(inv *stack.Inventory, models []store.Model, loose []store.Garbage) modelsDoc {
	doc := modelsDoc{FormatVersion: cli.ViewVersion, Store: inv.View.Places.Physical(inv.Folder), Models: []modelDoc{}, Loose: garbageDocs(inv, loose)}
	for _, m := range models {
		d := modelDoc{ID: m.ID, Quant: m.Quant, License: m.License, State: m.State, Size: m.Size, Have: m.Have, Wanted: m.Wanted, Files: []modelFileDoc{}}
		if !m.Verified.IsZero() {
			d.Verified = &m.Verified
		}
		for _, f := range m.Files {
			file := modelFileDoc{Path: inv.View.Places.Physical(f.Path), SHA256: f.SHA256, Size: f.Size, State: f.State, From: f.From, Views: []string{}}
			for _, v := range f.Views {
				file.Views = append(file.Views, inv.View.Places.Physical(v))
			}
			d.Files = append(d.Files, file)
		}
		doc.Models = append(doc.Models, d)
	}
	return doc
}

func garbageDocs(inv *stack.Inventory, found []store.Garbage) []garbageDoc {
	out := []garbageDoc{}
	for _, g := range found {
		out = append(out, garbageDoc{inv.View.Places.Physical(g.Path), g.Size, g.Kind, g.Removed, g.Kept})
	}
	return out
}
