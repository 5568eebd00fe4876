package render

import (
	"encoding/json"
	"strings"
)

// Hook is one hook in the words of one program.
type Hook struct {
	Event   string // its own name
	Matcher string // its own names of tools, with | between them; "": all
	Command string
	Timeout int // seconds, or what the program counts in; 0: none
}

// HookValue renders h in a shape. In the shape "claude" it is what stands below
// a matcher, in the others the member of the event's array.
func HookValue(shape string, h Hook) json.RawMessage {
	var v any
	switch shape {
	case ShapeCopilot:
		v = struct {
			Type    string `json:"type"`
			Matcher string `json:"matcher,omitempty"`
			Bash    string `json:"bash"`
			Timeout int    `json:"timeoutSec,omitempty"`
		}{"command", h.Matcher, h.Command, h.Timeout}
	case ShapeCursor:
		v = struct {
			Command string `json:"command"`
			Matcher string `json:"matcher,omitempty"`
			Timeout int    `json:"timeout,omitempty"`
		}{h.Command, h.Matcher, h.Timeout}
	default:
		v = struct {
			Type    string `json:"type"`
			Command string `json:"command"`
			Timeout int    `json:"timeout,omitempty"`
		}{"command", h.Command, h.Timeout}
	}
	return JSON(v)
}

// Matcher puts the program's own names for the tools of a hook together. ok is
// false if it has none for one of them.
func Matcher(names map[string]string, tools []string) (matcher string, ok bool) {
	var own []string
	for _, t := range tools {
		if names[t] == "" {
			return "", false
		}
		own = append(own, names[t])
	}
	return strings.Join(own, "|"), true
}

// Call is the command line of a hook whose first word is a program of its
// bundle, which lies at path: template, with {path} in it, says how it is called.
func Call(template, path, command string) string {
	call := strings.ReplaceAll(template, "{path}", path)
	if _, rest, ok := strings.Cut(command, " "); ok {
		call += " " + rest
	}
	return call
}
