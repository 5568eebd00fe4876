package stack

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/reconcile"
)

// noteBuiltinHost adds notes for a machine without a host spec: that the
// built-in host applies, and which model would be a first one to fetch.
func (v *View) noteBuiltinHost() error {
	f, err := v.Facts()
	if err != nil {
		return err
	}
	var found []string
	for _, r := range v.Catalog.Runtimes() {
		if f.Programs[r.Command] != "" {
			found = append(found, r.ID)
		}
	}
	slices.Sort(found)
	programs := "none of the agent programs that it knows is installed"
	if len(found) > 0 {
		programs = "for what is installed: " + strings.Join(found, ", ")
	}
	note := func(text string) {
		v.Declared.Notes = append(v.Declared.Notes, reconcile.Note{Text: text})
	}
	note(fmt.Sprintf("no host is described in %s: the built-in host %q applies (%s); aisync init describes this machine", v.configName(), v.Spec.Host.Name, programs))
	if m, choice, ok := hosts.Recommend(v.Catalog.Models(), f); ok {
		note(fmt.Sprintf("a first model for this machine: %s at %s (%s); name it under models of a host to have it fetched", m.ID, choice.Quant, choice.Reason))
	}
	return nil
}

// configName returns the folder of the host specs as a person would type it.
func (v *View) configName() string {
	if v.Places.Configured {
		return v.Places.Config
	}
	if rest, ok := strings.CutPrefix(string(v.Places.ConfigHome), string(v.Places.Home)+"/"); ok {
		return "~/" + rest
	}
	return string(v.Places.ConfigHome)
}
