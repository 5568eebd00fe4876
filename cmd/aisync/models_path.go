package main

import (
	"context"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/providers/store"
)

// modelPathDoc is models path --json; see docs/json.md.
type modelPathDoc struct {
	FormatVersion string   `json:"format_version"`
	ID            string   `json:"id"`
	Files         []string `json:"files"`
}

func modelsPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "path ID",
		Short: "print the file of a model to hand to a server, the first shard first",
		Long: `Prints the files of a model, one a line. A server of a model in shards is handed
the first. One that is not there, or not as it was verified, is an error (exit 1)
that says what to run.`,
		Example:           `  $ llama-server --model "$(aisync models path tiny | head -n 1)"`,
		Annotations:       map[string]string{"effect": "read-only"},
		Args:              exactArgs(1, "the model"),
		ValidArgsFunction: a.modelNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.modelsPath(cmd.Context(), args[0]) },
	}
}

func (a *app) modelsPath(ctx context.Context, id string) error {
	s, err := a.stockroom(ctx)
	if err != nil {
		return err
	}
	if _, err := s.only([]string{id}); err != nil {
		return err
	}
	files, err := store.Path(s.w.Reader, s.dir, s.held, id)
	if err != nil {
		return err
	}
	doc := modelPathDoc{FormatVersion: viewVersion, ID: id}
	for _, f := range files {
		doc.Files = append(doc.Files, s.w.Places.Physical(f))
	}
	if a.g.json {
		return a.writeJSON(doc)
	}
	for _, f := range doc.Files {
		a.printf("%s\n", f)
	}
	return nil
}
