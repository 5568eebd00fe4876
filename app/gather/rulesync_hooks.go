package gather

import (
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/secret"
)

// hook is one entry of a bundle's hooks.json.
type hook struct {
	Event   string   `json:"event"`
	Tools   []string `json:"tools,omitempty"`
	Command string   `json:"command"`
	Timeout any      `json:"timeout,omitempty"`
	Level   string   `json:"level"`
}

// eventNames maps rulesync's event names to a bundle's, except where they
// differ only in the case of the first letter.
var eventNames = map[string]string{"beforeSubmitPrompt": "UserPromptSubmit"}

// events are a bundle's events.
var events = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStop", "Stop", "Notification"}

// toolNames maps Claude's tool names, which rulesync's matchers use, to a bundle's.
var toolNames = map[string]string{
	"Bash": "shell", "Edit": "edit", "Write": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Read": "read",
	"Grep": "search", "Glob": "search", "WebFetch": "fetch", "WebSearch": "fetch", "Task": "agent", "Agent": "agent",
}

// rulesyncHooks takes rulesync's hooks, with the programs that they call from
// .rulesync/hooks. https://github.com/dyoshikawa/rulesync (hooks)
func (g *gatherer) rulesyncHooks(from string) {
	const programs = ".rulesync/hooks"
	copied := map[string]bool{}
	for _, rel := range g.walk(programs) {
		copied[rel] = g.copyFile("hook program", path.Join(programs, rel), g.common("hooks", rel), "")
	}
	o, ok := g.config(from)
	if !ok {
		return
	}
	var hooks []hook
	table, _ := o["hooks"].(object)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list, _ := table[name].([]any)
		for _, e := range list {
			entry, _ := e.(object)
			h, why := hookOf(name, entry)
			if kind := secret.Value(h.Command, "command"); why == "" && kind != "" {
				why = "its command holds " + kind + " (" + g.spot(from, h.Command) + ")"
			}
			if why != "" {
				g.keep(from+", "+name, why)
				continue
			}
			word, rest, _ := strings.Cut(h.Command, " ")
			if rel, ok := strings.CutPrefix(strings.TrimPrefix(word, "./"), programs+"/"); ok && copied[rel] {
				h.Command = strings.TrimSpace(rel + " " + rest)
			}
			hooks = append(hooks, h)
		}
	}
	g.keepBlocks(from, o, "hooks")
	if len(hooks) > 0 {
		g.jsonFile("hooks", from, g.common("hooks", "hooks.json"), map[string]any{"hooks": hooks})
	}
}

func hookOf(name string, e object) (hook, string) {
	h := hook{Event: eventNames[name], Command: textOf(e["command"]), Timeout: e["timeout"], Level: "advisory"}
	if h.Event == "" && name != "" {
		h.Event = strings.ToUpper(name[:1]) + name[1:]
	}
	switch {
	case !slices.Contains(events, h.Event):
		return h, "a bundle has no such event"
	case h.Command == "":
		return h, "not a command"
	}
	matcher := textOf(e["matcher"])
	if matcher == "" || matcher == "*" {
		return h, ""
	}
	for _, tool := range strings.Split(matcher, "|") {
		t := toolNames[tool]
		if t == "" {
			return h, "its matcher " + matcher + " does not name tools"
		}
		if !slices.Contains(h.Tools, t) {
			h.Tools = append(h.Tools, t)
		}
	}
	return h, ""
}

// keepBlocks reports the blocks of a file for single programs, which are left out.
func (g *gatherer) keepBlocks(from string, o object, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(append(known, "$schema", "version"), key) {
			g.keep(from+", "+key, "a bundle has no place for a block about one program")
		}
	}
}

// rulesyncPermissions takes rulesync's permissions.
func (g *gatherer) rulesyncPermissions(from string) {
	o, ok := g.config(from)
	if !ok {
		return
	}
	words := map[string]string{"bash": "shell", "edit": "edit", "write": "edit", "read": "read", "webfetch": "fetch"}
	out := map[string][]string{}
	table, _ := o["permission"].(object)
	for _, tool := range slices.Sorted(maps.Keys(table)) {
		word := words[tool]
		rules, isTable := table[tool].(object)
		if one := textOf(table[tool]); one != "" {
			rules, isTable = object{"*": one}, true
		}
		if word == "" || !isTable {
			g.keep(from+", "+tool, "a bundle has no permission of that kind")
			continue
		}
		for _, pattern := range slices.Sorted(maps.Keys(rules)) {
			if kind := secret.Value(pattern); kind != "" {
				g.keep(from+", "+tool, "a pattern of it holds "+kind+" ("+g.spot(from, pattern)+")")
				continue
			}
			effect, rule := textOf(rules[pattern]), word+"("+pattern+")"
			if pattern == "*" {
				rule = word
			}
			if !slices.Contains([]string{"allow", "ask", "deny"}, effect) {
				g.keep(from+", "+tool+" "+pattern, "neither allow nor ask nor deny")
			} else if !slices.Contains(out[effect], rule) {
				out[effect] = append(out[effect], rule)
			}
		}
	}
	g.keepBlocks(from, o, "permission")
	if len(out) > 0 {
		g.jsonFile("permissions", from, g.common("permissions.json"), out)
	}
}
