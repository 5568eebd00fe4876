package models

import (
	"context"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/providers/store"
)

// modelPathDoc is models path --json; see docs/json.md.
type modelPathDoc struct {
	FormatVersion string   `json:"format_version"`
	ID            string   `json:"id"`
	Files         []string `json:"files"`
}

func modelsPathCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "path ID",
		Short: "print the file of a model to hand to a server, the first shard first",
		Long: `Prints the files of a model, one a line. A server of a model in shards is handed
the first. One that is not there, or not as it was verified, is an error (exit 1)
that says what to run.`,
		Example:     `  $ llama-server --model "$(aisync models path tiny | head -n 1)"`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the model"),
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return modelsPath(cmd.Context(), a, args[0]) },
	}
}

func modelsPath(ctx context.Context, a *cli.App, id string) error {
	s, err := openStock(ctx, a)
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
	doc := modelPathDoc{FormatVersion: cli.ViewVersion, ID: id}
	for _, f := range files {
		doc.Files = append(doc.Files, s.w.Places.Physical(f))
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	for _, f := range doc.Files {
		a.Printf("%s\n", f)
	}
	return nil
}
