package main

import (
	"context"
	"errors"
	"time"

	"aisync.dev/aisync/internal/advice"
)

// target is the machine, and the project, that a command with this scope is
// about.
func (a *app) target(s Scope) (*Machine, error) {
	find := a.places
	if s == ScopeHost {
		find = a.hostPlaces
	}
	p, err := find()
	if err != nil {
		return nil, err
	}
	return a.machine(p), nil
}

// loaded opens what s is about with open, in a command that only looks.
func (a *app) loaded(ctx context.Context, s Scope, open func(context.Context, *Machine, Scope) (*View, error)) (*View, error) {
	m, err := a.target(s)
	if err != nil {
		return nil, err
	}
	a.sayNewRoot(m.Places)
	v, err := open(ctx, m, s)
	return v, inputHint(err)
}

// held opens what s is about with hold, in a command that writes. The caller
// releases it.
func (a *app) held(ctx context.Context, s Scope, timeout time.Duration, command string, hold func(context.Context, *Machine, Scope, Holding) (*Session, error)) (*Session, error) {
	m, err := a.target(s)
	if err != nil {
		return nil, err
	}
	if err := a.makeRoot(m.Places, command); err != nil {
		return nil, err
	}
	h, err := hold(ctx, m, s, Holding{Command: command, Timeout: timeout})
	return h, inputHint(err)
}

// inputHint names the flag by which something was given that cannot be meant,
// or that would help.
func inputHint(err error) error {
	var (
		scope   ScopeError
		source  SourceError
		setting *SettingError
	)
	switch {
	case errors.As(err, &scope):
		return usagef("--%v", scope)
	case errors.As(err, &source):
		return usagef("--%v", source)
	case errors.As(err, &setting):
		return usagef("%v", setting)
	case errors.Is(err, ErrNoProject):
		return advice.Command(err, "aisync init --here in the project, or name it: --project DIR")
	}
	return err
}

// opened is held with everything loaded and declared; what is not pinned is
// pinned where that is allowed. An interrupted apply is finished first.
func (a *app) opened(ctx context.Context, ask Request, lockTimeout time.Duration, command string) (*Session, error) {
	s, err := a.held(ctx, ask.Scope, lockTimeout, command, HoldLoaded)
	if err != nil {
		return nil, err
	}
	s.Transfer, s.Pulled = ask.Transfer, ask.Models
	if err := s.declare(ctx, s.resolverFor(ask)); err != nil {
		s.Release()
		return nil, inputHint(err)
	}
	return s, nil
}
