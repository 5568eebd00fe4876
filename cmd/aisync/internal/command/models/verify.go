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
		Short: "tell whether the models are still what was verified",
		Long: `Compares size, time and inode of every file with what was noted when its sha256
was right, and reads no byte of it. With --deep every byte is read and hashed
again. It changes nothing.

Exit codes: 0, or 1 if a file is wrong, or not there.`,
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
	s, err := openStock(ctx, a)
	if err != nil {
		return err
	}
	held, err := s.only(ids)
	if err != nil {
		return err
	}
	var total int64
	for _, h := range held {
		total += h.Size
	}
	bars := a.NewBars("verify", total)
	checked, err := store.Verify(ctx, s.w.Reader, s.dir, held, store.VerifyOptions{
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
		d := modelVerifiedDoc{ID: c.ID, Path: s.w.Places.Physical(c.Path), SHA256: c.SHA256, State: c.State}
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
