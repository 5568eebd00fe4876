package gather

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/frontmatter"
)

// targetIDs maps the names of rulesync and ruler to runtimes.
// https://github.com/dyoshikawa/rulesync,
// https://github.com/intellectronica/ruler
var targetIDs = map[string]string{
	"claudecode": "claude", "claude": "claude", "codexcli": "codex", "codex": "codex", "opencode": "opencode",
	"geminicli": "gemini", "gemini-cli": "gemini", "cursor": "cursor", "copilot": "copilot", "copilotcli": "copilot",
	"qwencode": "qwen", "qwen": "qwen", "pi": "pi", "aider": "aider", "goose": "goose", "amp": "amp",
}

// rulesync reads .rulesync and rulesync.jsonc. Its sources are neutral like
// ours; its blocks for one program are left out.
func (g *gatherer) rulesync() {
	const dir = ".rulesync"
	if o, ok := g.firstConfig("rulesync.local.jsonc", "rulesync.jsonc"); ok {
		for _, t := range textsOf(o["targets"]) {
			g.target(t, "rulesync.jsonc")
		}
		g.targetObject(o["targets"])
	}
	g.neutral("rule", dir+"/rules")
	g.neutral("command", dir+"/commands")
	g.neutral("agent", dir+"/subagents")
	g.neutralSkills(dir + "/skills")
	for i, s := range g.skills {
		for j, f := range s.files {
			if f.Path == "SKILL.md" {
				g.skills[i].files[j].Text, _ = limited(f.Text)
			}
		}
	}
	if o, ok := g.firstConfig(dir+"/mcp.jsonc", dir+"/mcp.json"); ok {
		g.servers("", g.found(dir+"/mcp.jsonc", dir+"/mcp.json"), o["mcpServers"])
	}
	g.rulesyncHooks(g.found(dir+"/hooks.jsonc", dir+"/hooks.json"))
	g.rulesyncPermissions(g.found(dir+"/permissions.jsonc", dir+"/permissions.json"))
	for _, list := range []string{".rulesync/.aiignore", ".rulesyncignore"} {
		if g.isFile(list) {
			g.ignoreFile("", list)
		}
	}
	g.generated()
	g.rest(dir, "rules", "commands", "subagents", "skills", "hooks", "mcp.jsonc", "mcp.json", "hooks.jsonc", "hooks.json", "permissions.jsonc", "permissions.json", ".aiignore")
}

// found is the first of names that exists.
func (g *gatherer) found(names ...string) string {
	for _, n := range names {
		if g.isFile(n) {
			return n
		}
	}
	return names[0]
}

func (g *gatherer) firstConfig(names ...string) (object, bool) { return g.config(g.found(names...)) }

func (g *gatherer) target(name, from string) {
	if id := targetIDs[name]; id != "" {
		g.runtime(id)
	} else if name != "*" && name != "agentsmd" && name != "agentsskills" {
		g.keep(from+", target "+name, "aisync has no such runtime")
	}
}

// targetObject reads targets with features: those that are off for one program
// are named, since a bundle has them for each of its items.
func (g *gatherer) targetObject(targets any) {
	o, _ := targets.(object)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if o[name] == false {
			continue
		}
		g.target(name, "rulesync.jsonc")
		var off []string
		features, _ := o[name].(object)
		for _, f := range slices.Sorted(maps.Keys(features)) {
			if features[f] == false {
				off = append(off, f)
			}
		}
		if len(off) > 0 && targetIDs[name] != "" {
			g.keep("rulesync.jsonc, target "+name, strings.Join(off, ", ")+" off for it; in a bundle, runtimes in the front matter of an item say whom it is for")
		}
	}
}

// generated names the programs in use by the files that rulesync and ruler wrote
// for them, where their settings name none.
func (g *gatherer) generated() {
	if len(g.out.Runtimes) > 0 {
		return
	}
	for _, rt := range catalog.Runtimes() {
		s, _ := g.scope(rt.ID)
		at := []string{s.Dir, s.Rules}
		if s.Dir == ".github" {
			at[0] = ""
		}
		if s.MCP != nil {
			at = append(at, s.MCP.Path)
		}
		if s.Settings != nil {
			at = append(at, s.Settings.Path)
		}
		for _, p := range at {
			if _, err := g.root.Lstat(g.at(p)); p != "" && err == nil {
				g.runtime(rt.ID)
			}
		}
	}
}

// neutral collects the texts of a folder whose front matter names targets.
func (g *gatherer) neutral(what, dir string) {
	for _, rel := range g.walk(dir) {
		from := path.Join(dir, rel)
		content, _, ok := g.read(from)
		if base, md := withSuffix(rel, ".md"); !md || !ok {
			g.keep(from, "no "+what+" by its name")
		} else {
			note := ""
			if what == "rule" {
				content, note = ruleOf(content)
			} else {
				content, note = limited(content)
			}
			g.texts = append(g.texts, text{what: what, from: from, rel: base + ".md", content: content, note: note})
		}
	}
}

// ruleOf writes the front matter of a rule with the fields of our rules. The
// text below it keeps its bytes.
func ruleOf(content []byte) ([]byte, string) {
	front, body, ok, err := frontmatter.Split(content)
	if !ok || err != nil {
		return content, ""
	}
	r, err := frontmatter.ReadRule(content)
	f, perr := frontmatter.Parse(front)
	if err != nil || perr != nil {
		return content, ""
	}
	var b strings.Builder
	ids, note := targetsOf(f)
	if len(ids) > 0 {
		fmt.Fprintf(&b, "runtimes: [%s]\n", strings.Join(ids, ", "))
	}
	if r.Description != "" {
		fmt.Fprintf(&b, "description: %s\n", jsonText(r.Description))
	}
	if len(r.Globs) > 0 && f["root"] != true {
		b.WriteString("paths:\n")
		for _, glob := range r.Globs {
			fmt.Fprintf(&b, "  - %s\n", jsonText(glob))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if targetIDs[key] != "" {
			note = joinNotes(note, "its block for "+key+" is left out")
		}
	}
	if b.Len() == 0 {
		return body, note
	}
	return slices.Concat([]byte("---\n"+b.String()+"---\n"), body), note
}

// limited adds the runtimes of a skill, command or agent whose targets are not
// all; every other byte stays.
func limited(content []byte) ([]byte, string) {
	front, _, ok, err := frontmatter.Split(content)
	if !ok || err != nil {
		return content, ""
	}
	f, err := frontmatter.Parse(front)
	if err != nil {
		return content, ""
	}
	ids, note := targetsOf(f)
	if len(ids) == 0 || f["runtimes"] != nil {
		return content, note
	}
	at := strings.Index(string(content), "\n") + 1
	return slices.Concat(content[:at], []byte("runtimes: ["+strings.Join(ids, ", ")+"]\n"), content[at:]), note
}

// targetsOf are the runtimes that front matter limits a text to; none: all.
func targetsOf(f frontmatter.Fields) (ids []string, note string) {
	for _, t := range f.List("targets") {
		switch id := targetIDs[t]; {
		case t == "*":
			return nil, ""
		case id != "":
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		default:
			note = joinNotes(note, "aisync has no runtime "+t)
		}
	}
	slices.Sort(ids)
	return ids, note
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func jsonText(s string) string {
	b, _ := json.Marshal(s) // a string: cannot fail
	return string(b)
}
