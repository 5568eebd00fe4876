package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

// modelPushDoc is models push --json; see docs/json.md.
type modelPushDoc struct {
	FormatVersion string           `json:"format_version"`
	Models        []modelPushedDoc `json:"models"`
}

type modelPushedDoc struct {
	ID       string `json:"id"`
	At       string `json:"at"`
	Manifest string `json:"manifest"`
	Sent     int64  `json:"sent_bytes"`
}

func modelsPushCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "push oci://HOST/REPO[:TAG] ID...",
		Short: "send models of this machine to a registry, for other machines",
		Long: `Sends the files of these models, as they were verified, to a registry, with the
login of docker's configuration. A model is one artifact in the form of the
CNCF's model specification; its tag is ID-QUANT, unless one is named. What the
repository has already, by its digest, is not sent again.

Other machines name the repository as a mirror (mirrors in the host's spec), or
the artifact as a model: aisync add model oci://HOST/REPO:TAG.`,
		Example:     "  $ aisync models push oci://registry.lan:5000/models tiny",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(2, "the repository and the model"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return modelNames(a, cmd, args[1:], start)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return modelsPush(cmd.Context(), a, args[0], args[1:])
		},
	}
}

func modelsPush(ctx context.Context, a *cli.App, to string, ids []string) error {
	r, err := pin.ParseRepository(to)
	if err != nil {
		return cli.Usagef("%s", termtext.Safe(err.Error()))
	}
	if r.Tag != "" && len(ids) > 1 {
		return cli.Usagef("%s names one tag, and %d models need one each; leave :%s out", termtext.Safe(to), len(ids), termtext.Safe(r.Tag))
	}
	inv, models, _, err := stored(ctx, a)
	if err != nil {
		return err
	}
	doc := modelPushDoc{cli.ViewVersion, []modelPushedDoc{}}
	for _, id := range ids {
		m, err := pushable(inv, models, id)
		if err != nil {
			return err
		}
		var total int64
		for _, f := range m.Files {
			total += f.Size
		}
		bars := a.NewBars("push", total)
		p, err := inv.View.Network().PushModel(ctx, r, m, func(done, total int64) { bars.File(id, done, total) })
		bars.Close()
		if err != nil {
			return fmt.Errorf("model %s: %w", id, err)
		}
		doc.Models = append(doc.Models, modelPushedDoc{id, p.At, p.Manifest, p.Sent})
		if !a.Flags.JSON {
			a.Printf("%s  %s  %s\n", termtext.Safe(id), termtext.Safe(p.At), sentText(p.Sent, total))
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	last := doc.Models[len(doc.Models)-1]
	a.Hint("On another machine: aisync add model " + shellquote.Terminal(last.At) + " --name " + shellquote.Terminal(last.ID))
	return nil
}

// sentText says how much of total was sent.
func sentText(sent, total int64) string {
	switch sent {
	case 0:
		return "was there"
	case total:
		return quantity.Bytes(sent) + " sent"
	}
	return quantity.Bytes(sent) + " of " + quantity.Bytes(total) + " sent"
}

// pushable returns the files of the model id that the spec wants. All must be there, as
// they were verified.
func pushable(inv *stack.Inventory, models []store.Model, id string) (pin.PushedModel, error) {
	for _, m := range models {
		if m.ID != id || !m.Wanted {
			continue
		}
		out := pin.PushedModel{ID: id, Quant: cmp.Or(m.Quant, "GGUF"), License: m.License}
		for _, f := range m.Files {
			if f.State != store.OK {
				return out, advice.Command(fmt.Errorf("model %s is %s here", id, m.State), "aisync models pull "+shellquote.Terminal(id))
			}
			out.Files = append(out.Files, pin.PushedFile{Name: f.Path.Base(), Path: inv.View.Places.Physical(f.Where), SHA256: f.SHA256, Size: f.Size})
		}
		return out, nil
	}
	if inv.Has(id) {
		return pin.PushedModel{}, errors.New("model " + id + " is not in the spec of this host")
	}
	return pin.PushedModel{}, inv.Unknown(id)
}
