package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

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
	var model string
	cmd := &cobra.Command{
		Use:   "context [RUNTIME] [FILE...]",
		Short: "show what agent programs load here, in order, with sizes",
		Long: `Shows what a program has in its context when it is started in this folder, and
after it has read FILE: instructions, rules, skills, commands, subagents, MCP
servers and hooks, in its order, with bytes and an estimate of tokens (4 bytes
each). It names what the program has twice, what it never loads and why, and
texts that only other programs have here. Texts over a program's limit are named
with the line from which they are cut off, and programs over their budget in the
spec (context: RUNTIME: max) with what they have too much.

Without RUNTIME it reports on the programs of the specs, or, where no spec names
any, on those that are installed. What a program loads is known from runs of the
real program, or from its documentation: see docs/sources.md. Nothing is started
and nothing is written. With --model it sends one prompt of some hundred words to
a service of the host that serves MODEL, and tells from its speed how long a model
takes to read all this; where no such service runs, it says so.`,
		Example: `  $ aisync context
  $ aisync context claude src/server.go
  $ aisync context opencode --model qwen3-coder-30b
  $ aisync context --json opencode`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showContext(cmd.Context(), a, args, model)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			ids, _ := runtimeIDs(a, cmd, args, typed)
			return ids, cobra.ShellCompDirectiveDefault
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "add how many seconds this `MODEL` of a service takes to read it, measured now")
	return cmd
}

func showContext(ctx context.Context, a *cli.App, args []string, model string) error {
	v, err := declaredHere(ctx, a)
	if err != nil {
		return err
	}
	tree, err := stack.Files()
	if err != nil {
		return err
	}
	q := v.ContextQuestion(tree)
	q.Start, q.Budgets = v.Cwd, v.Budgets()
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
	if model != "" {
		if q.Model, err = prefillOf(ctx, a, v, model); err != nil {
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
	if r.Model != nil {
		a.Printf("\n%s\n", termtext.Safe(modelText(r.Model)))
	}
	return nil
}

// declaredHere loads the specs and what they ask for. A source that is not on
// this machine leaves its part out.
func declaredHere(ctx context.Context, a *cli.App) (*stack.View, error) {
	v, err := a.Loaded(ctx, stack.ScopeAll, stack.Look)
	if err != nil {
		return nil, err
	}
	var missing *bundle.MissingError
	if err := v.Declare(ctx, v.Resolver(pin.Look)); err != nil && !errors.Is(err, pin.ErrNotFetched) && !errors.As(err, &missing) {
		return nil, cli.InputHint(err)
	}
	return v, nil
}

// isFile reports whether a word is a file that is there, or looks like the path
// of one that is not yet.
func isFile(word string) bool {
	_, err := os.Stat(word)
	return err == nil || strings.ContainsAny(word, "/.")
}

// programsHere returns the ids of the programs that are reported where none is
// named. Having none is an error.
func programsHere(v *stack.View) ([]string, error) {
	ids, err := v.ProgramsHere()
	if err == nil && len(ids) == 0 {
		err = advice.New(errors.New("no spec names a runtime here, and none is installed"), "name one: aisync context "+v.Catalog.Runtimes()[0].ID+" (aisync runtimes ls lists all)")
	}
	return ids, err
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
	if p.FirstSeconds > 0 {
		a.Printf("  Its own first request adds about %d tokens%s.\n", p.FirstRequest, secondsText(p.FirstSeconds))
	}
	for _, b := range p.Budgets {
		if b.Over > 0 {
			a.Printf("  %s\n", paint.Yellow(fmt.Sprintf("%d tokens more than its budget of %d (%s)", b.Over, b.Tokens, b.Origin)))
		}
	}
	for _, text := range p.CutTexts() {
		a.Printf("  %s\n", paint.Yellow(fmt.Sprintf("%s takes %s of such texts in all: %s is cut from line %d on, %s are lost", p.ID, quantity.Memory(p.Limit), short(text.Path), text.Line, quantity.Bytes(int64(text.Bytes)))))
	}
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
	return fmt.Sprintf("%s, about %d tokens%s", quantity.Bytes(int64(s.Bytes)), s.Tokens, secondsText(s.Seconds))
}

func secondsText(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f s)", seconds)
}

func afterText(r contextreport.Report, p contextreport.Program) string {
	if len(r.Touched) == 0 {
		return ""
	}
	return "; " + sumText(p.AfterRead) + " after " + quantity.Count(len(r.Touched), "file")
}
