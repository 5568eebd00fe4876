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

// Permission renders one permission in a program's settings. action is "allow",
// "ask" or "deny", tool a bundle's name, pattern its argument, "" for any.
// names are the program's names of tools. It returns nothing if the program
// cannot express the permission.
func Permission(shape string, names map[string]string, action, tool, pattern string) []Setting {
	switch shape {
	case ShapeClaude:
		if text, ok := claudePermission(names, tool, pattern); ok {
			return []Setting{member(text, "permissions", action)}
		}
	case ShapeGrok:
		if text, ok := grokPermission(tool, pattern); ok {
			return []Setting{member(text, "permission", action)}
		}
	case ShapeCursor:
		if text, ok := cursorPermission(tool, pattern); ok && action != "ask" {
			return []Setting{member(text, "permissions", action)}
		}
	case ShapeGemini:
		return geminiPermission(names, action, tool, pattern)
	case ShapeContinue:
		return continuePermission(names, action, tool, pattern)
	case ShapeOpencode:
		key := map[string]string{"shell": "bash", "edit": "edit", "read": "read", "fetch": "webfetch", "agent": "task"}[tool]
		if key == "" || tool == "fetch" && pattern != "" {
			return nil
		}
		patterns := []string{pattern}
		switch {
		case pattern == "":
			patterns = []string{"*"}
		case tool == "read" || tool == "edit":
			patterns = wildcards(pattern, action == "allow")
		}
		var all []Setting
		for _, p := range patterns {
			all = append(all, Setting{Pointer: []string{"permission", key, p}, Value: text(action)})
		}
		return all
	}
	return nil
}

// wildcards are opencode's patterns for the files that pattern, as in
// .gitignore, stands for. It compares them with the whole path below the root of
// the git repository, or below / without one, and * matches slashes too. What is
// allowed matches no more than pattern; what is not holds wherever the project
// lies, so it may match files of the same path deeper down. Wildcard.match and
// ReadTool.execute of its program at 1.18.33.
func wildcards(pattern string, exactly bool) []string {
	if strings.HasPrefix(pattern, "~") || strings.HasPrefix(pattern, "//") || strings.HasPrefix(pattern, "$") {
		return []string{pattern}
	}
	rest, anywhere := strings.CutPrefix(pattern, "**/")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "./"), "/")
	anywhere = anywhere || !strings.Contains(pattern, "/")
	all := []string{rest}
	if strings.Contains(rest, "/**/") {
		all = append(all, strings.ReplaceAll(rest, "/**/", "/"))
	}
	if !exactly {
		for _, p := range all {
			if !strings.HasSuffix(p, "*") {
				all = append(all, p+"/*")
			}
		}
	}
	if anywhere || !exactly {
		for _, p := range all {
			if !strings.HasPrefix(p, "*") {
				all = append(all, "*/"+p)
			}
		}
	}
	return all
}

// geminiPermission is a permission in Gemini CLI's settings: they allow a
// command by its start, and otherwise name whole tools.
func geminiPermission(names map[string]string, action, tool, pattern string) []Setting {
	list := map[string]string{"allow": "allowed", "ask": "confirmationRequired", "deny": "exclude"}[action]
	prefix, ok := commandPrefix(pattern)
	switch {
	case names[tool] == "" || pattern != "" && (action != "allow" || tool != "shell" || !ok):
		return nil
	case prefix != "":
		return []Setting{member(names[tool]+"("+prefix+")", "tools", list)}
	}
	var all []Setting
	for _, name := range strings.Split(names[tool], "|") {
		all = append(all, member(name, "tools", list))
	}
	return all
}

// continuePermission is a permission in the lists of Continue: it compares a pattern
// with a whole command, and otherwise names whole tools, that of an MCP server without
// the server.
func continuePermission(names map[string]string, action, tool, pattern string) (all []Setting) {
	list := map[string]string{"allow": "allow", "ask": "ask", "deny": "exclude"}[action]
	_, one, _ := strings.Cut(pattern, "/")
	switch {
	case tool == "mcp" && one != "" && one != "*":
		return []Setting{member(one, list)}
	case tool == "shell" && pattern != "":
		all = append(all, member(names[tool]+"("+pattern+")", list))
		if bare, ok := strings.CutSuffix(pattern, " *"); ok && action != "allow" {
			all = append(all, member(names[tool]+"("+bare+")", list))
		}
		return all
	case names[tool] == "" || pattern != "":
		return nil
	}
	for _, name := range strings.Split(names[tool], "|") {
		all = append(all, member(name, list))
	}
	return all
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

// grokPermission is a permission as Grok Build writes it: in Claude Code's words
// for the tools that both have: 22-permissions-and-safety.md of its guide at 1.0.41.
func grokPermission(tool, pattern string) (string, bool) {
	names := map[string]string{"shell": "Bash", "edit": "Edit", "read": "Read", "search": "Grep", "fetch": "WebFetch"}
	if tool != "mcp" {
		return claudePermission(names, tool, pattern)
	}
	server, one, _ := strings.Cut(pattern, "/")
	switch {
	case server == "":
		return "MCPTool(*)", true
	case one == "":
		one = "*"
	}
	return "MCPTool(" + server + "__" + one + ")", true
}

// cursorPermission is a permission of Cursor's command line, which knows only
// the program of a command.
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

// commandPrefix is the words that a command must start with; false if the
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
