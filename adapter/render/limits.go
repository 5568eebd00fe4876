package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// prompt is a command or subagent, whichever program's words it has.
type prompt struct {
	from              string // the program whose words it has
	name, description string
	model             string
	alone             bool    // a mode that its user chooses, or switched off: no subagent for another program
	fields            []field // all of them, in order
	values            frontmatter.Fields
	body              []byte

	limits   []string // the author's words for the following
	limiting []string // fields with these words
	listed   bool     // only the tools in only, and those of mcp, are there
	only     []string
	denied   []string
	mcp      []string // SERVER/TOOL, of those that are there
	partly   []string // words for limits that no other program has
}

// allTools are what a program can keep a subagent from.
var allTools = []string{"edit", "shell", "read", "search", "fetch", "agent", "mcp"}

// read reads a command or subagent; false if its front matter cannot be read.
func (w Words) read(text []byte) (prompt, bool) {
	front, body, _, err := frontmatter.Split(text)
	if err != nil {
		return prompt{}, false
	}
	p := prompt{fields: fieldsOf(front), body: body}
	if p.values, err = parseFields(front, p.fields); err != nil {
		return prompt{}, false
	}
	p.from = w.dialect(p.fields, p.values)
	p.name, p.description, p.model = p.values.Text("name"), p.values.Text("description"), p.values.Text("model")
	if w.agents {
		p.alone = p.values["mode"] == "primary" || p.values["disable"] == true
		for _, f := range p.fields {
			w.limit(&p, f)
		}
	}
	return p, true
}

// limit reads a field if it keeps a subagent from tools.
func (w Words) limit(p *prompt, f field) {
	before, listed := len(p.only)+len(p.denied)+len(p.partly), p.listed
	for _, program := range w.programs {
		if l := program.folder.Limits; l != nil && w.limitOf(p, l, f.name, p.values[f.name]) {
			break
		}
	}
	if len(p.only)+len(p.denied)+len(p.partly) > before || p.listed && !listed {
		text := f.name + ": " + f.value
		if f.value == "" {
			text = f.name + ": " + string(JSON(p.values[f.name]))
		}
		p.limits, p.limiting = append(p.limits, text), append(p.limiting, f.name)
	}
}

// limitOf reads a field as a program with these words would, and reports whether
// it has the field.
func (w Words) limitOf(p *prompt, l *spec.ToolLimits, name string, value any) bool {
	object, isObject := objectOf(value)
	switch {
	case value == nil:
	case name == l.ReadOnly && fmt.Sprint(value) == l.ReadOnlyValue,
		(name == "permissionMode" || name == "approvalMode") && value == "plan":
		p.denied = append(p.denied, "edit", "shell")
	case name == l.Only && !isObject:
		w.list(p, p.values.List(name))
	case name == l.Deny && isObject:
		w.object(p, object)
	case name == l.Deny && l.Only == "":
		w.object(p, map[string]any{"*": value})
	case name == l.Deny:
		w.deny(p, p.values.List(name))
	case name == "tools" && isObject:
		rules := map[string]any{}
		for tool, on := range object {
			rules[tool] = map[any]string{true: "allow", false: "deny"}[on]
		}
		w.object(p, rules)
	default:
		return false
	}
	return true
}

// list reads the names of all tools that a subagent has.
func (w Words) list(p *prompt, names []string) {
	if slices.Contains(names, "*") {
		return
	}
	p.listed = true
	for _, name := range names {
		bare, argument, _ := strings.Cut(name, "(")
		tool := cmp.Or(w.tools[strings.ToLower(bare)], w.tools[strings.ToLower(setOf(bare))])
		switch {
		case tool != "":
			p.only = append(p.only, tool)
			if argument != "" {
				p.partly = append(p.partly, name)
			}
		case strings.Contains(name, "*"):
			p.partly = append(p.partly, name)
		default:
			if server := serverTool(name); server != "" {
				p.mcp = append(p.mcp, server)
			}
		}
	}
}

// deny reads the names of tools that a subagent does not have.
func (w Words) deny(p *prompt, names []string) {
	for _, name := range names {
		if tool := w.tools[strings.ToLower(name)]; tool != "" {
			p.denied = append(p.denied, tool)
		} else {
			p.partly = append(p.partly, name)
		}
	}
}

// object reads opencode's rules by tool: an action, or actions by pattern.
func (w Words) object(p *prompt, rules map[string]any) {
	if rules["*"] == "deny" {
		p.listed = true
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		tool, action := w.tools[strings.ToLower(name)], rules[name]
		switch {
		case name == "*" && (action == "allow" || action == "deny"):
		case action == "allow" && tool != "":
			p.only = append(p.only, tool)
		case action == "deny" && tool != "":
			p.denied = append(p.denied, tool)
		case action == "deny" && name == "*_*":
			p.denied = append(p.denied, "mcp")
		case action != "allow":
			p.partly = append(p.partly, name+": "+compact(action))
			if tool != "" {
				p.only = append(p.only, tool)
			}
		}
	}
}

func compact(action any) string {
	if text, ok := action.(string); ok {
		return text
	}
	return string(JSON(action))
}

// serverTool is a tool of an MCP server as SERVER/TOOL; "" for another name.
func serverTool(name string) string {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		return server + "/" + tool
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok {
		server, tool, _ := strings.Cut(rest, "_")
		return server + "/" + tool
	}
	if strings.Contains(name, "/") {
		return name
	}
	return ""
}

// without are the tools that the author keeps p from, in the order of allTools.
func (p prompt) without() []string {
	return slices.DeleteFunc(slices.Clone(allTools), func(tool string) bool {
		there := !p.listed || slices.Contains(p.only, tool) || tool == "mcp" && len(p.mcp) > 0
		return there && !slices.Contains(p.denied, tool)
	})
}

// limitLines are the fields by which a program keeps p from tools; out gets what
// it cannot express.
func (p prompt) limitLines(out *Prompt, folder *spec.PromptFolder) []string {
	l, without := folder.Limits, p.without()
	lost := func(some ...string) {
		for _, tool := range some {
			if tool == "mcp" {
				tool = "tools of MCP servers"
			}
			out.Lost = append(out.Lost, tool)
		}
	}
	defer lost(p.partly...)
	switch {
	case len(p.limits) == 0:
		return nil
	case l == nil:
		lost(without...)
		return nil
	case l.Only != "" && (p.listed || l.Deny == ""):
		return []string{l.Only + ": " + string(JSON(p.allowed(l, without)))}
	case l.ReadOnly != "":
		if i := slices.Index(without, "edit"); i >= 0 {
			lost(slices.Delete(without, i, i+1)...)
			return []string{l.ReadOnly + ": " + l.ReadOnlyValue}
		}
		lost(without...)
		return nil
	}
	names := []string{}
	for _, tool := range without {
		key := tool
		if tool == "mcp" {
			key = "mcp*"
		}
		if l.Tools[key] == "" {
			lost(tool)
			continue
		}
		names = append(names, strings.Split(l.Tools[key], "|")...)
	}
	if p.listed && len(p.mcp) > 0 {
		lost("mcp")
	}
	if folder.Form != Subagent {
		return []string{l.Deny + ": " + string(JSON(names))}
	}
	lines := []string{l.Deny + ":"}
	for _, name := range names {
		lines = append(lines, "  "+quoted(name)+": deny")
	}
	return lines
}

// allowed are the names of the tools that remain without some.
func (p prompt) allowed(l *spec.ToolLimits, without []string) []string {
	names := []string{}
	for _, tool := range allTools {
		switch {
		case slices.Contains(without, tool):
		case tool != "mcp":
			if l.Tools[tool] != "" {
				names = append(names, strings.Split(l.Tools[tool], "|")...)
			}
		case !p.listed && l.Tools["mcp*"] != "":
			names = append(names, l.Tools["mcp*"])
		}
	}
	for _, s := range p.mcp {
		server, tool, _ := strings.Cut(s, "/")
		name := strings.NewReplacer("{server}", server, "{tool}", tool).Replace(l.Tools["mcp"])
		names = append(names, strings.TrimSuffix(name, "__"))
	}
	return names
}
