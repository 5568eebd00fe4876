package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

func servicesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "the local servers of this machine: how they are, start, stop, what they write",
		Long: `A service is a server of models that the host's spec describes. aisync apply makes
its unit and starts it; these commands look at what runs, and start and stop it
in between. systemd runs it, launchd on macOS; where neither is, as in most
containers, a supervisor of aisync's own does, which nothing starts when the
machine does.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	for _, sub := range []func(*app) *cobra.Command{
		servicesLsCommand, servicesStatusCommand, servicesStartCommand, servicesStopCommand, servicesRestartCommand, servicesLogsCommand, superviseCommand,
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
	Wanted  bool     `json:"wanted"`  // by the spec; false where it says enabled: false
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

// serviceNames completes to the services that aisync runs.
func (a *app) serviceNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.g.quiet = true
	w, err := a.loaded(cmd.Context(), ScopeHost, Look)
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

// theseServices loads the world and finds the services called names, all
// where there are none.
func (a *app) theseServices(ctx context.Context, names []string) (*View, []spec.Service, error) {
	w, err := a.loaded(ctx, ScopeHost, Look)
	if err != nil {
		return nil, nil, err
	}
	if w.Spec.Host == nil {
		return nil, nil, advice.Command(fmt.Errorf("no host is described here, so there is no service"), "aisync init")
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

// serviceDocs says how services are; what nobody can tell is said on stderr.
func (a *app) serviceDocs(ctx context.Context, names []string) (*View, []serviceDoc, error) {
	w, list, err := a.theseServices(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	states, err := w.serviceStates(ctx, list)
	if err != nil {
		a.say("aisync: %s", termtext.Safe(err.Error()))
	}
	docs := []serviceDoc{}
	for _, s := range list {
		d := serviceDoc{Name: s.Name, Kind: s.Kind, Scope: s.Scope, Wanted: s.Enabled, Manager: string(w.services.by), State: "unknown", Port: s.Port, URL: service.BaseURL(s), Models: append([]string{}, service.ModelsOf(s)...)}
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

func servicesLsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "list the services of the spec and whether they run",
		Long: `Lists all services of the host's spec, whether they run, and who runs them.
It exits 0 whatever it reports.`,
		Example:     "  $ aisync services ls",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, docs, err := a.serviceDocs(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if a.g.json {
				return a.writeJSON(servicesDoc{viewVersion, docs})
			}
			if len(docs) == 0 {
				a.printf("No services: the spec describes none.\n")
				return nil
			}
			t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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

func servicesStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME...]",
		Short: "say how services are, with the last lines that they wrote",
		Long: `Says of each service, or of those that are named, whether it runs, since when,
under which process, how often it was started again, and what it wrote last. It
exits 0 whatever it reports; aisync doctor checks.`,
		Example:           "  $ aisync services status coder",
		Annotations:       map[string]string{"effect": "read-only"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.serviceNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, docs, err := a.serviceDocs(cmd.Context(), args)
			if err != nil {
				return err
			}
			if a.g.json {
				return a.writeJSON(servicesDoc{viewVersion, docs})
			}
			for i, d := range docs {
				if i > 0 {
					a.printf("\n")
				}
				a.sayService(cmd.Context(), w, d)
			}
			return nil
		},
	}
}

// sayService prints one service at length.
func (a *app) sayService(ctx context.Context, w *View, d serviceDoc) {
	a.printf("%s  %s\n", a.paint().bold(termtext.Safe(d.Name)), d.stateText())
	line := func(what, text string) {
		if text != "" {
			a.printf("  %-9s %s\n", what, termtext.Safe(text))
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
	c := w.services.controller(w.services.by, d.Scope == "system")
	for i, text := range service.LastLines(ctx, c, d.Name, 5) {
		if i == 0 {
			a.printf("  wrote last\n")
		}
		a.printf("    %s\n", termtext.Safe(text))
	}
}
