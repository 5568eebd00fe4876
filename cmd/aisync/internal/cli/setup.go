package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
)

// Target returns the machine, with its project where s includes one.
func (a *App) Target(s stack.Scope) (*stack.Machine, error) {
	find := a.Places
	if s == stack.ScopeHost {
		find = a.HostPlaces
	}
	p, err := find()
	if err != nil {
		return nil, err
	}
	return a.Machine(p), nil
}

// Loaded opens scope s for a read-only command, with open.
func (a *App) Loaded(ctx context.Context, s stack.Scope, open func(context.Context, *stack.Machine, stack.Scope) (*stack.View, error)) (*stack.View, error) {
	m, err := a.Target(s)
	if err != nil {
		return nil, err
	}
	a.SayNewRoot(m.Places)
	v, err := open(ctx, m, s)
	return v, InputHint(err)
}

// Held opens scope s for a command that writes, with hold, and takes the lock. The
// caller releases it.
func (a *App) Held(ctx context.Context, s stack.Scope, timeout time.Duration, command string, hold func(context.Context, *stack.Machine, stack.Scope, stack.LockRequest) (*stack.Session, error)) (*stack.Session, error) {
	m, err := a.Target(s)
	if err != nil {
		return nil, err
	}
	if err := a.MakeRoot(m.Places, command); err != nil {
		return nil, err
	}
	h, err := hold(ctx, m, s, stack.LockRequest{Command: command, Timeout: timeout})
	return h, InputHint(err)
}

// InputHint turns an invalid flag value in err into a usage error, and adds the flag
// that would help.
func InputHint(err error) error {
	var (
		scope   stack.ScopeError
		source  stack.SourceError
		setting *stack.SettingError
	)
	switch {
	case errors.As(err, &scope):
		return Usagef("--%v", scope)
	case errors.As(err, &source):
		return Usagef("--%v", source)
	case errors.As(err, &setting):
		return Usagef("%v", setting)
	case errors.Is(err, stack.ErrNoProject):
		return advice.Command(err, "aisync init --here in the project, or name it: --project DIR")
	}
	return err
}

// Opened is Held with everything loaded, declared and, where ask allows it, pinned.
// It finishes an interrupted apply first.
func (a *App) Opened(ctx context.Context, ask stack.Request, lockTimeout time.Duration, command string) (*stack.Session, error) {
	s, err := a.Held(ctx, ask.Scope, lockTimeout, command, stack.HoldLoaded)
	if err != nil {
		return nil, err
	}
	s.Transfer, s.PullModels = ask.Transfer, ask.Models
	if err := s.Declare(ctx, s.ResolverFor(ask)); err != nil {
		s.Release()
		return nil, InputHint(err)
	}
	return s, nil
}

// Machine returns the machine at p, with the settings of the command line.
func (a *App) Machine(p place.Places) *stack.Machine {
	cwd, _ := a.Cwd() // its users report that it is missing
	m := &stack.Machine{
		Places: p, Env: a.Env, Cwd: cwd, Version: VersionText(),
		Host: a.Flags.Host, FactsFile: a.Flags.Facts, User: a.Flags.User, Offline: a.Flags.Offline, Locked: a.Flags.Locked,
		Notify: a.Say, Log: a.Log, RehearseCUE: a.rehearse, Abort: a.abort,
	}
	m.Facts = sync.OnceValues(m.Detect)
	return m
}
