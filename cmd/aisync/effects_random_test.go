package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/schema/spec"
)

// keyLists are the programs' own settings, a pointer pattern and a type a line.
const keyLists = "../../app/effects/testdata/keys"

// listedKey is a line of such a list.
type listedKey struct {
	names []string
	kind  string
}

// listedKeys are the settings that a program knows.
func listedKeys(t *testing.T, id string) []listedKey {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(keyLists, id+"-*.txt"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%s: %d lists of settings", id, len(files))
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	var keys []listedKey
	for line := range strings.Lines(string(text)) {
		if pointer, kind, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && strings.HasPrefix(pointer, "/") && pointer != "/$schema" { // which aisync sets itself
			keys = append(keys, listedKey{strings.Split(pointer[1:], "/"), kind})
		}
	}
	if len(keys) < 50 {
		t.Fatalf("%s: only %d settings", files[0], len(keys))
	}
	return keys
}

// author is who thinks up the settings of one program.
type author struct {
	*rand.Rand
	keys  []listedKey
	obeys spec.Obeyed
	judge judge
}

func (a author) one(words ...string) string { return words[a.IntN(len(words))] }

// settings are 1 to 6 settings; of a calm author all are harmless.
func (a author) settings(calm bool) map[string]any {
	all := map[string]any{}
	for n := 1 + a.IntN(6); n > 0; {
		names, array, value := a.setting(calm)
		one := nested(names, array, value)
		if doc, ok := one.(map[string]any); ok && a.wanted(doc, calm) {
			join(all, doc)
			n--
		}
	}
	return all
}

// wanted reports whether settings fit the author's mood. What the program
// ignores is an error, and rare.
func (a author) wanted(doc map[string]any, calm bool) bool {
	for _, l := range flat(nil, doc) {
		if calm && !a.judge.harmless(a.obeys, l) || ignored(a.obeys, l) && (calm || a.IntN(40) > 0) {
			return false
		}
	}
	return true
}

// setting is one setting: its names, which of them are elements of arrays, its value.
func (a author) setting(calm bool) (names []string, array []bool, value any) {
	if !calm && a.IntN(4) == 0 {
		n := 1 + a.IntN(5)
		for range n {
			names, array = append(names, a.invented()), append(array, false)
		}
		return names, array, a.value("any", false)
	}
	if patterns := a.obeys.Paths; !calm && a.IntN(5) == 0 { // a harmless setting, with a value that is not
		if len(patterns) == 0 || a.IntN(2) == 0 {
			patterns = a.obeys.Safe
		}
		if pattern := patterns[a.IntN(len(patterns))]; pattern != "/$schema" {
			names = strings.Split(strings.NewReplacer("**", "x", "*", "x").Replace(pattern)[1:], "/")
			return names, make([]bool, len(names)), a.hidden()
		}
	}
	key := a.keys[a.IntN(len(a.keys))]
	names, array = slices.Clone(key.names), make([]bool, len(key.names))
	for i, name := range names {
		switch {
		case name == "**":
			names[i] = a.invented()
		case name == "*" && i > 0 && (i == len(names)-1 || a.IntN(3) == 0):
			array[i] = a.IntN(4) > 0
			names[i] = a.one("x", "a b", "build")
		default:
			names[i] = strings.ReplaceAll(name, "*", "x")
		}
	}
	value = a.value(key.kind, calm)
	if s := a.obeys.SafeValues; calm && len(s) > 0 && a.IntN(6) == 0 {
		v := s[a.IntN(len(s))]
		names = strings.Split(strings.ReplaceAll(v.Key, "*", "x")[1:], "/")
		array, value = make([]bool, len(names)), any(v.Values[a.IntN(len(v.Values))])
		if value == "true" || value == "false" {
			value = value == "true"
		}
	}
	if !calm && a.IntN(5) == 0 { // another spelling
		i := a.IntN(len(names))
		array[i] = false
		switch a.IntN(6) {
		case 0:
			names[i] = strings.ToUpper(names[i])
		case 1:
			names[i] = strings.ToUpper(names[i][:1]) + names[i][1:]
		case 2:
			names[i] += a.one(" ", "\u200b", "~1x", "/x", "#x", "*")
		case 3:
			names, array = []string{strings.Join(names, a.one(".", "/"))}, []bool{false}
		case 4:
			names, array = append(names, a.invented()), append(array, false)
		case 5:
			names, array = append([]string{a.invented()}, names...), append([]bool{false}, array...)
		}
	}
	return names, array, value
}

func (a author) invented() string {
	return a.one("invented", "__proto__", "a.b", "a/b", "a~b", "a~1b", "#", "~", "hooks", "command", "env", "x y", "0", "ünïcode", "Model", strings.Repeat("k", 300))
}

// value is one of a kind, as far as the author likes kinds.
func (a author) value(kind string, calm bool) any {
	if !calm && a.IntN(4) == 0 {
		kind = "any"
	}
	switch kind {
	case "boolean":
		return a.IntN(2) == 0
	case "number", "integer":
		return a.IntN(100000)
	case "any":
		if a.IntN(2) == 0 {
			return a.one("a", "none")
		}
		return []any{true, 7, "x", []any{}, map[string]any{}, []any{"x", []any{"y"}}, map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": "x"}}}}}[a.IntN(7)]
	}
	if calm || a.IntN(2) == 0 {
		return a.one("a", "dark", "some words", "notes.md", "docs/a.md", "Read(./.env)", "3", "", strings.Repeat("long ", 400))
	}
	return a.hidden()
}

// hidden is a value that means another than it says, or leads elsewhere.
func (a author) hidden() string {
	return a.one("$HOME", "${HOME}/x", "$(id)", "`id`", "!id", "{env:HOME}", "{file:~/.ssh/id_rsa}", "http://127.0.0.1:1", "https://u:p@127.0.0.1:1/x",
		"../../etc/passwd", "/etc/passwd", "~/.ssh/id_rsa", "out/x.md", "docs/../../x", "npx -y x", "./tools/x.js", "sh -c 'id; rm x'", "allow", "never",
		"bypassPermissions", "danger-full-access", "Bash(*)", "true", "file:///etc/passwd", "\u202eevil", strings.Repeat("x", 20000))
}

// nested is value below names.
func nested(names []string, array []bool, value any) any {
	if len(names) == 0 {
		return value
	}
	member := nested(names[1:], array[1:], value)
	if array[0] {
		return []any{member}
	}
	return map[string]any{names[0]: member}
}

// join adds more to all, where nothing is in the way.
func join(all, more map[string]any) {
	for name, v := range more {
		if was, ok := all[name].(map[string]any); ok && len(was) > 0 {
			if m, ok := v.(map[string]any); ok {
				join(was, m)
			}
		} else if _, there := all[name]; !there {
			all[name] = v
		}
	}
}

// inFormat writes settings as a program reads them.
func inFormat(t *testing.T, format string, v map[string]any) []byte {
	t.Helper()
	write := map[string]func(any) ([]byte, error){"json": json.Marshal, "toml": toml.Marshal, "yaml": yaml.Marshal}[format]
	if write == nil {
		t.Fatalf("no format %q", format)
	}
	doc, err := write(v)
	must(t, err)
	return doc
}
