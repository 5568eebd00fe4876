package schema

import (
	"cmp"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

func (n node) catalog() spec.Catalog {
	var c spec.Catalog
	for _, f := range n.get("runtimes").fields() {
		c.Runtimes = append(c.Runtimes, f.runtime())
	}
	for _, f := range n.get("models").fields() {
		c.Models = append(c.Models, f.model())
	}
	return c
}

func (n node) model() spec.Model {
	m := spec.Model{
		ID: n.name(), Pos: n.labelPos(), License: n.get("license").str(), Context: n.get("context").int(),
		Params: n.get("params").str(), Homepage: n.get("homepage").str(), Chat: n.get("chat").str(),
	}
	for _, q := range n.get("quants").fields() {
		quant := spec.Quant{Name: q.name(), Repo: q.get("repo").str(), Revision: q.get("revision").str()}
		for _, f := range q.get("files").elements() {
			file := spec.ModelFile{
				Path: f.get("path").str(), Size: f.get("size").int(), SHA256: f.get("sha256").str(),
				Repo: f.get("repo").str(), Revision: f.get("revision").str(), Sources: f.get("sources").strings(),
			}
			switch {
			case file.Repo == "" && len(file.Sources) == 0:
				f.problem("neither repo nor sources", "say where the file comes from")
			case file.Repo == "" && file.SHA256 == "" && !file.InRegistry():
				f.problem("sha256 is missing", "only a file from a repo, or from oci://, may leave it out: the hub and the registry know it")
			case file.Repo == "" && file.Revision != "":
				f.get("revision").problem("a revision of no repo", "it is a branch, tag or commit of repo")
			}
			quant.Files = append(quant.Files, file)
		}
		switch {
		case len(quant.Files) == 0 && quant.Repo == "":
			q.problem("no files", "a quantization is one file, or its shards in order, or the repo that has it")
		case len(quant.Files) > 0 && quant.Repo != "":
			q.get("repo").problem("both files and a repo that finds them", "name the repo of each file, or leave the files out")
		case quant.Repo == "" && quant.Revision != "":
			q.get("revision").problem("a revision of no repo", "it is a branch, tag or commit of repo")
		}
		m.Quants = append(m.Quants, quant)
	}
	slices.SortFunc(m.Quants, func(a, b spec.Quant) int {
		return cmp.Or(cmp.Compare(a.Size(), b.Size()), strings.Compare(a.Name, b.Name))
	})
	return m
}

// scope reads one scope; where says whether a path may be written to in it.
func (n node) scope(where func(string) bool) spec.Scope {
	path := func(f node) string {
		s := f.str()
		if s != "" && !where(s) {
			f.problem("path "+text(f.v)+" leaves its scope", "user paths start with ~/, project paths are relative; neither holds ..")
		}
		return s
	}
	paths := func(f node) []string {
		var list []string
		for _, e := range f.elements() {
			list = append(list, path(e))
		}
		return list
	}
	references := func(f node) []spec.Reference {
		var list []spec.Reference
		for _, e := range f.elements() {
			list = append(list, e.reference())
		}
		return list
	}
	s := spec.Scope{
		Dir: path(n.get("dir")), Rules: path(n.get("rules")), RulesForm: n.get("rulesForm").str(),
		RulesAlso: n.get("rulesAlso").strings(), RulesBlock: path(n.get("rulesBlock")),
		RulesIndex: path(n.get("rulesIndex")), RulesKept: path(n.get("rulesKept")), Skills: path(n.get("skills")), SkillsAlso: n.get("skillsAlso").strings(),
		Hooks: path(n.get("hooks")), Instructions: paths(n.get("instructions")), Imports: n.get("imports").str(), Follows: n.get("follows").strings(),
		Trust: references(n.get("trust")), Always: references(n.get("always")), Endpoint: references(n.get("endpoint")),
	}
	for name, to := range map[string]**spec.Reference{"rulesRef": &s.RulesRef, "blockRef": &s.BlockRef} {
		if f := n.get(name); f.exists() {
			ref := f.reference()
			*to = &ref
		}
	}
	s.Ignore = path(n.get("ignore"))
	for name, to := range map[string]**spec.PromptFolder{"commands": &s.Commands, "agents": &s.Agents} {
		if f := n.get(name); f.exists() {
			*to = &spec.PromptFolder{Path: path(f.get("path")), Form: f.get("form").str()}
		}
	}
	if f := n.get("events"); f.exists() {
		s.Events = &spec.EventsFile{
			Path: path(f.get("path")), Format: f.get("format").str(), Pointer: f.get("pointer").str(), Shape: f.get("shape").str(),
			Also: f.get("also").strings(), Program: f.get("program").str(), Millis: f.get("millis").bool(false), Always: references(f.get("always")),
		}
	}
	if f := n.get("permissions"); f.exists() {
		s.Permissions = &spec.PermissionsFile{Path: path(f.get("path")), Format: f.get("format").str(), Pointer: f.get("pointer").str(), Shape: f.get("shape").str()}
	}
	if f := n.get("importsApart"); f.exists() {
		s.ImportsApart = &spec.ImportLine{Path: path(f.get("path")), Line: f.get("line").str()}
	}
	if f := n.get("blockLimit"); f.exists() {
		s.BlockLimit = &spec.BlockLimit{Bytes: f.get("bytes").int(), Setting: f.reference()}
	}
	if f := n.get("settings"); f.exists() {
		s.Settings = &spec.SettingsFile{
			Path: path(f.get("path")), Format: f.get("format").str(), Sets: f.get("sets").strings(), Hooks: f.get("hooks").str(),
		}
	}
	if f := n.get("mcp"); f.exists() {
		s.MCP = &spec.MCPFile{
			Path: path(f.get("path")), Format: f.get("format").str(), Pointer: f.get("pointer").str(), Shape: f.get("shape").str(),
			SecretEnv: f.get("secretEnv").str(), SecretFile: f.get("secretFile").str(),
		}
	}
	return s
}

func (n node) reference() spec.Reference {
	return spec.Reference{
		Path: n.get("path").str(), Format: n.get("format").str(), Pointer: n.get("pointer").str(), JSON: n.get("value").json(),
	}
}

func userPath(p string) bool {
	return strings.HasPrefix(p, "~/") && !climbs(p)
}

func projectPath(p string) bool {
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !climbs(p)
}

// climbs reports whether p goes through a parent folder.
func climbs(p string) bool {
	return slices.Contains(strings.Split(p, "/"), "..")
}
