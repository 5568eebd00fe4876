package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Setting is one leaf of a settings file: a value under a pointer, or a member
// of the set there.
type Setting struct {
	Pointer []string // names from the root
	Member  bool     // Value is a member of the array there
	Value   json.RawMessage
}

// Permission renders one permission in the words of a program's settings.
// action is "allow", "ask" or "deny", tool a bundle's word, pattern what it is
// about, "" everything. names are the program's own words for tools. ok is
// false where the program cannot express it.
func Permission(shape string, names map[string]string, action, tool, pattern string) (s Setting, ok bool) {
	switch shape {
	case "claude":
		text, ok := claudePermission(names, tool, pattern)
		return member(text, "permissions", action), ok
	case "cursor":
		text, ok := cursorPermission(tool, pattern)
		return member(text, "permissions", action), ok && action != "ask"
	case "gemini":
		list, known := map[string]string{"allow": "allowed", "deny": "exclude"}[action]
		name, _, _ := strings.Cut(names[tool], "|")
		prefix, isPrefix := commandPrefix(pattern)
		if !known || name == "" || tool != "shell" && pattern != "" || !isPrefix {
			return Setting{}, false
		}
		if prefix != "" {
			name += "(" + prefix + ")"
		}
		return member(name, "tools", list), true
	case "opencode":
		key, known := map[string]string{"shell": "bash", "edit": "edit", "read": "read", "fetch": "webfetch", "agent": "task"}[tool]
		if pattern == "" {
			pattern = "*"
		}
		return Setting{Pointer: []string{"permission", key, pattern}, Value: text(action)}, known && (tool != "fetch" || pattern == "*")
	}
	return Setting{}, false
}

func member(s string, pointer ...string) Setting {
	return Setting{Pointer: pointer, Member: true, Value: text(s)}
}

func text(s string) json.RawMessage { return json.RawMessage(quoted(s)) }

// claudePermission is a permission as Claude Code and Qwen Code write it.
func claudePermission(names map[string]string, tool, pattern string) (string, bool) {
	if tool == "mcp" {
		server, one, some := strings.Cut(pattern, "/")
		switch {
		case server == "":
			return "mcp__*", true
		case some && one != "*":
			return "mcp__" + server + "__" + one, true
		}
		return "mcp__" + server, true
	}
	name, _, _ := strings.Cut(names[tool], "|")
	switch {
	case name == "" || tool == "search" && pattern != "":
		return "", false
	case pattern == "":
		return name, true
	case tool == "fetch":
		pattern = "domain:" + pattern
	}
	return name + "(" + pattern + ")", true
}

// cursorPermission is a permission as Cursor's command line has it: of a
// command it knows the program only.
func cursorPermission(tool, pattern string) (string, bool) {
	if pattern == "" {
		pattern = "*"
	}
	switch tool {
	case "shell":
		words := strings.Fields(pattern)
		if len(words) == 2 && words[1] == "*" {
			words = words[:1]
		}
		return "Shell(" + strings.Join(words, " ") + ")", len(words) == 1
	case "read":
		return "Read(" + pattern + ")", true
	case "edit":
		return "Write(" + pattern + ")", true
	}
	return "", false
}

// commandPrefix is the words that a command must start with; false where the
// pattern says more than that.
func commandPrefix(pattern string) (string, bool) {
	prefix := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(pattern, "*"), ":"))
	return prefix, !strings.ContainsAny(prefix, "*?[{")
}

// CodexRule is a permission of a command in the language of Codex's rules.
func CodexRule(action, tool, pattern string) (string, bool) {
	decision := map[string]string{"allow": "allow", "ask": "prompt", "deny": "forbidden"}[action]
	prefix, ok := commandPrefix(pattern)
	words := strings.Fields(prefix)
	if tool != "shell" || !ok || len(words) == 0 || decision == "" {
		return "", false
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	return fmt.Sprintf("prefix_rule(pattern = [%s], decision = %q)\n", strings.Join(words, ", "), decision), true
}
