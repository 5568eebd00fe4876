package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// links are names under which the program is one of its commands.
var links = map[string][]string{
	"agent-roster":         {"roster"},
	"ai":                   {"launch"},
	"ensemble":             {"ledger"},
	"ensemble-tmux":        {"ledger", "tmux"},
	"session-context-path": {"session", "path"},
}

// expandLink makes a link's name the command that it stands for: called as
// agent-roster, the program is aisync roster. Its exit codes and texts are that
// command's. Any other name changes nothing.
func expandLink(argv0 string, args []string) []string {
	return append(slices.Clip(links[argv0]), args...)
}

// linksOf are the links whose command root has, sorted.
func linksOf(root *cobra.Command) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(links)), func(name string) bool { return child(root, links[name][0]) == nil })
}
