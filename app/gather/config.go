package gather

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// object is a configuration file as data.
type object = map[string]any

// config reads a settings file by its extension: TOML, or JSON with comments.
// An unreadable one stays, with the reason.
func (g *gatherer) config(name string) (object, bool) {
	content, _, ok := g.readAny(name)
	if !ok {
		return nil, false
	}
	g.raw[name] = string(content)
	if f := settingsFault(name, content); f != "" {
		g.keep(f.place(name), f.reason())
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
	if !ok || len(o) == 0 || g.isAside(name) {
		return
	}
	whole := len(o)
	ours := g.withoutOurs(runtime, name, o)
	if whole > 0 && len(o) == 0 {
		return
	}
	g.runtime(runtime)
	if hidden := g.withoutSecrets(name, o); ours || len(hidden) > 0 || placesIn(name, g.raw[name]) != "" {
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

// configFile splits a file of settings and MCP servers: the servers are for
// every runtime, the rest for this one.
func (g *gatherer) configFile(runtime, name, servers string) {
	o, ok := g.config(name)
	if !ok {
		return
	}
	if g.withoutOurs(runtime, name, o) && len(o) == 0 {
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
	g.settingsOf(runtime, name, o, "everything but MCP servers, for "+runtime+" only", g.withoutSecrets(name, o))
}

// mcpFile takes the servers of a file that holds little else.
func (g *gatherer) mcpFile(runtime, name, pointer string) {
	o, ok := g.config(name)
	if !ok {
		return
	}
	if g.withoutOurs(runtime, name, o) && len(o) == 0 {
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

// SameSettings reports whether two settings files in JSON have the same values.
func SameSettings(a, b []byte) bool {
	x, y := object{}, object{}
	return readJSON(a, &x) == nil && readJSON(b, &y) == nil && reflect.DeepEqual(x, y)
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

// copyJSON puts a JSON file into the bundle: unchanged, or, if it holds a secret,
// without that. It reports whether the file is its program's.
func (g *gatherer) copyJSON(what, from, to string) bool {
	o, ok := g.config(from)
	if !ok {
		return false
	}
	hidden := g.withoutSecrets(from, o)
	if len(hidden) == 0 && placesIn(from, g.raw[from]) == "" {
		return g.copyFile(what, from, to, "")
	}
	for _, h := range hidden {
		g.keep(from+", "+h, "it stays where it is: replace it by the name of a variable")
	}
	if len(o) > 0 {
		g.jsonFile(what, from, to, o)
	}
	return true
}
