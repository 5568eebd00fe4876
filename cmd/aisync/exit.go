package main

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
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/state"
)

// The exit codes. An unknown code must be read as failure.
const (
	exitOK       = 0
	exitError    = 1  // an error, or something unknown
	exitDiff     = 2  // differences, where they were asked for
	exitPartial  = 3  // applied in part
	exitConflict = 4  // a conflict that nobody decided
	exitStale    = 5  // the plan is no longer what would be done
	exitLocked   = 6  // another apply is running
	exitOffline  = 7  // needs the network and may not use it
	exitUsage    = 64 // wrong command, flag or argument
)

// exitCode is the one place where an error becomes a code.
func exitCode(err error) int {
	var (
		silent exitWith
		usage  *usageError
		signal signalled
		held   *state.HeldError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &signal):
		return 128 + int(signal.sig)
	case errors.As(err, &held), errors.Is(err, pin.ErrBusy), errors.Is(err, runs.ErrBusy):
		return exitLocked
	case errors.Is(err, reconcile.ErrStale), errors.Is(err, reconcile.ErrStalePlan):
		return exitStale
	case errors.Is(err, reconcile.ErrUndecided):
		return exitConflict
	case errors.Is(err, reconcile.ErrOffline):
		return exitOffline
	}
	return exitError
}

// exitWith ends the program with a code and prints nothing: the report was the message.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exit returns the error that only sets the code.
func exit(code int) error { return exitWith(code) }

// usageError is a command line that cannot be meant.
type usageError struct{ text, hint string }

func (e *usageError) Error() string { return e.text }
func (e *usageError) Hint() string  { return e.hint }

func usagef(format string, args ...any) *usageError {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// report prints err as a person should read it and returns the exit code. The
// parts of a joined error come one a line.
func (a *app) report(err error) int {
	if code := exitCode(err); err == nil || errors.As(err, new(exitWith)) {
		return code
	}
	for _, e := range advice.Split(err) {
		text, next := oneMessage(e.Error()), a.next(e)
		if next != "" && !a.env.On("AISYNC_IN_AUTOMATION") && !strings.Contains(text, next) {
			text += "; " + oneMessage(next)
		}
		fmt.Fprintln(a.err, "aisync: "+text)
	}
	if errors.Is(err, context.Canceled) && exitCode(err) == exitError {
		return 130
	}
	return exitCode(err)
}

// next is what a person can do about err: what it says itself, or what holds
// for all errors of its kind.
func (a *app) next(err error) string {
	var h interface{ Hint() string }
	var dial *net.OpError
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		return h.Hint()
	case errors.Is(err, reconcile.ErrOffline):
		if a.env.On("AISYNC_OFFLINE") {
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

// noArgs, maxArgs and exactArgs check positional arguments as usage errors.
func noArgs(cmd *cobra.Command, args []string) error { return maxArgs(0)(cmd, args) }

func maxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return &usageError{fmt.Sprintf("%s: argument %q is one too many", cmd.CommandPath(), termtext.Safe(args[n])), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &usageError{fmt.Sprintf("%s: %s is missing", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
		}
		return maxArgs(n)(cmd, args)
	}
}

func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return &usageError{fmt.Sprintf("%s: %s is missing", cmd.CommandPath(), what), cmd.CommandPath() + " --help"}
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
