package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// quiet are the fields whose loss changes nothing in what a command or subagent
// does.
var quiet = []string{"name", "description", "runtimes", "mode", "color", "display_name", "hidden", "kind", "metadata", "arguments", "target"}

// kept are the permission modes that allow no more than a program's default.
var kept = []string{"plan", "default", "dontAsk"}

// translate returns the fields of p beside name, description and mode, in the
// words of a program with that folder; out gets what is lost.
func (w Words) translate(out *Prompt, p prompt, folder *spec.PromptFolder) []string {
	var lines []string
	if model := modelFor(p.model, folder.Models); model != "" {
		lines = append(lines, "model: "+quoted(model))
	} else if p.model != "inherit" {
		out.Model = p.model
	}
	lines = append(lines, p.limitLines(out, folder)...)
	from, _ := w.program(p.from)
	for _, f := range p.fields {
		name, known := from.neutral(f.name)
		own := folder.Fields[name]
		switch {
		case slices.Contains(quiet, f.name) || !known || slices.Contains(p.limiting, f.name):
		case own == "" && !w.agents && f.name == "agent":
			if f.value != "build" {
				out.Lost = append(out.Lost, strings.TrimSpace(f.lines))
			}
		case own == "" || name == "permissionMode" && !slices.Contains(kept, p.values.Text(f.name)):
			out.Dropped = append(out.Dropped, f.name)
		default:
			lines = append(lines, p.line(own, f)...)
		}
	}
	return lines
}

// neutral is Claude Code's name of p's field, or p's own where it has none.
func (p program) neutral(name string) (neutral string, known bool) {
	if p.folder == nil {
		return "", false
	}
	for _, key := range slices.Sorted(maps.Keys(p.folder.Fields)) {
		if p.folder.Fields[key] == name {
			return key, true
		}
	}
	return "", false
}

// line is a field under the name own. A hint stays as its author wrote it, be it
// a list to YAML.
func (p prompt) line(own string, f field) []string {
	text, isText := p.values[f.name].(string)
	switch {
	case isText:
		return []string{own + ": " + quoted(text)}
	case f.name == "argument-hint" && f.value != "":
		return []string{own + ": " + quoted(f.value)}
	case f.value != "":
		return []string{own + ": " + fmt.Sprint(f.value)}
	}
	_, rest, _ := strings.Cut(f.lines, ":")
	return strings.Split(strings.TrimRight(own+":"+strings.ReplaceAll(rest, "\r\n", "\n"), "\n"), "\n")
}

// modelFor is a program's name of a model; "" if it has none.
func modelFor(model string, names map[string]string) string {
	for _, part := range slices.Sorted(maps.Keys(names)) {
		if model != "" && strings.Contains(model, part) {
			return names[part]
		}
	}
	return ""
}

// unchanged is the text of p, which has a program's own words, without the field
// runtimes, and with its name where that program's form needs one.
func (p prompt) unchanged(form, name string, text []byte) []byte {
	var front strings.Builder
	if form == Named && p.name == "" {
		front.WriteString("name: " + quoted(name) + "\n")
	}
	changed := front.Len() > 0
	for _, f := range p.fields {
		if f.name == "runtimes" {
			changed = true
			continue
		}
		front.WriteString(f.lines)
	}
	if !changed {
		return text
	}
	return slices.Concat([]byte("---\n"+front.String()+"---\n"), p.body)
}
