package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/reconcile"
)

// scope narrows a command to one owner.
type Scope string

const (
	ScopeAll     Scope = "all" // the host and, inside a project, the project
	ScopeHost    Scope = "host"
	ScopeProject Scope = "project"
)

// flag registers --scope with s as its default.
func (s *Scope) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(s), "scope", string(*s), "`WHICH` part: all, host, project")
}

// owners returns whose records and declarations take part.
func (s Scope) owners(p place.Places) ([]reconcile.Owner, error) {
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

// choiceFlags are the decisions of a person about what nobody decided.
func choiceFlags(cmd *cobra.Command, c *reconcile.Choice) {
	f := cmd.Flags()
	f.BoolVar(&c.Force, "force", false, "write ours over what is somebody else's or was edited (a backup is kept)")
	f.BoolVar(&c.Restore, "restore", false, "put back what was edited since the last apply (a backup is kept)")
	f.BoolVar(&c.Adopt, "adopt", false, "keep what is there, and remember that ours was refused")
	f.BoolVar(&c.Merge, "merge", false, "bring their change and ours together where both can stand")
}

// narrowFlags are --target and --exclude.
func narrowFlags(cmd *cobra.Command, targets, excludes *[]string) {
	cmd.Flags().StringArrayVar(targets, "target", nil, "only this `ADDRESS` or pattern, and what it depends on; may be repeated")
	cmd.Flags().StringArrayVar(excludes, "exclude", nil, "not this `ADDRESS` or pattern, nor what depends on it; may be repeated")
}
