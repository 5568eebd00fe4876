package models

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// modelSearchDoc is models search --json; see docs/json.md.
type modelSearchDoc struct {
	FormatVersion string          `json:"format_version"`
	Hub           string          `json:"hub"`
	Models        []foundModelDoc `json:"models"` // the most fetched first
}

type foundModelDoc struct {
	Repo      string   `json:"repo"`
	License   string   `json:"license,omitempty"`
	Downloads int64    `json:"downloads"`
	Gated     bool     `json:"gated"`
	Quants    []string `json:"quants"`
}

func modelsSearchCommand(a *cli.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "find models with GGUF files on Hugging Face",
		Long: `Asks Hugging Face, or the mirror that HF_ENDPOINT names, for repositories with
GGUF files whose names hold all words, the most fetched first. For the sizes of
one, and to add it: aisync add model OWNER/REPO --dry-run.`,
		Example:     "  $ aisync models search qwen3 coder\n  $ aisync add model unsloth/Qwen3-8B-GGUF --dry-run",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MinArgs(1, "the words"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 100 {
				return cli.Usagef("--limit %d: want 1 to 100", limit)
			}
			return modelsSearch(cmd.Context(), a, strings.Join(args, " "), limit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 10, "list `N` repositories at most")
	return cmd
}

func modelsSearch(ctx context.Context, a *cli.App, words string, limit int) error {
	v, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return err
	}
	hub := v.Network()
	found, err := hub.Search(ctx, words, limit)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		doc := modelSearchDoc{cli.ViewVersion, hub.Endpoint(), []foundModelDoc{}}
		for _, l := range found {
			doc.Models = append(doc.Models, foundModelDoc{l.Name, l.License, l.Downloads, l.Gated, cli.OrEmpty(l.Quants)})
		}
		return a.WriteJSON(doc)
	}
	if len(found) == 0 {
		a.Printf("%s has no repository with GGUF files whose name holds: %s\n", termtext.Safe(hub.Endpoint()), termtext.Safe(words))
		return nil
	}
	t := a.Table()
	fmt.Fprintln(t, "REPOSITORY\tDOWNLOADS\tLICENSE\tQUANTS")
	for _, l := range found {
		license := l.License
		if license == "" {
			license = "-"
		}
		if l.Gated {
			license += ", gated"
		}
		quants := "-"
		if len(l.Quants) > 0 {
			quants = strings.Join(l.Quants, " ")
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", termtext.Safe(l.Name), l.Downloads, termtext.Safe(license), termtext.Safe(quants))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	a.Hint("next: aisync add model " + shellquote.Terminal(found[0].Name) + " --dry-run")
	return nil
}
