package schema

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"aisync.dev/aisync/schema/describe"
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
		ID: n.name(), Pos: n.labelPos(), License: n.getStr("license"), Context: n.get("context").int(),
		Params: n.getStr("params"), Homepage: n.getStr("homepage"), Chat: n.getStr("chat"),
	}
	for _, q := range n.get("quants").fields() {
		quant := spec.Quant{Name: q.name(), Repo: q.getStr("repo"), Revision: q.getStr("revision")}
		for _, f := range q.get("files").elements() {
			file := spec.ModelFile{
				Path: f.getStr("path"), Size: f.get("size").int(), SHA256: f.getStr("sha256"),
				Repo: f.getStr("repo"), Revision: f.getStr("revision"), Sources: f.getStrings("sources"),
			}
			switch {
			case file.Repo == "" && len(file.Sources) == 0:
				f.problem("neither repo nor sources", "name the source of the file")
			case file.Repo == "" && file.SHA256 == "" && !file.InRegistry():
				f.problem("sha256 is missing", "only a file from a repo, or from oci://, may leave it out: the hub and the registry know it")
			case file.Repo == "" && file.Revision != "":
				f.get("revision").problem("a revision without a repo", "it is a branch, tag or commit of repo")
			}
			quant.Files = append(quant.Files, file)
		}
		switch {
		case len(quant.Files) == 0 && quant.Repo == "":
			q.problem("no files", "a quantization is one file, or its shards in order, or the repo that has it")
		case len(quant.Files) > 0 && quant.Repo != "":
			q.get("repo").problem("both files and a repo that finds them", "name the repo of each file, or leave the files out")
		case quant.Repo == "" && quant.Revision != "":
			q.get("revision").problem("a revision without a repo", "it is a branch, tag or commit of repo")
		}
		m.Quants = append(m.Quants, quant)
	}
	sort.Slice(m.Quants, func(i, j int) bool {
		a, b := m.Quants[i], m.Quants[j]
		return cmp.Or(cmp.Compare(a.Size(), b.Size()), strings.Compare(a.Name, b.Name)) < 0
	})
	return m
}

// scope reads one scope; where reports whether it allows a path.
func (n node) scope(where func(string) bool) spec.Scope {
	n = n.listed()
	in := func(f node) string {
		s := f.str()
		if s != "" && !where(s) {
			f.problem("path "+describe.Text(f.v)+" leaves its scope", "user paths start with ~/, project paths are relative; neither holds ..")
		}
		return s
	}
	paths := func(f node) []string {
		var list []string
		for _, e := range f.elements() {
			list = append(list, in(e))
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
		Dir: in(n.get("dir")), Rules: in(n.get("rules")), RulesForm: n.getStr("rulesForm"),
		RulesAlso: n.getStrings("rulesAlso"), RulesBlock: in(n.get("rulesBlock")),
		RulesKept: in(n.get("rulesKept")), Skills: in(n.get("skills")), SkillsAlso: n.getStrings("skillsAlso"),
		Hooks: in(n.get("hooks")), Instructions: paths(n.get("instructions")), Imports: n.getStr("imports"), Follows: n.getStrings("follows"),
		Trust: references(n.get("trust")), Always: references(n.get("always")), Endpoint: references(n.get("endpoint")),
	}
	if index := in(n.get("rulesIndex")); index != "" { // the folder is only named there, not loaded
		s.RulesBlock, s.RulesKept, s.Rules = index, s.Rules, ""
	}
	for name, to := range map[string]**spec.Reference{"rulesRef": &s.RulesRef, "blockRef": &s.BlockRef} {
		if f := n.get(name); f.exists() {
			ref := f.reference()
			*to = &ref
		}
	}
	s.Ignore = in(n.get("ignore"))
	for name, to := range map[string]**spec.PromptFolder{"commands": &s.Commands, "agents": &s.Agents} {
		if f := n.get(name); f.exists() {
			*to = f.promptFolder(in(f.get("path")))
		}
	}
	if f := n.get("events"); f.exists() {
		s.Events = &spec.EventsFile{
			Path: in(f.get("path")), Format: f.getStr("format"), Pointer: f.getStr("pointer"), Shape: f.getStr("shape"),
			Also: f.getStrings("also"), Program: f.getStr("program"), Millis: f.getBool("millis"), Refuses: f.getStrings("refuses"), Starts: f.getStr("starts"), Always: references(f.get("always")),
		}
	}
	if f := n.get("permissions"); f.exists() {
		s.Permissions = &spec.PermissionsFile{Path: in(f.get("path")), Format: f.getStr("format"), Pointer: f.getStr("pointer"), Shape: f.getStr("shape")}
	}
	if f := n.get("importsApart"); f.exists() {
		s.ImportsApart = &spec.FileLine{Path: in(f.get("path")), Line: f.getStr("line")}
	}
	for _, l := range n.get("lines").elements() {
		s.Lines = append(s.Lines, spec.FileLine{Path: in(l.get("path")), Line: l.getStr("line")})
	}
	if f := n.get("blockLimit"); f.exists() {
		s.BlockLimit = &spec.BlockLimit{Bytes: f.get("bytes").int(), Setting: f.reference()}
	}
	for field, to := range map[string]**spec.SettingsFile{"settings": &s.Settings, "settingsOwn": &s.SettingsOwn} {
		if f := n.get(field); f.exists() {
			*to = &spec.SettingsFile{
				Path: in(f.get("path")), Format: f.getStr("format"), Sets: f.getStrings("sets"), Hooks: f.getStr("hooks"),
				Also: f.getStrings("also"),
			}
		}
	}
	if f := n.get("mcp"); f.exists() {
		s.MCP = f.mcpFile(in(f.get("path")))
	}
	if f := n.get("mcpOwn"); f.exists() {
		s.MCPOwn = f.mcpFile(f.getStr("path")) // in either scope
	}
	for _, f := range n.get("obeys").elements() {
		s.Obeys = append(s.Obeys, f.obeyed(where))
	}
	return s
}

func (n node) mcpFile(at string) *spec.MCPFile {
	return &spec.MCPFile{
		Path: at, Format: n.getStr("format"), Pointer: n.getStr("pointer"), Shape: n.getStr("shape"), SecretEnv: n.getStr("secretEnv"),
		SecretFile: n.getStr("secretFile"), Workspace: n.getStr("workspace"), Fields: n.get("fields").texts(),
	}
}

func (n node) promptFolder(at string) *spec.PromptFolder {
	folder := &spec.PromptFolder{Path: at, Form: n.getStr("form"), Fields: n.get("fields").texts(), Models: n.get("models").texts(), Words: n.getStr("words")}
	if f := n.get("limits"); f.exists() {
		folder.Limits = &spec.ToolLimits{
			Tools: f.get("tools").texts(), Also: f.get("also").texts(), Only: f.getStr("only"), Deny: f.getStr("deny"),
			ReadOnly: f.getStr("readOnly"), ReadOnlyValue: f.getStr("readOnlyValue"),
		}
	}
	return folder
}

func (n node) reference() spec.Reference {
	return spec.Reference{
		Path: n.getStr("path"), Format: n.getStr("format"), Pointer: n.getStr("pointer"), JSON: n.get("value").json(), SecretEnv: n.getStr("secretEnv"), SecretFile: n.getStr("secretFile"),
		Theirs: n.getStrings("theirs"),
	}
}

func userPath(p string) bool {
	return strings.HasPrefix(p, "~/") && !climbs(p)
}

func projectPath(p string) bool {
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !climbs(p)
}

// climbs reports whether p contains a parent folder.
func climbs(p string) bool {
	return slices.Contains(strings.Split(p, "/"), "..")
}

// obeyed reads one element of obeys; where reports whether a path lies in its
// scope.
func (n node) obeyed(where func(string) bool) spec.Obeyed {
	o := spec.Obeyed{
		Files: n.get("files").globs(), Format: n.getStr("format"), Source: n.getStr("source"), Local: n.getBool("local"), Reads: n.get("reads").globs(),
		Safe: n.get("safe").globs(), Paths: n.get("paths").globs(), Prompts: n.get("prompts").globs(), Restricts: n.get("restricts").globs(),
	}
	if len(o.Files) == 0 && n.get("files").exists() {
		n.get("files").problem("no files", "name the files that the program reads")
	}
	for _, f := range n.get("files").elements() {
		if !where(f.str()) {
			f.problem("path "+describe.Text(f.v)+" leaves its scope", "user paths start with ~/, project paths are relative; neither holds ..")
		}
	}
	for _, f := range n.get("safeValues").elements() {
		o.SafeValues = append(o.SafeValues, spec.SafeValues{Key: f.get("key").glob(), Values: f.getStrings("values")})
	}
	for _, f := range n.get("restricts").elements() {
		same := func(s spec.SafeValues) bool { return s.Key == f.str() }
		if !slices.Contains(o.Safe, f.str()) && !slices.ContainsFunc(o.SafeValues, same) {
			f.problem("restricts names a setting that is not safe", "add "+describe.Text(f.v)+" to safe or safeValues")
		}
	}
	for _, f := range n.get("ignored").elements() {
		o.Ignored = append(o.Ignored, spec.Ignored{Key: f.get("key").glob(), Why: f.getStr("why"), Values: f.getStrings("values")})
	}
	whole := o.Format == "code" || o.Format == "text"
	for _, f := range n.get("effects").elements() {
		rule := spec.EffectRule{
			Key: f.get("key").glob(), Has: f.getStr("has"), Class: f.getStr("class"), Says: f.getStr("says"), Values: f.get("values").globs(),
		}
		switch {
		case whole && rule.Key != "":
			f.get("key").problem("a key in a file of format "+o.Format, `write "": each file is one effect`)
		case !whole && rule.Key == "":
			f.problem("no key", "name the setting by its pointer, such as /hooks")
		}
		f.get("says").placeholders(wildcards(rule.Key))
		o.Effects = append(o.Effects, rule)
	}
	if whole && len(o.Reads)+len(o.Safe)+len(o.SafeValues)+len(o.Paths)+len(o.Prompts)+len(o.Ignored) > 0 {
		n.get("format").problem("settings in a file of format "+o.Format, "leave reads, safe, safeValues, paths and ignored out: the file as a whole is the effect")
	}
	if whole && len(o.Effects) == 0 {
		n.problem("no effects", "describe what the program does with the file")
	}
	return o
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// placeholders refuses unknown placeholders in n, where the key of the rule has
// count wildcards.
func (n node) placeholders(count int) {
	for _, p := range placeholder.FindAllString(n.str(), -1) {
		i, err := strconv.Atoi(strings.Trim(p, "{}"))
		if p != "{file}" && p != "{value}" && (err != nil || i < 1 || i > count) {
			n.problem("unknown placeholder "+p, "write {file}, {value}, or {1} for the first segment of key with a wildcard")
		}
	}
}

// wildcards counts the segments of key that match more than one name.
func wildcards(key string) int {
	count := 0
	for segment := range strings.SplitSeq(key, "/") {
		if strings.ContainsAny(segment, "*?[") {
			count++
		}
	}
	return count
}

func (n node) globs() []string {
	var list []string
	for _, e := range n.elements() {
		list = append(list, e.glob())
	}
	return list
}

// glob reads a pattern whose segments are valid for path.Match.
func (n node) glob() string {
	s := n.str()
	for segment := range strings.SplitSeq(s, "/") {
		if _, err := path.Match(segment, ""); err != nil {
			n.problem("bad pattern "+describe.Text(n.v), "* stands for anything within a segment; \\ escapes a character")
			break
		}
	}
	return s
}
