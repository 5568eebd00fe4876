package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
)

// completing reports whether a shell asks what may follow.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// choices is the annotation of a flag of which a command takes these values.
const choices = "choices"

// completions tells the shell what may follow the flags of cmd and of all
// commands below it. What cannot be read completes to nothing. Only who
// completes calls it: cobra keeps what it registers for the whole process.
func (a *app) completions(cmd *cobra.Command) {
	for name, values := range map[string]cobra.CompletionFunc{
		"host":    a.hostNames,
		"scope":   cobra.FixedCompletions([]string{string(ScopeAll), string(ScopeHost), string(ScopeProject)}, cobra.ShellCompDirectiveNoFileComp),
		"color":   cobra.FixedCompletions([]string{"auto", "on", "off"}, cobra.ShellCompDirectiveNoFileComp),
		"diff":    cobra.FixedCompletions([]string{string(diffShort), string(diffFull), string(diffNone)}, cobra.ShellCompDirectiveNoFileComp),
		"target":  a.addresses,
		"exclude": a.addresses,
		"ignore":  a.addresses,
	} {
		f := cmd.LocalFlags().Lookup(name)
		if f == nil {
			continue
		}
		if own := f.Annotations[choices]; own != nil {
			values = cobra.FixedCompletions(own, cobra.ShellCompDirectiveNoFileComp)
		}
		if _, has := cmd.GetFlagCompletionFunc(name); !has {
			_ = cmd.RegisterFlagCompletionFunc(name, values) // the flag is there, and has none yet
		}
	}
	for _, c := range cmd.Commands() {
		a.completions(c)
	}
}

// hostNames completes to the hosts of the specs.
func (a *app) hostNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	p, err := a.hostPlaces()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return schema.HostNames(p.Config), cobra.ShellCompDirectiveNoFileComp
}

// addresses completes to what is on record for the host and this project.
func (a *app) addresses(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if w := a.recorded(cmd); w != nil {
		for _, o := range w.Owners {
			for _, rec := range w.Store.Records(o) {
				if s := string(rec.Address); strings.HasPrefix(s, typed) && !slices.Contains(args, s) {
					out = append(out, termtext.Safe(s))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
}

// applies completes to the ids of applies that can be taken back.
func (a *app) applies(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if w := a.recorded(cmd); w != nil && len(args) == 0 {
		entries, _ := w.Store.Heads() // none to offer
		for _, e := range entries {
			if e.RolledBack == "" {
				out = append(out, cobra.CompletionWithDesc(e.ID, termtext.Safe(e.Command)+", "+quantity.Count(e.Resources, "resource")))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// recorded is the world as the records know it, or nil.
func (a *app) recorded(cmd *cobra.Command) *View {
	a.g.quiet = true
	w, err := a.loaded(cmd.Context(), ScopeAll, LookAtRecords)
	if err != nil {
		return nil
	}
	return w
}
