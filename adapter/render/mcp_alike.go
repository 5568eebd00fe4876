package render

import (
	"bytes"
	"encoding/json"

	"aisync.dev/aisync/schema/spec"
)

// ServerFields are the fields of a server that a spec decides whether it names
// them or not: what is started or called, and with what. A person can add any
// other field.
func ServerFields(f spec.MCPFile) []string {
	switch f.Shape {
	case ShapeCodex:
		return []string{"command", "args", "env", "env_vars", "url", "bearer_token_env_var", "http_headers", "env_http_headers"}
	case ShapeOpencode:
		return []string{"type", "command", "url", "enabled", "environment", "headers"}
	case ShapeGoose:
		return []string{"name", "type", "enabled", "timeout", "cmd", "args", "envs", "env_keys", "uri", "headers"}
	}
	return []string{"type", "command", "args", "env", "url", "httpUrl", "headers"}
}

// AsServer is the MCP server there, of the file f, in the form that Server
// writes, where it says the same in another way: programs and tools add
// defaults, such as "type": "stdio" beside a command, or an empty env.
func AsServer(f spec.MCPFile, there json.RawMessage) json.RawMessage {
	var s map[string]json.RawMessage
	if json.Unmarshal(there, &s) != nil || s == nil {
		return there
	}
	for _, name := range ServerFields(f) {
		switch v := bytes.TrimSpace(s[name]); string(v) {
		case "":
		case "[]", "{}":
			delete(s, name)
		default:
			s[name] = json.RawMessage(braced(f, string(v)))
		}
	}
	is := func(name, value string) bool { return string(s[name]) == `"`+value+`"` }
	has := func(name string) bool { _, ok := s[name]; return ok }
	local := has("command") && is("type", "stdio")
	switch f.Shape {
	case ShapeClaude, ShapeGemini, ShapeCursor:
		// Of a url without a type, Gemini CLI tries HTTP first, Qwen Code takes it for SSE.
		typed := f.Fields["sse"] != ""
		switch {
		case local, f.Shape == ShapeCursor && has("url") && is("type", "http"), f.Shape == ShapeGemini && !typed && has("url") && is("type", "sse"), has("httpUrl") && is("type", "http"):
			delete(s, "type")
		case f.Shape == ShapeGemini && has("url") && !has("httpUrl") && (is("type", "http") || typed && !has("type")):
			s["httpUrl"] = s["url"]
			delete(s, "url")
			delete(s, "type")
		}
	case ShapePiServer:
		switch {
		case local:
			delete(s, "type")
		case has("url") && (!has("type") || is("type", "streamable-http")):
			s["type"] = json.RawMessage(`"http"`)
		}
	case ShapeCopilot:
		if local || has("command") && !has("type") {
			s["type"] = json.RawMessage(`"local"`)
		}
		if !has("tools") {
			s["tools"] = json.RawMessage(`["*"]`)
		}
	case ShapeOpencode:
		if !has("enabled") {
			s["enabled"] = json.RawMessage("true")
		}
	case ShapeCodex:
		if local || has("url") && is("type", "http") {
			delete(s, "type") // of ruler; codex ignores it
		}
	}
	return JSON(s)
}
