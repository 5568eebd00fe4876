package plugin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Hook is one hook of a plugin, in the words of aisync's bundles.
type Hook struct {
	Event, Command string
	Tools          []string // none: all
	Timeout        int      // seconds; 0: the program's default
	Matcher, If    string   // in Claude Code's words; "": all, always
	Runtimes       []string // that can be told; none: all
}

// Claude is the runtime whose words a hooks.json has.
const Claude = "claude"

// tools are the tools of aisync's bundles by Claude Code's names.
// https://code.claude.com/docs/en/hooks
var tools = map[string]string{
	"Bash": "shell", "Edit": "edit", "Write": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Read": "read",
	"Grep": "search", "Glob": "search", "WebFetch": "fetch", "WebSearch": "fetch", "Task": "agent", "Agent": "agent",
}

var everything = []string{"", "*", ".*"}

// IsHooks reports whether text is a hooks.json in the standard form: an object of
// events.
func IsHooks(text []byte) bool {
	var doc struct{ Hooks json.RawMessage }
	return json.Unmarshal(text, &doc) == nil && strings.HasPrefix(strings.TrimSpace(string(doc.Hooks)), "{")
}

// group is one element below an event: what its hooks are for, and the hooks.
type group struct {
	Matcher string                       `json:"matcher"`
	Hooks   []map[string]json.RawMessage `json:"hooks"`
	Command json.RawMessage              `json:"command"` // in Cursor's form, which has no groups
}

// Hooks parses a hooks.json in the standard form, which Claude Code, Codex and
// others read. left says what no other program could be told, one text a hook
// that is left out. known are the events of bundles. The error starts with the
// line, as in ":3: …".
func Hooks(text []byte, known []string) (hooks []Hook, left []string, err error) {
	var doc struct {
		Hooks map[string][]group `json:"hooks"`
	}
	if err := decode(text, &doc); err != nil {
		return nil, nil, err
	}
	for _, event := range slices.Sorted(keys(doc.Hooks)) {
		for _, g := range doc.Hooks[event] {
			if len(g.Hooks) == 0 && len(g.Command) > 0 {
				left = append(left, fmt.Sprintf("has a hook at %s that is left out: it is in Cursor's form", event))
			}
			for _, h := range g.Hooks {
				one := Hook{Event: event, Command: word(h["command"])}
				if why := one.fill(g.Matcher, h, known); why != "" {
					left = append(left, fmt.Sprintf("has a hook at %s that is left out: %s", event, why))
					continue
				}
				if why := one.tell(); why != "" {
					left = append(left, fmt.Sprintf("has a hook at %s %s", event, why))
				}
				hooks = append(hooks, one)
			}
		}
	}
	return hooks, left, nil
}

// fill completes h, and says why it cannot be had.
func (h *Hook) fill(matcher string, fields map[string]json.RawMessage, known []string) string {
	switch kind := word(fields["type"]); {
	case !slices.Contains(known, h.Event):
		return "aisync does not know the event"
	case kind != "" && kind != "command":
		return "it is of the type " + kind + ", and no command"
	case strings.TrimSpace(h.Command) == "":
		return "it has no command"
	case otherUse(h.Command) != "":
		return "only one program fills in its " + otherUse(h.Command)
	case leavesRoot(h.Command):
		return "it leads out of the plugin"
	case len(fields["args"]) > 0:
		return "it has a list of arguments"
	}
	h.If = word(fields["if"])
	var seconds float64
	if json.Unmarshal(fields["timeout"], &seconds) == nil && seconds > 0 && seconds < 1e6 {
		h.Timeout = max(1, int(seconds))
	}
	if !slices.Contains(everything, matcher) {
		h.Matcher = matcher
	}
	return ""
}

// tell sets the tools of h and the programs that can be told of it. It says what others
// are not told.
func (h *Hook) tell() string {
	if h.If != "" {
		h.Runtimes = []string{Claude}
		return "that only Claude Code gets: it is limited by if: " + h.If
	}
	switch {
	case h.Matcher == "":
		return ""
	case !strings.HasSuffix(h.Event, "ToolUse"):
		return fmt.Sprintf("whose matcher %q only Claude Code gets: other programs run it at each %s", h.Matcher, h.Event)
	}
	for _, name := range strings.Split(h.Matcher, "|") {
		tool := tools[name]
		if tool == "" {
			h.Tools, h.Runtimes = nil, []string{Claude}
			return fmt.Sprintf("that only Claude Code gets: its matcher %q names what not all programs have", h.Matcher)
		}
		if !slices.Contains(h.Tools, tool) {
			h.Tools = append(h.Tools, tool)
		}
	}
	return ""
}

// Root is the variable that holds the folder of a plugin.
const Root = "CLAUDE_PLUGIN_ROOT"

var rootUse = regexp.MustCompile(`\$(` + Root + `\b|\{` + Root + `\})`)

// UsesRoot reports whether text refers to the plugin's folder.
func UsesRoot(text string) bool { return rootUse.MatchString(text) }

var belowRoot = regexp.MustCompile(`\$(?:` + Root + `|\{` + Root + `\})["']?(/[^\s"';|&]*)`)

// leavesRoot reports whether text names a file beside the plugin's folder, such as
// one of another plugin.
func leavesRoot(text string) bool {
	for _, found := range belowRoot.FindAllStringSubmatch(text, -1) {
		if _, err := Inside("." + found[1]); err != nil {
			return true
		}
	}
	return false
}

var bracedRoot = regexp.MustCompile(`\$\{` + Root + `\}([A-Za-z0-9_])?`)

// InSettings returns a command of a plugin as the settings of a program may hold
// it. Claude Code refuses to run a hook of its settings that has the braces.
func InSettings(command string) string {
	return bracedRoot.ReplaceAllStringFunc(command, func(use string) string {
		if next := strings.TrimPrefix(use, "${"+Root+"}"); next != "" {
			return "$" + Root + `""` + next // ends the name, within quotes too
		}
		return "$" + Root
	})
}

// otherRoot are names of the plugin's folder, or of one for its data, that only the
// program fills in for which they were written.
var otherRoot = regexp.MustCompile(`\$(` + otherRoots + `)\b|\$\{((` + otherRoots + `)\b|user_config\.)[^{}]*\}|\{\{extensionPath\}\}`)

const otherRoots = "CLAUDE_PLUGIN_DATA|PLUGIN_ROOT|CURSOR_PLUGIN_ROOT|CODEX_PLUGIN_ROOT|extensionPath"

// otherUse is what text has of those; "" for nothing.
func otherUse(text string) string { return otherRoot.FindString(text) }

var rootAlone = regexp.MustCompile(`\$(` + Root + `|\{` + Root + `\})("|'|\s|;|&|$)`)

// NamesRootAlone reports whether text uses the plugin's folder without a path in
// it.
func NamesRootAlone(text string) bool { return rootAlone.MatchString(text) }

// Runner is a program that runs its argument as a command with Root set to the
// folder that it lies in.
const Runner = `#!/bin/sh
# Runs a hook of a plugin, which finds its files by ` + Root + `.
` + Root + `=$(cd "$(dirname "$0")" && pwd) || exit 1
export ` + Root + `
exec sh -c "$1"
`
