package gather

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

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
	}
	g.neutral("rule", dir+"/rules")
	g.neutral("command", dir+"/commands")
	g.neutral("agent", dir+"/subagents")
	g.skillsIn("", dir+"/skills")
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
			g.ignoreFile(list)
		}
	}
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
	if r.Description != "" {
		fmt.Fprintf(&b, "description: %s\n", jsonText(r.Description))
	}
	if len(r.Globs) > 0 && f["root"] != true {
		b.WriteString("paths:\n")
		for _, glob := range r.Globs {
			fmt.Fprintf(&b, "  - %s\n", jsonText(glob))
		}
	}
	ids, note := targetsOf(f)
	if len(ids) > 0 {
		fmt.Fprintf(&b, "runtimes: [%s]\n", strings.Join(ids, ", "))
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
	if a == "" {
		return b
	}
	return a + "; " + b
}

func jsonText(s string) string {
	b, _ := json.Marshal(s) // a string: cannot fail
	return string(b)
}
