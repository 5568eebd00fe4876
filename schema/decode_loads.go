package schema

import (
	"slices"

	"aisync.dev/aisync/schema/describe"
	"aisync.dev/aisync/schema/spec"
)

// loads reads what a program loads by itself, and checks that its parts name
// each other.
func (n node) loads() *spec.Loads {
	l := &spec.Loads{
		Rootless:    n.getStr("rootless"),
		Excludes:    n.get("excludes").loadSettings(),
		Environment: n.get("environment").loadSettings(),
	}
	for _, f := range n.get("texts").elements() {
		l.Texts = append(l.Texts, f.loadedText())
	}
	for _, f := range n.get("parts").elements() {
		l.Parts = append(l.Parts, spec.LoadedPart{
			Kind: f.getStr("kind"), Walk: f.getStr("walk"), Also: f.getStrings("also"), AtStart: f.getStrings("atStart"), Below: f.getBool("below"),
			Same: f.getStr("same"), Deep: f.getBool("deep"), Needs: f.getStrings("needs"), Source: f.getStr("source"),
		})
	}
	if f := n.get("imports"); f.exists() {
		l.Imports = &spec.TextImports{
			Depth: int(f.get("depth").int()), Within: f.getStr("within"), UserAnywhere: f.getBool("userAnywhere"),
			PerLine: f.getBool("perLine"), Source: f.getStr("source"),
		}
		for _, ref := range f.get("approval").elements() {
			l.Imports.Approval = append(l.Imports.Approval, ref.reference())
		}
	}
	for _, f := range n.get("once").elements() {
		l.Once = append(l.Once, spec.LoadedOnce{By: f.getStr("by"), Among: f.getStrings("among"), Source: f.getStr("source")})
	}
	if f := n.get("limit"); f.exists() {
		l.Limit = &spec.TextLimit{Bytes: f.get("bytes").int(), Settings: f.get("settings").loadSettings(), Source: f.getStr("source")}
	}
	for _, f := range n.get("moves").elements() {
		l.Moves = append(l.Moves, spec.Move{Variable: f.getStr("variable"), From: f.getStr("from"), To: f.getStr("to"), Source: f.getStr("source")})
	}
	for _, f := range n.get("switches").elements() {
		l.Switches = append(l.Switches, f.loadSwitch())
	}
	n.loadsRefer(l)
	return l
}

func (n node) loadedText() spec.LoadedText {
	t := spec.LoadedText{
		Name: n.getStr("name"), Kind: n.getStr("kind"), Files: n.getStrings("files"), Walk: n.getStr("walk"), Upward: n.getBool("upward"),
		Pick: n.getStr("pick"), Unless: n.getStrings("unless"), UnlessBeside: n.getStrings("unlessBeside"),
		Imports: n.getBool("imports"), Limited: n.getBool("limited"), DropsComments: n.getBool("dropsComments"), RealFiles: n.getBool("realFiles"),
		Source: n.getStr("source"),
	}
	if f := n.get("named"); f.exists() {
		t.Named = &spec.NamedFiles{Settings: f.get("settings").loadSettings(), All: f.getBool("all"), Replaces: f.getBool("replaces")}
	}
	if f := n.get("scope"); f.exists() {
		g := f.get("globs")
		t.Scope = &spec.RuleScope{
			Field: f.getStr("field"), Always: f.getStr("always"), OnRequest: f.getStr("onRequest"), Whole: f.getStrings("whole"), Asked: f.getStrings("asked"),
			Globs: spec.Globs{Syntax: g.getStr("syntax"), AnyName: g.getBool("anyName"), Dot: g.getBool("dot"), Commas: g.getBool("commas")},
		}
	}
	where := projectPath
	if t.Walk == spec.WalkUser {
		where = userPath
	}
	for _, f := range n.get("files").elements() {
		if f.glob(); !where(f.str()) {
			f.problem("path "+describe.Text(f.v)+" leaves its walk", "paths of the walk user start with ~/, all others are relative; neither holds ..")
		}
	}
	if len(t.Files) == 0 && t.Named == nil {
		n.problem("neither files nor named", "name the files, or the settings that do")
	}
	return t
}

func (n node) loadSettings() []spec.LoadSetting {
	var list []spec.LoadSetting
	for _, f := range n.elements() {
		list = append(list, f.loadSetting())
	}
	return list
}

func (n node) loadSetting() spec.LoadSetting {
	return spec.LoadSetting{
		Path: n.getStr("path"), Format: n.getStr("format"), Pointer: n.getStr("pointer"),
		Walk: n.getStr("walk"), Trusted: n.getBool("trusted"),
	}
}

func (n node) loadSwitch() spec.LoadSwitch {
	s := spec.LoadSwitch{
		Variable: n.getStr("variable"), Without: n.getStr("without"), Off: n.getStrings("off"), Lifts: n.getStrings("lifts"), Drops: n.getStrings("drops"),
		Why: n.getStr("why"), Source: n.getStr("source"),
	}
	if f := n.get("setting"); f.exists() {
		setting := f.loadSetting()
		s.Setting = &setting
	}
	if f := n.get("value"); f.exists() {
		s.JSON = f.json()
	}
	if (s.Setting == nil) != (s.JSON == nil) || s.Setting == nil && s.Variable == "" {
		n.problem("a switch of nothing", "name a variable, or a setting and its value")
	}
	return s
}

// loadsRefer checks that names of texts are unique, and that what refers to one finds it.
func (n node) loadsRefer(l *spec.Loads) {
	var texts, all []string
	for i, t := range l.Texts {
		if slices.Contains(texts, t.Name) {
			n.get("texts").elements()[i].get("name").problem("a second text "+t.Name, "give each text another name")
		}
		texts = append(texts, t.Name)
	}
	all = slices.Clone(texts)
	for i, p := range l.Parts {
		if slices.Contains(all, p.Kind) {
			n.get("parts").elements()[i].get("kind").problem("a second entry for "+p.Kind, "one entry says how the program finds them")
		}
		all = append(all, p.Kind)
	}
	check := func(list node, known []string) {
		for _, f := range list.elements() {
			if !slices.Contains(known, f.str()) {
				f.problem("unknown text "+describe.Text(f.v), "name a text, or a kind of parts")
			}
		}
	}
	for _, f := range n.get("texts").elements() {
		check(f.get("unless"), texts)
		check(f.get("unlessBeside"), texts)
	}
	for _, f := range n.get("switches").elements() {
		check(f.get("off"), all)
		check(f.get("lifts"), texts)
	}
}
