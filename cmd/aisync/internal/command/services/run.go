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

// actOn does something to each service that is named, and says so.
func actOn(ctx context.Context, a *cli.App, names []string, done string, act func(context.Context, *stack.View, control.Controller, spec.Service) error) error {
	w, list, err := theseServices(ctx, a, names)
	if err != nil {
		return err
	}
	if w.Services.Controller == nil {
		return errors.New(w.Services.Waits)
	}
	var wrong []error
	for _, s := range list {
		if s.Kind == "external" {
			wrong = append(wrong, fmt.Errorf("service %s is external: somebody else runs it", s.Name))
			continue
		}
		if err := act(ctx, w, w.Services.Controller(w.Services.By, s.Scope == "system"), s); err != nil {
			wrong = append(wrong, err)
			continue
		}
		a.Printf("%s %s\n", termtext.Safe(s.Name), done)
	}
	return errors.Join(wrong...)
}

// begin starts a service, or starts it again, and waits as an apply does.
func begin(ctx context.Context, w *stack.View, c control.Controller, s spec.Service, again bool) error {
	if !defined(w, s) {
		return advice.Command(fmt.Errorf("service %s was never applied here", s.Name), "aisync apply")
	}
	start := c.Start
	if again {
		start = c.Restart
	}
	return service.Await(ctx, c, s.Name, s.Port, start(ctx, s.Name))
}

// defined reports whether the definition of a service is there.
func defined(w *stack.View, s spec.Service) bool {
	_, err := w.Reader.Lstat(service.Definition(w.Services.By, w.Places.Home, w.Places.ConfigHome.Dir(), s))
	return err == nil
}

func servicesStartCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "start NAME...",
		Short: "start services, as they were last applied",
		Long: `Starts services with the definitions that the last apply made, and waits until
each listens, or has lived for ten seconds. One that ends at once is an error
that shows what it wrote.`,
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
		Short: "stop services and start them again, as they were last applied",
		Long: `Ends services and starts them anew, with the definitions that the last apply
made, and waits as aisync services start does.`,
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
		Long: `Ends services. The spec still wants them: they start with the machine, and the
next apply starts them. For good, write enabled: false and apply.`,
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
		Short: "print what a service wrote last",
		Long: `Prints the last lines that a service wrote: out of systemd's journal, or out of
its log file where there is no journal.`,
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
			if w.Services.Controller == nil {
				return errors.New(w.Services.Waits)
			}
			s := list[0]
			if s.Kind == "external" {
				return fmt.Errorf("service %s is external: somebody else has its log", s.Name)
			}
			argv := w.Services.Controller(w.Services.By, s.Scope == "system").Log(s.Name, lines, follow)
			tail := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...)
			tail.Env, tail.Stdout, tail.Stderr = a.Env.List(), a.Out, a.Err
			err = tail.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("service %s: there is no log to be read (%s: %w)", s.Name, argv[0], err)
			}
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "the last `N` lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what it writes, until ^C")
	return cmd
}

// superviseCommand is what runs a service where nothing else does.
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
