package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
)

// Completing reports whether a shell asks for completions.
func Completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// Choices is the annotation that lists the values a command accepts for a flag.
const Choices = "choices"

// Completions registers the completions for the flags of cmd and of all commands
// below it. Call it only when completing: cobra keeps them for the whole process.
func (a *App) Completions(cmd *cobra.Command) {
	for name, values := range map[string]cobra.CompletionFunc{
		"host":    a.hostNames,
		"scope":   cobra.FixedCompletions([]string{string(stack.ScopeAll), string(stack.ScopeHost), string(stack.ScopeProject)}, cobra.ShellCompDirectiveNoFileComp),
		"color":   cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp),
		"diff":    cobra.FixedCompletions([]string{string(DiffShort), string(DiffFull), string(DiffNone)}, cobra.ShellCompDirectiveNoFileComp),
		"target":  a.Addresses,
		"exclude": a.Addresses,
		"ignore":  a.Addresses,
	} {
		f := cmd.LocalFlags().Lookup(name)
		if f == nil {
			continue
		}
		if own := f.Annotations[Choices]; own != nil {
			values = cobra.FixedCompletions(own, cobra.ShellCompDirectiveNoFileComp)
		}
		if _, has := cmd.GetFlagCompletionFunc(name); !has {
			_ = cmd.RegisterFlagCompletionFunc(name, values) // cannot fail: the flag exists and has none yet
		}
	}
	for _, c := range cmd.Commands() {
		a.Completions(c)
	}
}

// hostNames completes the hosts of the specs.
func (a *App) hostNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	p, err := a.HostPlaces()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return schema.HostNames(p.Config), cobra.ShellCompDirectiveNoFileComp
}

// Addresses completes the addresses on record for the host and this project.
func (a *App) Addresses(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
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

// Applies completes the ids of applies that can be rolled back.
func (a *App) Applies(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
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

// recorded opens the records of the host and this project; nil if it cannot.
func (a *App) recorded(cmd *cobra.Command) *stack.View {
	a.Flags.Quiet = true
	w, err := a.Loaded(cmd.Context(), stack.ScopeAll, stack.LookAtRecords)
	if err != nil {
		return nil
	}
	return w
}
