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
	ExitConflict = 4  // a conflict that nobody decided
	exitStale    = 5  // the plan is no longer what would be done
	exitLocked   = 6  // another apply is running
	exitOffline  = 7  // needs the network and may not use it
	ExitUsage    = 64 // wrong command, flag or argument
)

// ExitCode is the one place where an error becomes a code.
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
		return exitLocked
	case errors.Is(err, reconcile.ErrStale), errors.Is(err, reconcile.ErrStalePlan):
		return exitStale
	case errors.Is(err, reconcile.ErrUndecided):
		return ExitConflict
	case errors.Is(err, reconcile.ErrOffline):
		return exitOffline
	}
	return ExitError
}

// ExitWith ends the program with a code and prints nothing: the report was the
// message.
type ExitWith int

func (e ExitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit returns the error that only sets the code.
func Exit(code int) error { return ExitWith(code) }

// UsageError is a command line that cannot be meant.
type UsageError struct{ Text, Advice string }

func (e *UsageError) Error() string { return e.Text }
func (e *UsageError) Hint() string  { return e.Advice }

func Usagef(format string, args ...any) *UsageError {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// Report prints err as a person should read it and returns the exit code. The
// parts of a joined error come one a line.
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

// next is what a person can do about err: what it says itself, or what holds
// for all errors of its kind.
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
		return "see that the network and that server are up, then run the same again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room there and run: aisync apply, which goes on from here"
	}
	return ""
}

// NoArgs, MaxArgs and ExactArgs check positional arguments as usage errors.
func NoArgs(cmd *cobra.Command, args []string) error { return MaxArgs(0)(cmd, args) }

func MaxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return &UsageError{fmt.Sprintf("%s: argument %q is one too many", cmd.CommandPath(), termtext.Safe(args[n])), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &UsageError{fmt.Sprintf("%s: %s is missing", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
		}
		return MaxArgs(n)(cmd, args)
	}
}

func MinArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &UsageError{fmt.Sprintf("%s: %s is missing", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

// nearFlag returns the flag of cmd that a wrongly spelled one may have meant.
func nearFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return nearest.Name(unknown.GetSpecifiedName(), known)
}

// CodeOf is the exit code that a command gives an error: for roster, whose 0 and
// 1 are answers, each is the one that says that there is none.
func (a *App) CodeOf(code int, err error) int {
	if a.Asked == "roster" && code != ExitOK && !errors.As(err, new(ExitWith)) {
		return quick.Unknown
	}
	return code
}
