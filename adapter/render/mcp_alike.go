package render

import (
	"bytes"
	"encoding/json"

	"aisync.dev/aisync/schema/spec"
)

// AsServer is the MCP server there, of the file f, in the form that Server
// writes, if it means the same: programs and tools add defaults, such as
// "type": "stdio" beside a command, or an empty env. Any other addition is
// kept: the server is then returned unchanged.
func AsServer(f spec.MCPFile, there json.RawMessage) json.RawMessage {
	switch f.Shape {
	case ShapeClaude, ShapeGemini, ShapeCursor:
		var s jsonServer
		switch known := only(there, &s); {
		case !known:
			return there
		case s.Command != "" && s.Type == "stdio", f.Shape == ShapeCursor && s.URL != "" && s.Type == "http":
			s.Type = ""
		}
		return JSON(s)
	case ShapeCopilot:
		var s jsonServer
		if !only(there, &s) {
			return there
		}
		if s.Command != "" && s.Type == "stdio" {
			s.Type = "local"
		}
		return JSON(s)
	case ShapeOpencode:
		var s opencodeServer
		if only(there, &s) {
			return JSON(s)
		}
	case ShapeCodex:
		var s struct {
			codexServer
			Type string `json:"type"` // of ruler; codex ignores it
		}
		if only(there, &s) && (s.Type == "" || s.Type == "stdio" && s.Command != "" || s.Type == "http" && s.URL != "") {
			return JSON(s.codexServer)
		}
	}
	return there
}

// only reads v into s and reports whether v holds nothing else.
func only(v json.RawMessage, s any) bool {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.DisallowUnknownFields()
	return dec.Decode(s) == nil
}
