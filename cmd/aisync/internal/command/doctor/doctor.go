// Package doctor is the command doctor.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// Command builds the command doctor.
func Command(a *cli.App) *cobra.Command {
	var deep, noPrompt bool
	var timeout time.Duration
	var long strings.Builder
	long.WriteString(`Looks whether all that the specs ask for works here, and says for each problem
how to mend it. It changes nothing. It asks the servers that the spec names, and
nobody else; with --offline only those on this machine. A server has to name its
models, and to answer a prompt with at least one token: how long that took is
shown. With --deep the agent programs check themselves, cut off from the network,
and each that talks to a server of the spec answers a prompt, cut off from all
but that server; they may write into their own folders then, as whenever they
are started.

`)
	for _, c := range doctor.Checks() {
		fmt.Fprintf(&long, "  %-20s %s\n", c.Name, c.Doc)
	}
	long.WriteString(doctor.DescribeRuntimeChecks())
	cmd := &cobra.Command{
		Use:         "doctor",
		Short:       "look whether all that the specs ask for works, with a fix for each problem",
		Long:        long.String() + "\nResults: ok; skip: nobody looked, and why; warn: works, with less; fail.\nExit code 0: nothing fails; 1: something does.",
		Example:     "  $ aisync doctor --offline\n  $ aisync doctor --deep --timeout 10m",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.Places()
			if err != nil {
				return err
			}
			a.SayNewRoot(p)
			it := doctor.Open(cmd.Context(), a.Machine(p))
			it.Timeout = timeout
			list := slices.DeleteFunc(doctor.Checks(), func(c doctor.Check) bool { return c.Deep && !deep || c.Network && a.Flags.Offline })
			list = slices.Concat(list, doctor.RuntimeChecks(it, deep), doctor.ServiceChecks(it, !noPrompt, deep))
			if deep && !noPrompt {
				list = append(list, doctor.AgentChecks(it)...)
			}
			return tell(a, doctor.Examine(cmd.Context(), list, it))
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "also read every byte of what can be verified, such as models, and run the programs' own checks")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give a server `TIME` for each answer (default: 10s to name its models, 3m to a prompt)")
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "ask no model anything: that may have to be read into memory first")
	return cmd
}

// tell prints the results and returns the exit code as an error.
func tell(a *cli.App, results []doctor.Result) error {
	failed := slices.ContainsFunc(results, func(r doctor.Result) bool { return r.Result == "fail" })
	if a.Flags.JSON {
		if err := a.WriteJSON(struct {
			FormatVersion string          `json:"format_version"`
			OK            bool            `json:"ok"`
			Checks        []doctor.Result `json:"checks"`
		}{cli.ViewVersion, !failed, results}); err != nil {
			return err
		}
	} else {
		for _, r := range results {
			doc := r.Doc
			if r.Took > 0 {
				doc += fmt.Sprintf(" (%.1f s)", r.Took)
			}
			a.Printf("%s %-20s %s\n", mark(a, r.Result), r.Name, a.Paint().Dim(doc))
			for _, f := range r.Findings {
				a.Printf("  %s %s\n", mark(a, f.Level), strings.ReplaceAll(termtext.SafeLines(f.What), "\n", "\n         "))
				if f.Fix != "" {
					a.Printf("         fix: %s\n", strings.ReplaceAll(termtext.SafeLines(f.Fix), "\n", "\n         "))
				}
			}
		}
	}
	if failed {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

// mark is the sign of a result with its word, so that nothing hangs on colour
// or on a font.
func mark(a *cli.App, result string) string {
	signs := map[string]string{"ok": "✓", "skip": "–", "warn": "!", "fail": "✗"}
	if !unicode(a) {
		signs = map[string]string{"ok": "+", "skip": "-", "warn": "!", "fail": "x"}
	}
	text := fmt.Sprintf("%s %-4s", signs[result], result)
	switch result {
	case "skip":
		return a.Paint().Dim(text)
	case "warn":
		return a.Paint().Yellow(text)
	case "fail":
		return a.Paint().Red(text)
	}
	return a.Paint().Green(text)
}

// unicode reports whether the locale can show more than ASCII.
func unicode(a *cli.App) bool {
	locale := strings.ToLower(cmp.Or(a.Env.Get("LC_ALL"), a.Env.Get("LC_CTYPE"), a.Env.Get("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
