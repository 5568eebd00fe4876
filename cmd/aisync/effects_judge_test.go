package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/schema/spec"
)

// judge tells harmless settings from effects by the words of the catalog. It
// shares no code with app/effects and internal/merge, which it is to check:
// it reads, flattens and matches by itself.
type judge struct {
	outside string // a link of the project that leads out of it
}

// judgedLeaf is one scalar of a file, or an empty object or array.
type judgedLeaf struct {
	names []string
	value any
}

func (l judgedLeaf) String() string {
	return fmt.Sprintf("/%s = %.60q", strings.Join(l.names, "/"), fmt.Sprint(l.value))
}

// leavesOf reads a whole file. A name that JSON has twice counts twice.
func leavesOf(format string, doc []byte) ([]judgedLeaf, error) {
	var v any
	switch format {
	case "json":
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		var list []judgedLeaf
		if err := jsonLeaves(d, nil, &list); err != nil {
			return nil, err
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, fmt.Errorf("more than one value: %v", err)
		}
		return list, nil
	case "toml":
		if err := toml.Unmarshal(doc, &v); err != nil {
			return nil, err
		}
	case "yaml":
		if err := yaml.Unmarshal(doc, &v); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no format of settings: %s", format)
	}
	return flat(nil, v), nil
}

func jsonLeaves(d *json.Decoder, names []string, list *[]judgedLeaf) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, isDelim := token.(json.Delim)
	if !isDelim {
		*list = append(*list, judgedLeaf{slices.Clone(names), token})
		return nil
	}
	n := 0
	for ; d.More(); n++ {
		name := strconv.Itoa(n)
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name = token.(string) // of an object's members, as encoding/json promises
		}
		if err := jsonLeaves(d, append(slices.Clone(names), name), list); err != nil {
			return err
		}
	}
	if n == 0 && open == '{' {
		*list = append(*list, judgedLeaf{slices.Clone(names), map[string]any{}})
	} else if n == 0 {
		*list = append(*list, judgedLeaf{slices.Clone(names), []any{}})
	}
	_, err = d.Token()
	return err
}

func flat(names []string, v any) []judgedLeaf {
	var list []judgedLeaf
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			list = append(list, flat(append(slices.Clone(names), name), member)...)
		}
	case []any:
		for i, member := range v {
			list = append(list, flat(append(slices.Clone(names), strconv.Itoa(i)), member)...)
		}
	}
	if list == nil {
		list = []judgedLeaf{{names, v}}
	}
	return list
}

// speaksOf reports whether pattern matches names; as a prefix, where below, or
// something that would lie below them, where above.
func speaksOf(pattern string, names []string) (whole, below, above bool) {
	segments := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for i, segment := range segments {
		if segment == "**" && i == len(segments)-1 {
			return true, true, false
		}
		if i == len(names) {
			return false, false, true
		}
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		glob := "(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(segment)) + "$"
		if !regexp.MustCompile(glob).MatchString(names[i]) {
			return false, false, false
		}
	}
	return len(segments) == len(names), true, false
}

// hides are the spellings by which a value means another than it says.
var hides = regexp.MustCompile("^!|[$`]|\\{env:|\\{file:")

// harmless reports whether a leaf of a file of o does nothing.
func (j judge) harmless(o spec.Obeyed, l judgedLeaf) bool {
	if len(o.Reads) > 0 && !slices.ContainsFunc(o.Reads, func(p string) bool { _, below, _ := speaksOf(p, l.names); return below }) {
		return true
	}
	is := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { whole, _, _ := speaksOf(p, l.names); return whole })
	}
	holds := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { _, _, above := speaksOf(p, l.names); return above })
	}
	for _, v := range o.SafeValues {
		if is([]string{v.Key}) && slices.Contains(v.Values, scalar(l.value)) {
			return true
		}
	}
	switch v := l.value.(type) {
	case map[string]any, []any: // empty ones
		return is(o.Safe) || holds(o.Safe) || holds(o.Paths)
	case string:
		if is(o.Prompts) && !strings.Contains(v, "!{") && !strings.Contains(v, "!`") { // a model reads it
			return true
		}
		if hides.MatchString(v) {
			return false
		}
		return is(o.Safe) || is(o.Paths) && v != "" && !filepath.IsAbs(v) && !strings.ContainsAny(v, `:\~`) &&
			!slices.Contains(strings.Split(v, "/"), "..") && !strings.HasPrefix(v, j.outside)
	}
	return is(o.Safe)
}

// scalar is a value as the catalog spells it.
func scalar(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// ignored reports whether the program does not take l from there, which is an error.
func ignored(o spec.Obeyed, l judgedLeaf) bool {
	return slices.ContainsFunc(o.Ignored, func(i spec.Ignored) bool {
		_, below, _ := speaksOf(i.Key, l.names)
		return below && (len(i.Values) == 0 || slices.Contains(i.Values, scalar(l.value)))
	})
}

// obeysFile are what rt has to say of a file.
func obeysFile(rt spec.Runtime, name string) []spec.Obeyed {
	var out []spec.Obeyed
	for _, o := range rt.Project.Obeys {
		if slices.ContainsFunc(o.Files, func(pattern string) bool {
			glob := strings.NewReplacer(`\*\*/`, "(.*/)?", `\*\*`, ".*", `\*`, "[^/]*").Replace(regexp.QuoteMeta(pattern))
			return regexp.MustCompile("^" + glob + "$").MatchString(name)
		}) {
			out = append(out, o)
		}
	}
	return out
}

// effectsIn are what the programs obey in the text of a file, and how many of
// its leaves are harmless.
func (j judge) effectsIn(name string, doc []byte, runtimes []spec.Runtime) (found []string, harmless int) {
	for _, rt := range runtimes {
		for _, o := range obeysFile(rt, name) {
			list, err := leavesOf(o.Format, doc)
			if err != nil {
				found = append(found, fmt.Sprintf("%s reads %s: %v", rt.ID, name, err))
			}
			for _, l := range list {
				if j.harmless(o, l) {
					harmless++
				} else {
					found = append(found, fmt.Sprintf("%s obeys %s of %s", rt.ID, l, name))
				}
			}
		}
	}
	return found, harmless
}

// The judge is one that can say no, and yes.
func TestSettingsJudge(t *testing.T) {
	o := spec.Obeyed{
		Safe: []string{"/a", "/set/*", "/all/**", "/x~1y"}, Paths: []string{"/text/*"},
		SafeValues: []spec.SafeValues{{Key: "/on", Values: []string{"false"}}},
	}
	for text, want := range map[string]bool{
		`{"a": 1}`: true, `{"A": 1}`: false, `{"a": "$X"}`: false, `{"a": {"b": 1}}`: false, `{"a": "!x"}`: false, `{"a": null}`: true,
		`{"set": ["x"]}`: true, `{"set": [["x"]]}`: false, `{"set": []}`: true, `{"set": 1}`: false, `{"all": {"b": {"c": 1}}}`: true,
		`{"x/y": 1}`: true, `{"x": {"y": 1}}`: false, `{"text": ["a.md"]}`: true, `{"text": ["../a.md"]}`: false, `{"text": []}`: true, `{"text": [[]]}`: false, `{"text": ["out/a.md"]}`: false,
		`{"on": false}`: true, `{"on": true}`: false, `{"a": 1, "b": 1}`: false, `{"on": true, "on": false}`: false,
	} {
		list, err := leavesOf("json", []byte(text))
		must(t, err)
		got := !slices.ContainsFunc(list, func(l judgedLeaf) bool { return !(judge{"out"}).harmless(o, l) })
		if got != want {
			t.Errorf("%s: harmless %v", text, got)
		}
	}
}
