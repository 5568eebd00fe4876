package stack

import (
	"errors"
	"fmt"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/reconcile"
)

// Scope narrows a command to one owner.
type Scope string

const (
	ScopeAll     Scope = "all" // the host and, inside a project, the project
	ScopeHost    Scope = "host"
	ScopeProject Scope = "project"
)

// Owners returns whose records and declarations take part.
func (s Scope) Owners(p place.Places) ([]reconcile.Owner, error) {
	switch s {
	case ScopeAll, "":
		if p.Project == "" {
			return []reconcile.Owner{reconcile.HostOwner}, nil
		}
		return []reconcile.Owner{reconcile.HostOwner, reconcile.ProjectOwner(p.Project)}, nil
	case ScopeHost:
		return []reconcile.Owner{reconcile.HostOwner}, nil
	case ScopeProject:
		if p.Project == "" {
			return nil, ErrNoProject
		}
		return []reconcile.Owner{reconcile.ProjectOwner(p.Project)}, nil
	}
	return nil, ScopeError(s)
}

// ErrNoProject says that there is no project where one is needed.
var ErrNoProject = errors.New("there is no " + place.SpecFile + " here or in a folder above, so there is no project")

// ScopeError is a word that names no scope.
type ScopeError Scope

// Error says which words do.
func (e ScopeError) Error() string {
	return fmt.Sprintf("scope %q: want all, host or project", string(e))
}

// SourceError says why a model cannot come from where it was said to.
type SourceError string

func (e SourceError) Error() string { return string(e) }

// SettingError is a variable of the environment whose value cannot be meant.
type SettingError struct{ Variable, Value, Want string }

// Error says which values can.
func (e *SettingError) Error() string {
	return e.Variable + "=" + e.Value + ": want " + e.Want
}
