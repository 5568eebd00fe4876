package gather

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// object is a configuration file as data.
type object = map[string]any

// config reads a settings file by its extension: TOML, or JSON with comments.
// An unreadable one stays, with the reason.
func (g *gatherer) config(name string) (object, bool) {
	content, _, ok := g.read(name)
	if !ok {
		return nil, false
	}
	o := object{}
	var err error
	if strings.HasSuffix(name, ".toml") {
		err = toml.Unmarshal(content, &o)
	} else {
		err = readJSON(content, &o)
	}
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		g.keep(name, "cannot be read: "+reason)
		return nil, false
	}
	return o, true
}

func readJSON(content []byte, into any) error {
	content, err := hujson.Standardize(bytes.Clone(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	return dec.Decode(into)
}

// settings takes a settings file unchanged, or, if it seems to hold a secret,
// without that.
func (g *gatherer) settings(runtime, name string) {
	o, ok := g.config(name)
	if !ok || len(o) == 0 {
		return
	}
	g.runtime(runtime)
	if hidden := withoutSecrets(o); len(hidden) > 0 {
		g.settingsOf(runtime, name, o, "for "+runtime+" only", hidden)
		return
	}
	g.copyFile("settings", name, g.own(runtime, "settings.json"), "for "+runtime+" only, unchanged")
}

// settingsOf writes settings that differ from their file.
func (g *gatherer) settingsOf(runtime, name string, o object, note string, hidden []string) {
	if len(hidden) > 0 {
		note += "; values that look like secrets stay where they are: " + strings.Join(hidden, ", ")
	}
	if len(o) == 0 {
		if len(hidden) > 0 {
			g.keep(name, note)
		}
		return
	}
	content, err := json.MarshalIndent(o, "", "  ")
	to := g.own(runtime, "settings.json")
	switch {
	case err != nil:
		g.keep(name, "its settings cannot be written as JSON: "+err.Error())
	case !g.put(to, append(content, '\n'), 0o644):
		g.keep(name, "the bundle has other settings for "+runtime+" already")
	default:
		g.took("settings", name, to, note)
	}
}

// withoutSecrets removes from o every string under a secret's name, except
// references, and returns the names.
func withoutSecrets(o object) (hidden []string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		switch v := o[name].(type) {
		case string:
			if v != "" && LooksSecret(name) && !reference.MatchString(v) {
				delete(o, name)
				hidden = append(hidden, name)
			}
		case object:
			inner := withoutSecrets(v)
			if len(inner) > 0 && len(v) == 0 {
				delete(o, name)
			}
			hidden = append(hidden, inner...)
		case []any:
			for _, e := range v {
				if inner, ok := e.(object); ok {
					hidden = append(hidden, withoutSecrets(inner)...)
				}
			}
		}
	}
	return hidden
}

// configFile splits a file of settings and MCP servers: the servers are for
// every runtime, the rest for this one.
func (g *gatherer) configFile(runtime, name, servers string) {
	o, ok := g.config(name)
	if !ok {
		return
	}
	g.runtime(runtime)
	g.servers(runtime, name, o[servers])
	delete(o, servers)
	delete(o, "$schema")
	if g.Home {
		delete(o, "projects") // trust, by folders of this machine
	}
	if _, ok := o["instructions"]; ok && runtime == "opencode" {
		g.keep(name+", instructions", "opencode goes on reading them; aisync adds its own entry beside them")
		delete(o, "instructions")
	}
	g.settingsOf(runtime, name, o, "everything but MCP servers, for "+runtime+" only", withoutSecrets(o))
}

// mcpFile takes the servers of a file that holds little else.
func (g *gatherer) mcpFile(runtime, name, pointer string) {
	o, ok := g.config(name)
	if !ok {
		return
	}
	g.runtime(runtime)
	g.servers(runtime, name, o[pointer])
	if _, ok := o["inputs"]; ok {
		g.keep(name, "inputs: a spec has no place for the values that VS Code asks for at start")
	}
}

// jsonFile puts v as JSON into the bundle.
func (g *gatherer) jsonFile(what, from, to string, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		g.keep(from, err.Error())
		return
	}
	if !g.put(to, b.Bytes(), 0o644) {
		g.keep(from, "the bundle has another "+path.Base(to)+" already")
		return
	}
	g.took(what, from, to, "")
}

// textOf reads a string from untyped data; textsOf reads a list.
func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func textsOf(v any) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, textOf(e))
		}
	case string:
		out = append(out, v)
	}
	return out
}

func valueOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}
