package gather

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/schema/spec"
)

// LooksSecret reports whether name is that of a secret.
func LooksSecret(name string) bool { return secret.Named(name) }

// read is readAny for a file that is copied as it is: one that holds a secret is
// kept, with the place and kind of each.
func (g *gatherer) read(name string) (content []byte, mode fs.FileMode, ok bool) {
	content, mode, ok = g.readAny(name)
	if !ok {
		return nil, 0, false
	}
	return content, mode, g.clean(name, content)
}

// clean reports whether content, of the file name, holds no secret, and keeps the
// file if it does.
func (g *gatherer) clean(name string, content []byte) bool {
	where := placesIn(name, string(content))
	if where != "" {
		g.leaks++
		g.keep(name, "not copied, it holds "+where+": replace it by the name of a variable, then run: aisync import")
	}
	return where == ""
}

// placesIn names the secrets in a text by line and kind; "" without any. A binary
// file is searched as text without its zero bytes, so that UTF-16 is read too.
func placesIn(name, text string) string {
	found := secret.Find(strings.ReplaceAll(text, "\x00", ""))
	var out []string
	for i, m := range found {
		if i == 5 {
			out = append(out, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s (%s:%d)", m.Kind, name, secret.Line(text, m.Start)))
	}
	return strings.Join(out, ", ")
}

// spot is the place of value in a configuration file that was read: FILE:LINE.
func (g *gatherer) spot(name, value string) string {
	text := g.raw[name]
	quoted, _ := json.Marshal(value) // a string: cannot fail
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // into memory
	first, _, _ := strings.Cut(value, "\n")
	for _, form := range []string{value, strings.Trim(strings.TrimSpace(plain.String()), `"`), strings.Trim(string(quoted), `"`), first} {
		if i := strings.Index(text, form); form != "" && i >= 0 {
			return name + ":" + strconv.Itoa(secret.Line(text, i))
		}
	}
	return name
}

// hide replaces the values of vars that hold secrets by references, and returns a
// note for each.
func (g *gatherer) hide(from, server string, vars []spec.EnvVar) (notes []string) {
	for i, v := range vars {
		if v.Secret != nil {
			continue
		}
		kind := secret.Value(v.Value, v.Name)
		if kind == "" {
			continue
		}
		name := variableOf(v.Name)
		if scheme, token, ok := secret.Scheme(v.Value); ok {
			if name == "AUTHORIZATION" {
				name = variableOf(server) + "_TOKEN"
			}
			name = g.variable(name, server, token)
			vars[i].Value = scheme + " ${" + name + "}"
		} else {
			name = g.variable(name, server, v.Value)
			vars[i] = spec.EnvVar{Name: v.Name, Secret: &spec.Secret{Env: name}}
		}
		notes = append(notes, fmt.Sprintf("the value of %s (%s, %s) stays where it is, out of the spec: export it as %s", v.Name, g.spot(from, v.Value), kind, name))
	}
	return notes
}

// variable returns the variable for a secret: name, unless that stands for another
// value already.
func (g *gatherer) variable(name, server, value string) string {
	if g.variables == nil {
		g.variables = map[string]string{}
	}
	for n, try := 1, name; ; n++ {
		if had, ok := g.variables[try]; !ok || had == value {
			g.variables[try] = value
			return try
		}
		if try = variableOf(server) + "_" + name; n > 1 {
			try += "_" + strconv.Itoa(n)
		}
	}
}

// variableOf is the name of the variable for a secret.
func variableOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("-. ", r) {
			return '_'
		}
		return r
	}, name)
	return strings.ToUpper(name)
}

// tells returns what of s besides its environment and headers holds a secret, and
// of which kind; nothing of it can be written as a reference.
func (g *gatherer) tells(from string, s spec.MCPServer) string {
	if i, kind := secret.Args(s.Args); kind != "" {
		return "its arguments hold " + kind + " (" + g.spot(from, s.Args[i]) + ")"
	}
	if kind := secret.Value(s.URL); kind != "" {
		return "its address holds " + kind + " (" + g.spot(from, s.URL) + ")"
	}
	s.Args, s.Env, s.Headers, s.Name, s.URL = nil, nil, nil, "", ""
	text, _ := json.Marshal(s) // plain data: cannot fail
	var rest object
	_ = json.Unmarshal(text, &rest) // it was made from s
	if hidden := g.withoutSecrets(from, rest); len(hidden) > 0 {
		return "it holds " + hidden[0]
	}
	return ""
}

// withoutSecrets removes from o what is or contains a secret, and returns the
// names, places and kinds. An entry of a list goes as a whole: half a hook or
// permission would mean something else.
func (g *gatherer) withoutSecrets(from string, o object) (hidden []string) {
	out, hidden := g.stripped(from, o, nil)
	if _, isObject := out.(object); !isObject {
		clear(o)
	}
	return hidden
}

// gone stands for a value that was removed.
type gone struct{}

func (g *gatherer) stripped(from string, v any, path []string) (any, []string) {
	switch v := v.(type) {
	case object:
		return g.strippedObject(from, v, path)
	case []any:
		return g.strippedList(from, v, path)
	case nil, bool:
		return v, nil
	}
	text := valueOf(v)
	if kind := secret.Value(text, path...); kind != "" {
		return gone{}, []string{fmt.Sprintf("%s (%s, %s)", secret.Mask(strings.Join(path, ".")), g.spot(from, text), kind)}
	}
	return v, nil
}

// strippedObject removes from o itself; an object that was emptied is gone.
func (g *gatherer) strippedObject(from string, o object, path []string) (any, []string) {
	var hidden []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if kind := secret.Value(key); kind != "" {
			delete(o, key)
			hidden = append(hidden, fmt.Sprintf("a key of %s (%s, %s)", strings.Join(path, "."), g.spot(from, key), kind))
			continue
		}
		inner, found := g.stripped(from, o[key], append(slices.Clone(path), key))
		if hidden = append(hidden, found...); len(found) == 0 {
			continue
		}
		if o[key] = inner; inner == any(gone{}) {
			delete(o, key)
		}
	}
	if len(hidden) > 0 && len(o) == 0 {
		return gone{}, hidden
	}
	return o, hidden
}

// strippedList leaves out every entry with a secret; but an entry that is a group of
// entries, such as the hooks of one matcher, loses only the members with one.
func (g *gatherer) strippedList(from string, list []any, path []string) (any, []string) {
	var out []any
	var hidden []string
	for _, e := range list {
		inner, found := g.stripped(from, e, path)
		hidden = append(hidden, found...)
		if len(found) == 0 || grouped(inner) {
			out = append(out, inner)
		}
	}
	if len(hidden) > 0 && len(out) == 0 {
		return gone{}, hidden
	}
	return out, hidden
}

// grouped reports whether v is an object with a list of objects.
func grouped(v any) bool {
	o, ok := v.(object)
	if !ok {
		return false
	}
	for _, e := range o {
		if list, ok := e.([]any); ok && len(list) > 0 {
			if _, ok := list[0].(object); ok {
				return true
			}
		}
	}
	return false
}
