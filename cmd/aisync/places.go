package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/safedir"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
)

// places finds everything from the flags, the environment and the folders above
// this one. A project that may not be used is an error; see hostPlaces.
func (a *app) places() (place.Places, error) {
	o, err := a.placeOptions()
	if err != nil {
		return place.Places{}, err
	}
	p, err := place.Find(o)
	if p.Refused != nil {
		p.Refused = placeHint(p.Refused)
	}
	return p, placeHint(err)
}

func (a *app) placeOptions() (place.Options, error) {
	cwd, err := a.cwd()
	return place.Options{
		Cwd: cwd, Env: a.env, Root: a.g.root, User: a.g.user, Config: a.g.config, Project: a.g.project,
		ProjectOnly: a.homeless, AnyOwner: a.named, Safe: a.safeDirectories, Hook: fsys.Hook(a.gate),
	}, err
}

// placeHint names the flag that a place was given by, or that would help.
func placeHint(err error) error {
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
func (a *app) safeDirectories() []string {
	out, err := runner{a.env, a.gate}.Run(context.Background(), "/", "git", "config", "--show-scope", "--type=path", "-z", "--get-all", "safe.directory")
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

// hostPlaces is places for what is about the host or this machine: a project
// that may not be used counts as none.
func (a *app) hostPlaces() (place.Places, error) {
	p, err := a.places()
	if p.Refused != nil {
		return p, nil
	}
	return p, err
}

// cwd is the folder the person stands in.
func (a *app) cwd() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	return dir, nil
}

// sayNewRoot keeps a typo in --root from passing for a new machine.
func (a *app) sayNewRoot(p place.Places) {
	if p.NewRoot {
		a.say("aisync: --root %s is not there yet: seen as an empty machine", termtext.Safe(p.Root))
	}
}

// makeRoot makes the folder of --root for an apply; other commands that write
// have nothing to do on a machine that is not there.
func (a *app) makeRoot(p place.Places, command string) error {
	if !p.NewRoot {
		return nil
	}
	if command != "aisync apply" {
		return fmt.Errorf("--root: %w", place.MissingError(p.Root))
	}
	if err := os.MkdirAll(p.Root, 0o755); err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	a.say("aisync: made the root folder %s", termtext.Safe(p.Root))
	return nil
}
