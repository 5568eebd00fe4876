package main

import "slices"

// expandLink makes a link's name the command that it stands for: called as
// agent-roster, the program is aisync roster. Its exit codes and texts are that
// command's. Any other name changes nothing.
func expandLink(argv0 string, args []string) []string {
	links := map[string][]string{"agent-roster": {"roster"}, "ai": {"launch"}, "session-context-path": {"session", "path"}}
	return append(slices.Clip(links[argv0]), args...)
}
