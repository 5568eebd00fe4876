package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
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
			return nil, advice.Command(fmt.Errorf("there is no %s here or in a folder above, so there is no project", place.SpecFile), "aisync init --here in the project, or name it: --project DIR")
		}
		return []reconcile.Owner{reconcile.ProjectOwner(p.Project)}, nil
	}
	return nil, usagef("--scope %q: want all, host or project", string(s))
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
