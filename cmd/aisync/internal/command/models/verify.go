package models

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

// modelVerifyDoc is models verify --json; see docs/json.md.
type modelVerifyDoc struct {
	FormatVersion string             `json:"format_version"`
	Deep          bool               `json:"deep"`
	Files         []modelVerifiedDoc `json:"files"`
}

type modelVerifiedDoc struct {
	ID     string      `json:"id"`
	Path   string      `json:"path"`
	SHA256 string      `json:"sha256,omitempty"`
	State  store.State `json:"state"`
	Error  string      `json:"error,omitempty"`
}

func modelsVerifyCommand(a *cli.App) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use:   "verify [ID...]",
		Short: "check that model files are unchanged since they were verified",
		Long: `Compares size, time and inode of each file with those recorded when its sha256
was verified, without reading the file. With --deep it reads and hashes every
byte again. It changes nothing.

Exit codes: 0 unchanged; 1 a file is changed, wrong or missing.`,
		Example:     "  $ aisync models verify --deep tiny",
		Annotations: map[string]string{"effect": "read-only"},
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return modelsVerify(cmd.Context(), a, args, deep) },
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "read and hash every byte again")
	return cmd
}

func modelsVerify(ctx context.Context, a *cli.App, ids []string, deep bool) error {
	inv, err := readInventory(ctx, a)
	if err != nil {
		return err
	}
	held, err := inv.Of(ids)
	if err != nil {
		return err
	}
	var total int64
	for _, h := range held {
		total += h.Size
	}
	bars := a.NewBars("verify", total)
	checked, err := store.Verify(ctx, inv.View.Reader, inv.Folder, held, store.VerifyOptions{
		Deep:     deep,
		Progress: func(f store.Held, done, total int64) { bars.File(f.ID+" "+f.Path.Base(), done, total) },
	})
	bars.Close()
	if err != nil {
		return err
	}
	doc := modelVerifyDoc{FormatVersion: cli.ViewVersion, Deep: deep, Files: []modelVerifiedDoc{}}
	var errs []error
	for _, c := range checked {
		d := modelVerifiedDoc{ID: c.ID, Path: inv.View.Places.Physical(c.Path), SHA256: c.SHA256, State: c.State}
		if c.Err != nil {
			d.Error = c.Err.Error()
			errs = append(errs, c.Err)
		} else if !a.Flags.JSON {
			a.Printf("%s  %s  %s\n", termtext.Safe(c.ID), termtext.Safe(c.Path.Base()), c.State)
		}
		doc.Files = append(doc.Files, d)
	}
	if a.Flags.JSON {
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
		if len(errs) > 0 {
			return cli.Exit(cli.ExitError)
		}
		return nil
	}
	return errors.Join(errs...)
}
