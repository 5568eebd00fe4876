package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// sourceItself is the value of --to-bundle without a folder: the bundle's own source.
const sourceItself = "its-source"

// AdoptCommand builds the command adopt.
func AdoptCommand(a *cli.App) *cobra.Command {
	s := stack.ScopeAll
	var f cli.ApplyFlags
	var folder string
	cmd := &cobra.Command{
		Use:   "adopt ADDRESS...",
		Short: "keep what is there instead of what the spec asks for",
		Long: `Accepts what is at an address as it is. It counts as in order until the spec
asks for something else there; then aisync asks again. Only aisync's records
change, no file does: what the spec adds to a file is left to aisync apply.

An ADDRESS may name a part of a file: its key follows after #.

With --to-bundle, the edit of a file that came from a bundle is written back
into the bundle: into its source, where that is a folder, or into the checkout
you name. From then on the spec asks for the edited file. It shows the
difference and keeps a backup of the bundle's file.`,
		Example:     "  $ aisync adopt file:.claude/settings.json\n  $ aisync adopt file:.mcp.json#/mcpServers/notes\n  $ aisync adopt file:.claude/rules/go.md --to-bundle\n  $ aisync adopt file:.claude/rules/go.md --to-bundle=../rulesets",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the address"),

		ValidArgsFunction: a.Addresses,
		RunE: func(cmd *cobra.Command, args []string) error {
			parts, err := partsOf(args)
			if err != nil {
				return cli.Usagef("%v", err)
			}
			ask := stack.Request{Scope: s, Choice: reconcile.Choice{Adopt: true}, Keep: parts.holds}
			for _, p := range parts {
				ask.Targets = append(ask.Targets, p.address)
			}
			toBundle := cmd.Flags().Changed("to-bundle")
			switch {
			case f.DryRun && toBundle:
				return cli.Usagef("adopt: --dry-run and --to-bundle exclude each other; aisync drift shows the edit")
			case f.DryRun:
				return rehearsed(cmd.Context(), a, ask, f, "")
			case toBundle:
				return adoptToBundle(cmd.Context(), a, ask, f, strings.TrimPrefix(folder, sourceItself))
			}
			return adopt(cmd.Context(), a, ask, f, parts)
		},
	}
	cli.ScopeFlag(&s, cmd)
	f.Register(cmd)
	cmd.Flags().StringVar(&folder, "to-bundle", "", "write the edit back into its bundle: the checkout in `FOLDER`, or the source itself")
	cmd.Flags().Lookup("to-bundle").NoOptDefVal = sourceItself
	_ = cmd.Flags().MarkHidden("diff")
	_ = cmd.Flags().MarkHidden("yes") // it never asks: it writes only records
	return cmd
}

func adopt(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, parts parts) error {
	w, err := a.Opened(ctx, ask, f.LockTimeout, "aisync adopt")
	if err != nil {
		return err
	}
	defer w.Release()
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	p.Conflicts = nil // the spec's contradictions do not concern what is there
	named := func(c reconcile.Change) bool {
		return slices.ContainsFunc(ask.Targets, c.Target.Match)
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c reconcile.Change) bool { return !named(c) })
	if err := parts.known(p); err != nil {
		return err
	}
	waiting := ""
	for _, c := range p.Changes {
		if slices.ContainsFunc(c.Leaves, func(l reconcile.LeafChange) bool { return l.Waits }) {
			waiting = "what else the spec wants there is left to: aisync apply --target " + shellquote.Terminal(string(c.Target.Resource.Address))
		}
		switch {
		case c.Action == reconcile.Clash:
			return fmt.Errorf("%s: %s: %w; nothing was changed", c.Target.Resource.Address, c.Meaning(), reconcile.ErrUndecided)
		case c.Action == reconcile.Unclear:
			return fmt.Errorf("%s: %s; nothing was changed", c.Target.Resource.Address, c.Meaning())
		}
	}
	if p.Empty() {
		if waiting == "" {
			a.Say("aisync: nothing to adopt: everything there is in order")
			return nil
		}
		a.Say("aisync: nothing to adopt: nothing there differs from what the spec wants")
		a.Hint("%s", waiting)
		return nil
	}
	if err := CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "adopt"}); err != nil || waiting == "" {
		return err
	}
	a.Hint("%s", waiting)
	return nil
}

// part is an address as typed: of a whole target, or with a key of one part, or
// of all parts below it.
type part struct {
	address string
	key     string // "" for all
}

type parts []part

// partsOf takes the keys off the addresses in args.
func partsOf(args []string) (out parts, err error) {
	for _, arg := range args {
		if _, err := reconcile.ParseAddress(arg); err != nil {
			return nil, err
		}
		p := part{address: arg}
		for i := range arg {
			if rest, ok := strings.CutPrefix(arg[i:], "#"); ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "block:") || strings.HasPrefix(rest, "line:")) {
				p = part{arg[:i], rest}
				break
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// has reports whether p names the part key of t.
func (p part) has(t reconcile.Target, key reconcile.LeafKey) bool {
	k := string(key)
	return t.Match(p.address) && (p.key == "" || k == p.key || strings.HasPrefix(k, p.key+"/") || strings.HasPrefix(k, p.key+"#"))
}

// holds reports whether one of ps names the part key of t.
func (ps parts) holds(t reconcile.Target, key reconcile.LeafKey) bool {
	return slices.ContainsFunc(ps, func(p part) bool { return p.has(t, key) })
}

// known returns an error for a key that no target of plan has.
func (ps parts) known(plan *reconcile.Plan) error {
	for _, p := range ps {
		var keys []string
		named := false
		for _, c := range plan.Changes {
			for _, l := range c.Leaves {
				named = named || p.has(c.Target, l.Key)
				if l.Key != "" && c.Target.Match(p.address) {
					keys = append(keys, string(l.Key))
				}
			}
		}
		if p.key != "" && !named {
			return nearest.Unknown("part of "+p.address, p.key, keys)
		}
	}
	return nil
}
