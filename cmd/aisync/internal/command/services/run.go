package services

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

// actOn calls act for each named service and prints done after its name.
func actOn(ctx context.Context, a *cli.App, names []string, done string, act func(context.Context, *stack.View, control.Controller, spec.Service) error) error {
	w, list, err := theseServices(ctx, a, names)
	if err != nil {
		return err
	}
	var wrong []error
	for _, s := range list {
		if s.Kind == "external" {
			wrong = append(wrong, fmt.Errorf("service %s is external: aisync does not run it", s.Name))
			continue
		}
		c, err := w.Services.Controller(s.Scope == "system")
		if err != nil {
			return err
		}
		if err := act(ctx, w, c, s); err != nil {
			wrong = append(wrong, err)
			continue
		}
		a.Printf("%s %s\n", termtext.Safe(s.Name), done)
	}
	return errors.Join(wrong...)
}

// begin starts or restarts a service and waits for it as an apply does.
func begin(ctx context.Context, w *stack.View, c control.Controller, s spec.Service, again bool) error {
	if !defined(w, s) {
		return advice.Command(fmt.Errorf("service %s is not applied here yet", s.Name), "aisync apply")
	}
	start := c.Start
	if again {
		start = c.Restart
	}
	err := service.Await(ctx, c, s.Name, s.Port, start(ctx, s.Name))
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, c.Stop(ctx, s.Name)) // as an apply does: otherwise the next start finds this one's end
	}
	return err
}

// defined reports whether the unit of a service exists.
func defined(w *stack.View, s spec.Service) bool {
	_, err := w.Reader.Lstat(service.Definition(w.Services.By, w.Places.Home, w.Places.ConfigHome.Dir(), s))
	return err == nil
}

// Start starts a service as last applied, and waits for it as an apply does.
func Start(ctx context.Context, a *cli.App, name string) error {
	w, list, err := theseServices(ctx, a, []string{name})
	if err != nil {
		return err
	}
	c, err := w.Services.Controller(list[0].Scope == "system")
	if err != nil {
		return err
	}
	return begin(ctx, w, c, list[0], false)
}

func servicesStartCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "start NAME...",
		Short: "start services as last applied",
		Long: `Starts services with the units that the last apply made, and waits until each
listens or has run for ten seconds. A service that exits before that is an
error, which shows its output.`,
		Example:     "  $ aisync services start coder",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the service"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return serviceNames(a, cmd, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(cmd.Context(), a, args, "runs", func(ctx context.Context, w *stack.View, c control.Controller, s spec.Service) error {
				return begin(ctx, w, c, s, false)
			})
		},
	}
}

func servicesRestartCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME...",
		Short: "restart services as last applied",
		Long: `Stops services, starts them with the units that the last apply made, and waits
as aisync services start does.`,
		Example:     "  $ aisync services restart coder",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the service"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return serviceNames(a, cmd, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(cmd.Context(), a, args, "runs", func(ctx context.Context, w *stack.View, c control.Controller, s spec.Service) error {
				return begin(ctx, w, c, s, true)
			})
		},
	}
}

func servicesStopCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stop NAME...",
		Short: "stop services until they are started again",
		Long: `Stops services. They start again with the machine and at the next apply. To stop
one for good, set enabled: false in the spec and apply.`,
		Example:     "  $ aisync services stop coder",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the service"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return serviceNames(a, cmd, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(cmd.Context(), a, args, "stopped", func(ctx context.Context, _ *stack.View, c control.Controller, s spec.Service) error {
				return c.Stop(ctx, s.Name)
			})
		},
	}
}

func servicesLogsCommand(a *cli.App) *cobra.Command {
	lines, follow := 50, false
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "print the last lines of a service's log",
		Long: `Prints the last lines that a service wrote, from systemd's journal or from its
log file.`,
		Example:     "  $ aisync services logs coder --follow",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the service"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return serviceNames(a, cmd, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, list, err := theseServices(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			s := list[0]
			c, err := w.Services.Controller(s.Scope == "system")
			if err != nil {
				return err
			}
			if s.Kind == "external" {
				return fmt.Errorf("service %s is external: aisync has no log of it", s.Name)
			}
			argv := c.Log(s.Name, lines, follow)
			tail := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...)
			tail.Env, tail.Stdout, tail.Stderr = a.Env.List(), a.Out, a.Err
			err = tail.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("service %s: no readable log (%s: %w)", s.Name, argv[0], err)
			}
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "print the last `N` lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new lines until ^C")
	return cmd
}

// superviseCommand builds the hidden command that runs a service where the machine
// has neither systemd nor launchd.
func superviseCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "supervise DEFINITION FOLDER",
		Short:       "run one service, and start it again when it fails",
		Hidden:      true,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(2, "the definition and the folder of logs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return control.Supervise(cmd.Context(), args[0], args[1])
		},
	}
}
