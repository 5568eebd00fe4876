// Package services provides the command services and its subcommands.
package services

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

// Command builds the command services.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "list, start and stop this machine's model servers",
		Long: `A service is a model server that the host's spec describes. aisync apply creates
its unit and starts it; these commands show, start and stop services between
applies. systemd runs them, or launchd on macOS. Elsewhere, as in most
containers, aisync's own supervisor does; it does not start with the machine.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	for _, sub := range []func(*cli.App) *cobra.Command{
		servicesLsCommand, servicesStatusCommand, servicesStartCommand, servicesStopCommand, servicesRestartCommand, servicesLogsCommand, superviseCommand, slotsCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// serviceDoc is one of services ls --json; see docs/json.md.
type serviceDoc struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Scope   string   `json:"scope,omitempty"`
	Wanted  bool     `json:"wanted"`  // by the spec; false for enabled: false
	Manager string   `json:"manager"` // systemd, launchd, supervise; none for an external one
	State   string   `json:"state"`   // running, starting, failed, stopped, external, unknown
	PID     int      `json:"pid,omitempty"`
	Since   string   `json:"since,omitempty"`
	Restart int      `json:"restarts"`
	Ended   string   `json:"ended,omitempty"`
	Enabled bool     `json:"starts_with_machine"`
	Port    int      `json:"port,omitempty"`
	URL     string   `json:"url"`
	Models  []string `json:"models"`
}

type servicesDoc struct {
	FormatVersion string       `json:"format_version"`
	Services      []serviceDoc `json:"services"`
}

// serviceNames completes the services of the host's spec.
func serviceNames(a *cli.App, cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.Flags.Quiet = true
	w, err := a.Loaded(cmd.Context(), stack.ScopeHost, stack.Look)
	if err != nil || w.Spec.Host == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range w.Spec.Host.Services {
		if !slices.Contains(args, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// theseServices returns the services called names, or all for no names.
func theseServices(ctx context.Context, a *cli.App, names []string) (*stack.View, []spec.Service, error) {
	w, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return nil, nil, err
	}
	if w.Spec.Host == nil {
		return nil, nil, advice.Command(fmt.Errorf("no host describes this machine, so there are no services"), "aisync init")
	}
	all := w.Spec.Host.Services
	if len(names) == 0 {
		return w, all, nil
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	var out []spec.Service
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, nil, nearest.Unknown("service", name, known)
		}
		out = append(out, all[i])
	}
	return w, out, nil
}

// serviceDocs returns the states of services. It warns about states it cannot read.
func serviceDocs(ctx context.Context, a *cli.App, names []string) (*stack.View, []serviceDoc, error) {
	w, list, err := theseServices(ctx, a, names)
	if err != nil {
		return nil, nil, err
	}
	states, err := w.ServiceStates(ctx, list)
	if err != nil {
		a.Say("aisync: %s", termtext.Safe(err.Error()))
	}
	docs := []serviceDoc{}
	for _, s := range list {
		d := serviceDoc{Name: s.Name, Kind: s.Kind, Scope: s.Scope, Wanted: s.Enabled, Manager: string(w.Services.By), State: "unknown", Port: s.Port, URL: service.BaseURL(s), Models: append([]string{}, service.ModelsOf(s)...)}
		st, ok := states[s.Name]
		switch {
		case s.Kind == "external":
			d.State, d.Manager = "external", "none"
		case ok:
			d.State, d.PID, d.Restart, d.Ended, d.Enabled = string(st.Activity), st.PID, st.Restarts, st.Ended, st.Enabled
			if !st.Since.IsZero() {
				d.Since = st.Since.UTC().Format(time.RFC3339)
			}
		}
		docs = append(docs, d)
	}
	return w, docs, nil
}

func servicesLsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "list the services of the spec and whether they run",
		Long: `Lists all services of the host's spec with their states and service managers. It
exits 0 whatever it reports.`,
		Example:     "  $ aisync services ls",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, docs, err := serviceDocs(cmd.Context(), a, nil)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.WriteJSON(servicesDoc{cli.ViewVersion, docs})
			}
			if len(docs) == 0 {
				a.Printf("No services: the spec describes none.\n")
				return nil
			}
			t := a.Table()
			fmt.Fprintln(t, "SERVICE\tKIND\tSTATE\tRUN BY\tURL\tMODELS")
			for _, d := range docs {
				by := d.Manager
				if d.Scope == "system" {
					by += ", for the machine"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", termtext.Safe(d.Name), d.Kind, d.stateText(), by, termtext.Safe(d.URL), termtext.Safe(cmp.Or(strings.Join(d.Models, ", "), "-")))
			}
			return t.Flush()
		},
	}
}

func (d serviceDoc) stateText() string {
	text := d.State
	if d.Ended != "" && d.State != string(control.Running) {
		text += " (" + termtext.Safe(d.Ended) + ")"
	}
	if !d.Wanted && d.State != "external" {
		text += ", not enabled in the spec"
	}
	return text
}

func servicesStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME...]",
		Short: "print the state of services with the last lines of their logs",
		Long: `Prints for each service, or for those named, whether it runs, since when, its
process, how often it was restarted, and the last lines of its log. It exits 0
whatever it reports; to check services, run aisync doctor.`,
		Example:     "  $ aisync services status coder",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return serviceNames(a, cmd, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, docs, err := serviceDocs(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.WriteJSON(servicesDoc{cli.ViewVersion, docs})
			}
			for i, d := range docs {
				if i > 0 {
					a.Printf("\n")
				}
				sayService(cmd.Context(), a, w, d)
			}
			return nil
		},
	}
}

// sayService prints one service at length.
func sayService(ctx context.Context, a *cli.App, w *stack.View, d serviceDoc) {
	a.Printf("%s  %s\n", a.Paint().Bold(termtext.Safe(d.Name)), d.stateText())
	line := func(what, text string) {
		if text != "" {
			a.Printf("  %-9s %s\n", what, termtext.Safe(text))
		}
	}
	line("kind", d.Kind)
	line("url", d.URL)
	line("models", strings.Join(d.Models, ", "))
	if d.State == "external" {
		return
	}
	line("run by", d.Manager+" ("+cmp.Or(d.Scope, "user")+")")
	if d.PID != 0 {
		line("process", strconv.Itoa(d.PID))
	}
	line("since", d.Since)
	if d.Restart > 0 {
		line("restarts", strconv.Itoa(d.Restart))
	}
	if d.State == "unknown" {
		return
	}
	c, err := w.Services.Controller(d.Scope == "system")
	if err != nil {
		return
	}
	_, why, lines := service.Why(ctx, c, control.State{Name: d.Name, Ended: d.Ended})
	if d.State == string(control.Running) {
		why = "" // of the run before
	}
	line("ended", strings.Trim(d.Ended+"; "+termtext.Safe(why), "; "))
	for i, text := range lines {
		if i == 0 {
			a.Printf("  last output\n")
		}
		a.Printf("    %s\n", termtext.Safe(text))
	}
}
