package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// call is one command that one event runs.
type call struct {
	file    string
	line    int
	event   string // normalized
	matcher string
	command string
}

// checkHooks requires each command once for an event: within a file, and
// between the neutral list and a runtime's settings beside it.
func checkHooks(s *source, say func(Finding)) {
	seen := map[string]call{}
	s.each(func(f file, u use) {
		for _, c := range calls(f) {
			scope := bundleOf(f.name)
			key := strings.Join([]string{scope, c.event, c.matcher, program(c.command)}, "\x00")
			first, twice := seen[key]
			if !twice {
				seen[key] = c
				continue
			}
			say(Finding{File: c.file, Line: c.line, Level: Error, Text: fmt.Sprintf("%s runs %q already, from %s:%d: it would run twice", c.event, c.command, first.file, first.line)})
		}
	}, hookList, settings)
}

// calls parses the hooks of either form; other checks report what cannot be
// parsed.
func calls(f file) []call {
	var out []call
	from := 0
	add := func(event, matcher, command string) {
		quoted, _ := json.Marshal(command) // a string: cannot fail
		line := lineOf(f.text, from)
		if i := bytes.Index(f.text[from:], quoted); i >= 0 {
			line, from = lineOf(f.text, from+i), from+i+len(quoted)
		}
		out = append(out, call{f.name, line, strings.ToLower(strings.ReplaceAll(event, "-", "")), matcher, command})
	}
	if path.Base(f.name) == "hooks.json" {
		var list struct {
			Hooks []struct {
				Event, Command string
				Tools          []string
			}
		}
		if json.Unmarshal(f.text, &list) == nil {
			for _, h := range list.Hooks {
				add(h.Event, strings.Join(h.Tools, "|"), h.Command)
			}
		}
		return out
	}
	var doc struct {
		Hooks orderedGroups `json:"hooks"`
	}
	if json.Unmarshal(f.text, &doc) == nil {
		for _, g := range doc.Hooks {
			for _, h := range g.Hooks {
				add(g.event, g.Matcher, h.Command)
			}
		}
	}
	return out
}

// orderedGroups are the hooks of settings in file order.
type orderedGroups []hookGroup

type hookGroup struct {
	event   string
	Matcher string
	Hooks   []struct{ Command string }
}

// UnmarshalJSON keeps the order of the events.
func (o *orderedGroups) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		event, err := dec.Token()
		if err != nil {
			return err
		}
		var groups []hookGroup
		if err := dec.Decode(&groups); err != nil {
			return err
		}
		for _, g := range groups {
			g.event, _ = event.(string)
			*o = append(*o, g)
		}
	}
	return nil
}

// program is the program of a command, however its folder is written.
func program(command string) string {
	first, rest, _ := strings.Cut(command, " ")
	return path.Base(strings.Trim(first, `"'`)) + " " + rest
}

// bundleOf is the part of a source that name belongs to: a language, a team, or
// the part for all.
func bundleOf(name string) string {
	parts := strings.Split(name, "/")
	if (parts[0] == "languages" || parts[0] == "teams") && len(parts) > 2 {
		return parts[0] + "/" + parts[1]
	}
	return "."
}
