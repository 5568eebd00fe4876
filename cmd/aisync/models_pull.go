package main

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// transferFlags registers --limit-rate and --connections.
func transferFlags(fs *pflag.FlagSet, t *Transfer) {
	fs.Var((*byteRate)(&t.LimitRate), "limit-rate", "fetch at most `RATE` bytes a second in all, such as 20M or 500k")
	fs.IntVar(&t.Connections, "connections", 4, "fetch a file in up to `N` ranges at once")
}

func checkTransfer(t Transfer) error {
	if t.Connections < 1 || t.Connections > 64 {
		return usagef("--connections %d: want 1 to 64", t.Connections)
	}
	return nil
}

// byteRate is a number of bytes a second; 0 is no limit.
type byteRate int64

func (r *byteRate) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*r), 10)
}

func (r *byteRate) Type() string { return "RATE" }

// Set reads a number with k, M or G for powers of 1000.
func (r *byteRate) Set(text string) error {
	units := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
	digits := strings.TrimRight(text, "kKmMgG")
	n, err := strconv.ParseFloat(digits, 64)
	unit, ok := units[strings.ToLower(text[len(digits):])]
	if err != nil || !ok || !(n*unit >= 1 && n*unit < 1e15) {
		return fmt.Errorf("%q is no rate; want bytes a second, such as 20M or 500k", text)
	}
	*r = byteRate(n * unit)
	return nil
}

func modelsPullCommand(a *app) *cobra.Command {
	var f applyFlags
	var fetching Transfer
	cmd := &cobra.Command{
		Use:   "pull ID...",
		Short: "fetch these models of the spec now",
		Long: `Does what aisync apply does, for these models and their names in other programs'
folders alone, and without asking: you named them. What was fetched before an
interruption is not fetched again. The digest that is locked decides what is
right; a source is trusted with nothing.

--source is asked before the sources that the spec knows: an address of the
file, or of a folder (with a slash at the end), hf://OWNER/REPO@REVISION/PATH,
oci://HOST/REPO:TAG, or peer://HOST:PORT of a machine that runs aisync models
serve.

Exit codes: as apply.`,
		Example: `  $ aisync models pull tiny
  $ aisync models pull tiny --source peer://192.168.1.20:4873 --limit-rate 50M`,
		Annotations:       map[string]string{"effect": "writes"},
		Args:              minArgs(1, "the model"),
		ValidArgsFunction: a.modelNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.modelsPull(cmd.Context(), args, f, fetching)
		},
	}
	f.register(cmd)
	transferFlags(cmd.Flags(), &fetching)
	cmd.Flags().StringVar(&fetching.Source, "source", "", "ask `URL` before the sources of the spec")
	_ = cmd.Flags().MarkHidden("yes") // nothing is asked
	return cmd
}

func (a *app) modelsPull(ctx context.Context, ids []string, f applyFlags, fetching Transfer) error {
	if err := checkSource(fetching.Source); err != nil {
		return err
	}
	s, err := a.stockroom(ctx)
	if err != nil {
		return err
	}
	ask := Request{Scope: ScopeHost, Models: ids, Transfer: fetching}
	for _, id := range ids {
		if !slices.ContainsFunc(s.w.Spec.Host.Models, func(m spec.ModelUse) bool { return m.ID == id }) {
			return s.unknown(id)
		}
		ask.Targets = append(ask.Targets, "model:"+id)
	}
	f.yes = true
	return a.apply(ctx, ask, f, "")
}

// checkSource refuses what cannot be a source before anything is looked at.
func checkSource(source string) error {
	if source == "" {
		return nil
	}
	if u, err := url.Parse(source); err != nil || u.Scheme == "" && !path.IsAbs(source) {
		return usagef("--source %q: want a URL such as https://HOST/FILE or peer://HOST:PORT", termtext.Safe(source))
	}
	return nil
}

// sourceFor is where --source has the file called name; a folder has it under
// its own name.
func sourceFor(source, name string) string {
	if byDigest(source) || !strings.HasSuffix(source, "/") {
		return source
	}
	return source + path.Base(name)
}

// byDigest reports whether a source finds files by their digest.
func byDigest(source string) bool {
	return strings.HasPrefix(source, "peer:") || strings.HasPrefix(source, "oci") && !strings.Contains(source, "#")
}
