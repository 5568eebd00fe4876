package render

import (
	"encoding/json"
	"strings"
)

// Hook is one hook in one program's terms.
type Hook struct {
	Event   string // the program's name of the event
	Matcher string // the program's names of tools, joined by |; "": all
	Command string
	Timeout int    // in the program's unit, mostly seconds; 0: none
	If      string // a condition in Claude Code's words, for it alone; "": none
}

// HookValue renders h in a shape. In the shape "claude" it is the value below a
// matcher, in the others the member of the event's array.
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
			If      string `json:"if,omitempty"`
		}{"command", h.Command, h.Timeout, h.If}
	}
	return JSON(v)
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
