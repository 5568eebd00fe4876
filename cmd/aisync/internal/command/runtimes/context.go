package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// ContextCommand builds the command context.
func ContextCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "context [RUNTIME] [FILE...]",
		Short: "show what agent programs load here: rules, notes, skills, in order, with size",
		Long: `Shows what a program has in its context when it is started in this folder, and
after it has read FILE: instructions, rules, skills, commands, subagents, MCP
servers and hooks, in its order, with bytes and an estimate of tokens (4 bytes
each). It names what the program has twice, what it never loads and why, and
texts that only other programs have here.

Without RUNTIME it reports on the programs of the specs, or, where no spec names
any, on those that are installed. What a program loads is known from runs of the
real program, or from its documentation: see docs/sources.md. Nothing is started
and nothing is written.`,
		Example: `  $ aisync context
  $ aisync context claude src/server.go
  $ aisync context --json opencode`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showContext(cmd.Context(), a, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			ids, _ := runtimeIDs(a, cmd, args, typed)
			return ids, cobra.ShellCompDirectiveDefault
		},
	}
}

func showContext(ctx context.Context, a *cli.App, args []string) error {
	v, origin, err := declaredHere(ctx, a)
	if err != nil {
		return err
	}
	tree, ok := os.DirFS("/").(loads.Tree)
	if !ok {
		return errors.New("this build cannot read links")
	}
	q := contextreport.Question{
		Catalog: v.Catalog.Runtimes(), Start: v.Cwd, Origin: origin,
		Machine: loads.Machine{Tree: tree, Home: v.Places.Physical(v.Places.Home), Environment: v.Env},
	}
	if a.Flags.Project != "" && v.Places.Project != "" {
		q.Start = v.Places.Project
	}
	if len(args) > 0 {
		if rt, ok := v.Catalog.Runtime(args[0]); ok {
			q.Only, args = []string{rt.ID}, args[1:]
		} else if !isFile(args[0]) {
			return nearest.Unknown("runtime or file", args[0], catalog.RuntimeIDs(q.Catalog))
		}
	}
	for _, file := range args {
		if !filepath.IsAbs(file) {
			file = filepath.Join(v.Cwd, file)
		}
		q.Touched = append(q.Touched, filepath.Clean(file))
	}
	if q.Only == nil {
		if q.Only, err = programsHere(v); err != nil {
			return err
		}
	}
	r, err := contextreport.New(q)
	if err != nil {
		return err
	}
	if v.Bundles != nil { // declared: who wrote what is known
		for i := range r.Programs {
			if rt, ok := v.Catalog.Runtime(r.Programs[i].ID); ok {
				if r.Programs[i].Duplicates, err = v.DuplicatesNow(ctx, []spec.Runtime{rt}, q.Start); err != nil {
					return err
				}
			}
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(r)
	}
	for i, p := range r.Programs {
		if i > 0 {
			a.Printf("\n")
		}
		printProgram(a, v, r, p)
	}
	return nil
}

// declaredHere loads the specs, and returns what names the line of a spec that a
// file was made from. A source that is not on this machine leaves that out.
func declaredHere(ctx context.Context, a *cli.App) (*stack.View, func(string) string, error) {
	v, err := a.Loaded(ctx, stack.ScopeAll, stack.Look)
	if err != nil {
		return nil, nil, err
	}
	var missing *bundle.MissingError
	if err := v.Declare(ctx, v.Resolver(pin.Look)); err != nil && !errors.Is(err, pin.ErrNotFetched) && !errors.As(err, &missing) {
		return nil, nil, cli.InputHint(err)
	}
	from := map[string]string{}
	for _, d := range v.Declared.Declarations {
		if !d.Target.IsPath() {
			continue
		}
		at := v.Places.Physical(d.Target.Path(v.Places.Home))
		for _, l := range d.Leaves {
			for _, o := range l.Origin {
				if o.String() != "" && !strings.Contains(from[at], o.String()) {
					from[at] = strings.TrimPrefix(from[at]+", "+o.String(), ", ")
				}
			}
		}
	}
	return v, func(path string) string { return from[path] }, nil
}

// isFile reports whether a word is a file that is there, or looks like the path
// of one that is not yet.
func isFile(word string) bool {
	_, err := os.Stat(word)
	return err == nil || strings.ContainsAny(word, "/.")
}

// programsHere returns the ids of the programs that the specs name, else of
// those that are installed, in the order of the catalog.
func programsHere(v *stack.View) ([]string, error) {
	named := map[string]bool{}
	if h := v.Spec.Host; h != nil && !h.Builtin {
		for _, u := range h.Runtimes {
			named[u.ID] = true
		}
	}
	if p := v.Spec.Project; p != nil {
		for _, n := range p.Runtimes {
			named[n.Value] = true
		}
	}
	if len(named) == 0 {
		f, err := v.Facts()
		if err != nil {
			return nil, err
		}
		for _, r := range v.Catalog.Runtimes() {
			named[r.ID] = r.Command != "" && f.Programs[r.Command] != ""
		}
	}
	ids := slices.DeleteFunc(catalog.RuntimeIDs(v.Catalog.Runtimes()), func(id string) bool { return !named[id] })
	if len(ids) == 0 {
		return nil, advice.New(errors.New("no spec names a runtime here, and none is installed"), "name one: aisync context "+v.Catalog.Runtimes()[0].ID+" (aisync runtimes ls lists all)")
	}
	return ids, nil
}

func printProgram(a *cli.App, v *stack.View, r contextreport.Report, p contextreport.Program) {
	paint := a.Paint()
	short := func(path string) string { return termtext.Safe(v.Places.Short(v.Cwd, path)) }
	a.Printf("%s\n", paint.Bold(p.ID+" started in "+short(r.Start)))
	if p.Unknown != "" {
		a.Printf("  not known: %s\n", p.Unknown)
		return
	}
	for _, e := range p.Loaded {
		a.Printf("  %-8s %-8s %s%s\n", e.When, e.Kind, itemText(e, short), paint.Dim(itemSize(e)))
	}
	for _, e := range p.Later {
		a.Printf("  %-8s %-8s %s%s\n", e.When, e.Kind, itemText(e, short), paint.Dim(pathsText(e)))
	}
	for _, n := range p.Never {
		a.Printf("  %s %-8s %s: %s\n", paint.Yellow("never   "), n.Kind, short(n.Path), termtext.Safe(n.Says))
	}
	for _, o := range p.Others {
		a.Printf("  %s %-8s %s: loaded by %s\n", paint.Yellow("not here"), o.Kind, short(o.Path), strings.Join(o.By, ", "))
	}
	for _, s := range contextreport.Sentences(p.Duplicates, v.ShortPath) {
		a.Printf("  %s %s\n", paint.Yellow("twice   "), termtext.Safe(s.Text))
		if s.Fix != "" {
			a.Printf("           fix: %s\n", termtext.Safe(s.Fix))
		}
	}
	a.Printf("  %s at the start%s.\n", sumText(p.AtStart), afterText(r, p))
	if n := len(p.Twice); n > 0 {
		a.Printf("  %s\n", paint.Yellow(quantity.Count(n, "text")+" more than once: see ×"))
	}
}

// itemText names an item, its copies and where the first one comes from.
func itemText(e contextreport.Entry, short func(string) string) string {
	text := termtext.Safe(e.Name)
	if e.Total > 1 {
		text += fmt.Sprintf(" ×%d", e.Total)
	}
	for i, f := range e.From {
		if i == 0 || e.Total > 1 {
			text += "  " + short(f.Path)
			if len(f.Via) > 0 {
				text += " (by " + short(f.Via[len(f.Via)-1]) + ")"
			}
		}
	}
	return text
}

func itemSize(e contextreport.Entry) string {
	text := ""
	if e.Bytes > 0 {
		text = "  " + quantity.Bytes(int64(e.Bytes))
	}
	if e.Cut > 0 {
		text += ", " + quantity.Bytes(int64(e.Cut)) + " cut off"
	}
	if e.Later > 0 {
		text += ", " + quantity.Bytes(int64(e.Later)) + " on request"
	}
	if len(e.From) > 0 && e.From[0].Origin != "" {
		text += ", from " + e.From[0].Origin
	}
	return text
}

func pathsText(e contextreport.Entry) string {
	text := ""
	if len(e.Paths) > 0 {
		text = "  " + termtext.Safe(strings.Join(e.Paths, ", "))
	}
	if len(e.From) > 0 && e.From[0].Origin != "" {
		text += ", from " + e.From[0].Origin
	}
	return text
}

func sumText(s contextreport.Sum) string {
	return fmt.Sprintf("%s, about %d tokens", quantity.Bytes(int64(s.Bytes)), s.Tokens)
}

func afterText(r contextreport.Report, p contextreport.Program) string {
	if len(r.Touched) == 0 {
		return ""
	}
	return "; " + sumText(p.AfterRead) + " after " + quantity.Count(len(r.Touched), "file")
}
