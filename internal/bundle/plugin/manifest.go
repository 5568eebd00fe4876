// Package plugin reads what publishers of plugins write: plugin.json,
// gemini-extension.json, marketplace.json, hooks.json in its standard form and
// .mcp.json. It is pure: text in, values out. Unknown fields are those of later
// versions, and ignored. The sources of the formats are in docs/sources.md.
package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
)

// ManifestNames are the places of a plugin's manifest. The first that is there
// counts.
var ManifestNames = []string{".claude-plugin/plugin.json", ".codex-plugin/plugin.json", CursorManifest, "gemini-extension.json",
	".plugin/plugin.json", AgentManifest, ".github/plugin/plugin.json"}

const (
	// CursorManifest is the place of the manifest of a plugin for Cursor.
	CursorManifest = ".cursor-plugin/plugin.json"
	// AgentManifest is that of Agent Plugins, as Copilot has them.
	AgentManifest = "plugin.json"
	// CopilotFolder is where Agent Plugins have what Copilot alone reads.
	CopilotFolder = "com.github.copilot"
)

// MarketplaceNames are the places of a list of plugins.
var MarketplaceNames = []string{".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json",
	".plugin/marketplace.json", ".github/plugin/marketplace.json"}

// Manifest is a plugin's. Paths are slash-separated, relative to the plugin,
// and lead nowhere else.
type Manifest struct {
	Name                            string
	Skills, Commands, Agents, Hooks []string // paths besides the usual ones
	Servers                         []string // files of servers
	Inline                          []byte   // servers in the manifest itself, in the form of .mcp.json
	InlineHooks                     []byte   // hooks in it, in the form of hooks.json

	rules json.RawMessage
}

// ReadManifest parses a manifest. The error starts with the line, as in ":3: …".
func ReadManifest(text []byte) (Manifest, error) {
	var doc struct {
		Name       string
		Skills     json.RawMessage `json:"skills"`
		Commands   json.RawMessage `json:"commands"`
		Agents     json.RawMessage `json:"agents"`
		Hooks      json.RawMessage `json:"hooks"`
		Rules      json.RawMessage `json:"rules"`
		MCPServers json.RawMessage `json:"mcpServers"`
	}
	if err := decode(text, &doc); err != nil {
		return Manifest{}, err
	}
	m := Manifest{Name: doc.Name, rules: doc.Rules}
	for _, f := range []struct {
		name   string
		raw    json.RawMessage
		to     *[]string
		inline *[]byte
	}{
		{"skills", doc.Skills, &m.Skills, nil}, {"commands", doc.Commands, &m.Commands, nil}, {"agents", doc.Agents, &m.Agents, nil},
		{"hooks", doc.Hooks, &m.Hooks, &m.InlineHooks}, {"mcpServers", doc.MCPServers, &m.Servers, &m.Inline},
	} {
		if f.inline != nil && bytes.HasPrefix(bytes.TrimSpace(f.raw), []byte("{")) {
			*f.inline = f.raw
			continue
		}
		var err error
		if *f.to, err = paths(f.raw); err != nil {
			return Manifest{}, fmt.Errorf(": %s: %w", f.name, err)
		}
	}
	return m, nil
}

// Rules are the paths of a plugin for Cursor besides the usual one. In manifests for
// other programs the field is unknown.
func (m Manifest) Rules() ([]string, error) {
	list, err := paths(m.rules)
	if err != nil {
		return nil, fmt.Errorf(": rules: %w", err)
	}
	return list, nil
}

// paths reads one path or a list of them.
func paths(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []string
	var one string
	switch {
	case json.Unmarshal(raw, &one) == nil:
		list = []string{one}
	case json.Unmarshal(raw, &list) != nil:
		return nil, errors.New("want a path or a list of paths")
	}
	for i, p := range list {
		clean, err := Inside(p)
		if err != nil {
			return nil, err
		}
		list[i] = clean
	}
	return list, nil
}

// Inside returns a path of a manifest in its shortest form; "." is the plugin
// itself. It refuses one that leads out of the plugin.
func Inside(p string) (string, error) {
	clean := path.Clean(strings.ReplaceAll(p, "\\", "/"))
	if p == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(p, "~") {
		return "", fmt.Errorf("%q leads out of the plugin", p)
	}
	return clean, nil
}

// decode parses JSON. The error starts with the line, as in ":3: …".
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	err := dec.Decode(into)
	at := dec.InputOffset()
	if err == nil {
		if _, err = dec.Token(); err == io.EOF {
			return nil
		}
		err = errors.New("more text after the end")
	}
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		at, err = int64(len(text)), errors.New("unexpected end")
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typed):
		at, err = typed.Offset, fmt.Errorf("%s is of the type %s, which aisync does not read there", cmp.Or(typed.Field, "the document"), typed.Value)
	}
	at = min(at, int64(len(text)))
	return fmt.Errorf(":%d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
}

// word is the text of a value; "" for another one.
func word(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // another type reads as ""
	return s
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// names are the keys of m, sorted.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
