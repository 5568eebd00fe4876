// Package doctor provides the command doctor, which runs the checks of app/doctor and
// prints their results.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/termtext"
)

// Command builds the command doctor.
func Command(a *cli.App) *cobra.Command {
	var o doctor.Options
	var start bool
	var long strings.Builder
	long.WriteString(`Checks that everything the specs ask for works here, and names a fix for each
problem. It changes nothing. It connects only to the servers that the spec
names; with --offline only to those on this machine. A server must list its
models and answer a prompt with at least one token; doctor shows how long that
took.

With --deep the agent programs run their own checks without a network, and each
that talks to a server of the spec answers a prompt with access to that server
alone. Programs may write into their own folders when started. It lists the MCP
servers of the specs and asks whether to start them; they do what they do, with
your rights, and are ended when they have named their tools. --start-servers
answers with yes.

`)
	for _, c := range doctor.Checks() {
		fmt.Fprintf(&long, "  %-20s %s\n", c.Name, c.Doc)
	}
	for _, f := range doctor.Families() {
		fmt.Fprintf(&long, "  %-20s %s\n", f.Name, f.Help(strings.Repeat(" ", 23)))
	}
	cmd := &cobra.Command{
		Use:         "doctor",
		Short:       "check that everything works, and name a fix for each problem",
		Long:        long.String() + "\nResults: ok; skip: not checked, and why; warn: works, but with less; fail.\nExit code 0: nothing fails; 1: something does.",
		Example:     "  $ aisync doctor --offline\n  $ aisync doctor --deep --timeout 10m\n  $ aisync doctor --all --offline",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := placesOf(a, o.Scope)
			if err != nil {
				return err
			}
			a.SayNewRoot(p)
			e := doctor.Open(cmd.Context(), a.Machine(p), o)
			if err := askToStart(a, e, o.Deep, start); err != nil {
				return err
			}
			return report(a, doctor.Examine(cmd.Context(), e, e.Checks()))
		},
	}
	cmd.Flags().BoolVar(&o.Deep, "deep", false, "read every byte of what can be verified, such as models, and run the programs' own checks")
	cmd.Flags().BoolVar(&start, "start-servers", false, "with --deep: start the MCP servers of the specs without asking")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "give a server `TIME` for each answer (default: 10s to name its models, 3m to a prompt)")
	o.Scope = stack.ScopeAll
	cli.ScopeFlag(&o.Scope, cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error { return doctorAll(ctx, r, start) })
	cmd.Flags().BoolVar(&o.NoPrompt, "no-prompt", false, "send no prompt to a model, which may have to be loaded first")
	return cmd
}

// placesOf returns the places that the checks of a scope are about.
func placesOf(a *cli.App, s stack.Scope) (place.Places, error) {
	if s == stack.ScopeHost {
		p, err := a.HostPlaces()
		p.Project, p.From = "", ""
		return p, err
	}
	p, err := a.Places()
	if err == nil {
		if _, err = s.Owners(p); err != nil {
			err = cli.InputHint(err)
		}
	}
	return p, err
}

// askToStart starts the servers of the specs in the checks of e if the person
// wants that. Without a terminal and the flag, none is.
func askToStart(a *cli.App, e *doctor.Env, deep, start bool) error {
	if !deep {
		if start {
			return cli.Usagef("--start-servers needs --deep")
		}
		return nil
	}
	list := e.MCPServers()
	if !start && len(list) > 0 && a.Terminal() && !a.Flags.JSON && !a.Flags.Offline {
		a.Say("MCP servers of the specs:")
		for _, m := range list {
			a.Say("%s", a.Hang("  "+m.Name+"  ", termtext.Safe(m.Line)))
		}
		var err error
		if start, err = a.Ask("Start them to see whether they name their tools?"); err != nil {
			return err
		}
	}
	if start {
		e.StartServers(list)
	}
	return nil
}

// report prints the results and returns the exit code as an error.
func report(a *cli.App, results []doctor.Result) error {
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
			head := fmt.Sprintf("%s %-20s ", mark(a, r.Result), r.Name)
			a.Printf("%s%s\n", head, a.Paint().Dim(strings.TrimPrefix(a.Hang(head, doc), head)))
			for _, f := range r.Findings {
				what := strings.Split(termtext.SafeLines(f.What), "\n")
				a.Printf("%s\n", a.Hang("  "+mark(a, f.Level)+" ", what[0]))
				for _, more := range what[1:] {
					a.Printf("         %s\n", more)
				}
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

// mark returns the sign of a result with its word: neither colour nor font carries
// meaning alone.
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
