package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/state"
)

// The exit codes. An unknown code must be read as failure.
const (
	ExitOK       = 0
	ExitError    = 1  // an error, or something unknown
	ExitDiff     = 2  // differences, where they were asked for
	ExitPartial  = 3  // applied in part
	ExitConflict = 4  // an undecided conflict or effect
	ExitStale    = 5  // the plan file is out of date
	ExitLocked   = 6  // another apply is running
	exitOffline  = 7  // network required, but --offline
	ExitUsage    = 64 // wrong command, flag or argument
)

// ExitCode returns the exit code for err. No other code maps errors to codes.
func ExitCode(err error) int {
	var (
		silent ExitWith
		usage  *UsageError
		signal Signalled
		held   *state.HeldError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &signal):
		return 128 + int(signal.Sig)
	case errors.As(err, &held), errors.Is(err, pin.ErrBusy), errors.Is(err, runs.ErrBusy):
		return ExitLocked
	case errors.Is(err, reconcile.ErrStale), errors.Is(err, reconcile.ErrStalePlan):
		return ExitStale
	case errors.Is(err, reconcile.ErrUndecided):
		return ExitConflict
	case errors.Is(err, reconcile.ErrOffline):
		return exitOffline
	}
	return ExitError
}

// ExitWith is an error that sets the exit code and prints nothing.
type ExitWith int

func (e ExitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit returns an error that only sets the exit code.
func Exit(code int) error { return ExitWith(code) }

// UsageError is a wrong command line, with advice on how to correct it.
type UsageError struct{ Text, Advice string }

func (e *UsageError) Error() string { return e.Text }
func (e *UsageError) Hint() string  { return e.Advice }

// Usagef returns a usage error without advice.
func Usagef(format string, args ...any) *UsageError {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// Report prints err to stderr with what to do about it, each part of a joined error
// on its own line, and returns the exit code.
func (a *App) Report(err error) int {
	if code := ExitCode(err); err == nil || errors.As(err, new(ExitWith)) {
		return code
	}
	for _, e := range advice.Split(err) {
		text, next := OneMessage(e.Error()), a.next(e)
		if next != "" && !a.Env.On("AISYNC_IN_AUTOMATION") && !strings.Contains(text, next) {
			text += "; " + OneMessage(next)
		}
		fmt.Fprintln(a.Err, "aisync: "+text)
	}
	if errors.Is(err, context.Canceled) && ExitCode(err) == ExitError {
		return 130
	}
	return ExitCode(err)
}

// next returns what a person can do about err: its own hint, or the advice for all
// errors of its kind.
func (a *App) next(err error) string {
	var h interface{ Hint() string }
	var dial *net.OpError
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		return h.Hint()
	case errors.Is(err, reconcile.ErrOffline):
		if a.Env.On("AISYNC_OFFLINE") {
			return "unset AISYNC_OFFLINE and run it again"
		}
		return "run it again without --offline"
	case errors.As(err, &dial):
		return "check the network and that server, then run the same command again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space there, then run: aisync apply, which continues from here"
	}
	return ""
}

// NoArgs refuses positional arguments with a usage error.
func NoArgs(cmd *cobra.Command, args []string) error { return MaxArgs(0)(cmd, args) }

// MaxArgs accepts up to n positional arguments.
func MaxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return &UsageError{fmt.Sprintf("%s: unexpected argument %q", cmd.CommandPath(), termtext.Safe(args[n])), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

// ExactArgs accepts n positional arguments; what names them in the message.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &UsageError{fmt.Sprintf("%s: missing %s", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
		}
		return MaxArgs(n)(cmd, args)
	}
}

// MinArgs accepts n positional arguments or more; what names them in the message.
func MinArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &UsageError{fmt.Sprintf("%s: missing %s", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

// nearFlag returns the flag of cmd that is closest to the unknown one in err, or "",
// and the unknown one.
func nearFlag(cmd *cobra.Command, err error) (near, typed string) {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return "", ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return nearest.Name(unknown.GetSpecifiedName(), known), unknown.GetSpecifiedName()
}

// CodeOf returns the exit code of this command for an error with that code. Codes 0
// and 1 of roster are answers, so each of its errors exits with 2.
func (a *App) CodeOf(code int, err error) int {
	if a.Command == "roster" && code != ExitOK && !errors.As(err, new(ExitWith)) {
		return quick.Unknown
	}
	return code
}
