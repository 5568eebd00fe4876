package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

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

func modelsVerifyCommand(a *app) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use:   "verify [ID...]",
		Short: "tell whether the models are still what was verified",
		Long: `Compares size, time and inode of every file with what was noted when its sha256
was right, and reads no byte of it. With --deep every byte is read and hashed
again. It changes nothing.

Exit codes: 0, or 1 if a file is wrong, or not there.`,
		Example:           "  $ aisync models verify --deep tiny",
		Annotations:       map[string]string{"effect": "read-only"},
		ValidArgsFunction: a.modelNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.modelsVerify(cmd.Context(), args, deep) },
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "read and hash every byte again")
	return cmd
}

func (a *app) modelsVerify(ctx context.Context, ids []string, deep bool) error {
	s, err := a.stockroom(ctx)
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
	bars := a.newBars("verify", total)
	checked, err := store.Verify(ctx, s.w.Reader, s.dir, held, store.VerifyOptions{
		Deep:     deep,
		Progress: func(f store.Held, done, total int64) { bars.file(f.ID+" "+f.Path.Base(), done, total) },
	})
	bars.close()
	if err != nil {
		return err
	}
	doc := modelVerifyDoc{FormatVersion: viewVersion, Deep: deep, Files: []modelVerifiedDoc{}}
	var errs []error
	for _, c := range checked {
		d := modelVerifiedDoc{ID: c.ID, Path: s.w.Places.Physical(c.Path), SHA256: c.SHA256, State: c.State}
		if c.Err != nil {
			d.Error = c.Err.Error()
			errs = append(errs, c.Err)
		} else if !a.g.json {
			a.printf("%s  %s  %s\n", termtext.Safe(c.ID), termtext.Safe(c.Path.Base()), c.State)
		}
		doc.Files = append(doc.Files, d)
	}
	if a.g.json {
		if err := a.writeJSON(doc); err != nil {
			return err
		}
		if len(errs) > 0 {
			return exit(exitError)
		}
		return nil
	}
	return errors.Join(errs...)
}
