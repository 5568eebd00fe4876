package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	quickledger "aisync.dev/aisync/cmd/aisync/quick/ledger"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/safedir"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
)

// Places finds everything from the flags, the environment and the folders above
// this one. A project that may not be used is an error; see HostPlaces.
func (a *App) Places() (place.Places, error) {
	o, err := a.placeOptions()
	if err != nil {
		return place.Places{}, err
	}
	p, err := place.Find(o)
	if p.Refused != nil {
		p.Refused = PlaceHint(p.Refused)
	}
	return p, PlaceHint(err)
}

func (a *App) placeOptions() (place.Options, error) {
	cwd, err := a.Cwd()
	return place.Options{
		Cwd: cwd, Env: a.Env, Root: a.Flags.Root, User: a.Flags.User, Config: a.Flags.Config, Project: a.Flags.Project,
		ProjectOnly: a.Homeless, AnyOwner: a.Named, Safe: a.safeDirectories, Hook: fsys.Hook(a.Gate),
	}, err
}

// PlaceHint names the flag that a place was given by, or that would help.
func PlaceHint(err error) error {
	var (
		input   *place.InputError
		home    *place.ForeignHomeError
		foreign *safedir.Foreign
	)
	switch {
	case errors.As(err, &input):
		return fmt.Errorf("--%w", err)
	case errors.Is(err, place.ErrNoHome):
		return fmt.Errorf("%w; set it, or name a user: --user NAME", err)
	case errors.As(err, &home):
		return fmt.Errorf("%w; name the user: --user NAME", err)
	case errors.As(err, &foreign):
		dir := shellquote.Terminal(foreign.Dir)
		return advice.Command(err, "git config --global --add safe.directory "+dir+", if you trust them; to only look: aisync --project "+dir+" plan")
	}
	return err
}

// safeDirectories are the values of safe.directory, as far as no repository
// sets them.
func (a *App) safeDirectories() []string {
	out, err := stack.Runner{Env: a.Env, Gate: a.Gate}.Run(context.Background(), "/", "git", "config", "--show-scope", "--type=path", "-z", "--get-all", "safe.directory")
	if err != nil {
		return nil // there is no git, or no such key
	}
	var values []string
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope == "system" || scope == "global" || scope == "command" {
			values = append(values, fields[i+1])
		}
	}
	return values
}

// HostPlaces is places for what is about the host or this machine: a project
// that may not be used counts as none.
func (a *App) HostPlaces() (place.Places, error) {
	p, err := a.Places()
	if p.Refused != nil {
		return p, nil
	}
	return p, err
}

// Cwd is the folder the person stands in.
func (a *App) Cwd() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	return dir, nil
}

// SayNewRoot keeps a typo in --root from passing for a new machine.
func (a *App) SayNewRoot(p place.Places) {
	if p.NewRoot {
		a.Say("aisync: --root %s is not there yet: seen as an empty machine", termtext.Safe(p.Root))
	}
}

// MakeRoot makes the folder of --root for an apply; other commands that write
// have nothing to do on a machine that is not there.
func (a *App) MakeRoot(p place.Places, command string) error {
	if !p.NewRoot {
		return nil
	}
	if command != "aisync apply" {
		return fmt.Errorf("--root: %w", place.MissingError(p.Root))
	}
	if err := os.MkdirAll(p.Root, 0o755); err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	a.Say("aisync: made the root folder %s", termtext.Safe(p.Root))
	return nil
}

// WorkingFolder is the folder that the process stands in, without links.
func WorkingFolder() string { return quickledger.WorkingFolder() }

// RunHome is the home whose .ilchul holds the user's defaults; "" where there
// is none.
func (a *App) RunHome() string {
	p, err := a.PlacesFor("")
	if err != nil {
		return ""
	}
	return p.Physical(p.Home)
}
