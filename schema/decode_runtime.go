package schema

import (
	"fmt"
	"regexp"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/variant"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/schema/spec"
)

func (n node) runtime() spec.Runtime {
	n = n.listed()
	r := n.entry()
	for _, f := range n.get("variants").elements() {
		v := spec.Variant{Versions: f.getStr("versions"), Without: f.getStrings("without"), Change: f.entry()}
		v.Change.ID, v.Change.Pos = "", spec.Position{}
		if _, err := versions.ParseRange(v.Versions); err != nil {
			f.get("versions").problem(err.Error(), "")
		}
		for _, without := range f.get("without").elements() {
			if !variant.HasField(without.str()) {
				without.problem(fmt.Sprintf("an entry has no field %s", without.str()), "name it as it stands in the entry, such as project.mcp")
			}
		}
		r.Variants = append(r.Variants, v)
	}
	return catalog.Completed(r)
}

// entry returns the fields of an entry, or of a variant of one.
func (n node) entry() spec.Runtime {
	r := spec.Runtime{
		ID: n.name(), Pos: n.labelPos(), Extends: n.getStr("extends"), DisplayName: n.getStr("displayName"), Aliases: n.getStrings("aliases"),
		Homepage: n.getStr("homepage"), Command: n.getStr("command"), Packages: n.get("packages").texts(),
		Node: n.getStr("node"), Network: n.getBool("network"), Local: n.getBool("local"), Experimental: n.getBool("experimental"),
		APIs: n.getStrings("apis"), MCPSupport: n.getBool("mcp"), Subagents: n.getBool("subagents"),
		HomeVar: n.getStr("homeVar"), Hooks: n.getStr("hooks"), Tools: n.get("tools").texts(), FirstRequest: n.get("firstRequest").int(),
		Detect: n.get("detect").detect(), Session: n.get("session").session(), Launch: n.get("launch").launch(),
		Preferred: n.getBool("preferred"), ForModels: n.getBool("forModels"),
		Coordination: n.get("coordination").coordination(),
		User:         n.get("user").scope(userPath), Project: n.get("project").scope(projectPath),
	}
	for _, f := range n.get("hookEvents").fields() {
		r.HookEvents = append(r.HookEvents, spec.HookEvent{Event: f.name(), Level: f.getStr("level"), Name: f.getStr("name")})
	}
	for _, f := range n.get("parts").fields() {
		p := spec.PartFacts{
			Part: f.name(), Versions: f.getStr("versions"), Says: f.getStr("says"), Evidence: f.getStr("evidence"),
			Version: f.getStr("version"), Source: f.getStr("source"), Date: f.getStr("date"),
		}
		if _, err := versions.ParseRange(p.Versions); err != nil {
			f.get("versions").problem(err.Error(), "")
		}
		r.Parts = append(r.Parts, p)
	}
	if f := n.get("driver"); f.exists() {
		r.Driver = f.driver()
	}
	if f := n.get("worker"); f.exists() {
		r.Worker = &spec.Worker{Name: f.getStr("name"), Substrate: f.getStr("substrate"), Off: f.getBool("off")}
	}
	if f := n.get("hal"); f.exists() {
		c := f.coordination()
		r.HAL = &c
	}
	for _, f := range n.get("validators").elements() {
		v := spec.Validator{
			Args: f.getStrings("args"), Proves: f.getStr("proves"), Bad: f.getStr("bad"), Needs: f.getStrings("needs"),
			Starts: f.getBool("starts"), InProject: f.getBool("inProject"),
		}
		if _, err := regexp.Compile(v.Bad); err != nil {
			f.get("bad").problem("bad regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "see https://golang.org/s/re2syntax")
		}
		r.Validators = append(r.Validators, v)
	}
	for _, f := range n.get("trust").elements() {
		t := spec.Trust{Parts: f.getStrings("parts"), Form: f.getStr("form"), Parents: f.getBool("parents"), Environment: f.get("environment").texts(), Do: f.getStr("do")}
		for _, ref := range f.get("records").elements() {
			t.Records = append(t.Records, ref.reference())
		}
		r.Trust = append(r.Trust, t)
	}
	if f := n.get("loads"); f.exists() {
		r.Loads = f.loads()
	}
	return r
}

func (n node) detect() spec.Detect {
	d := spec.Detect{
		Processes: n.getStrings("processes"), Generic: n.getStrings("generic"),
		Scripts: n.getStrings("scripts"), Files: n.getStrings("files"),
		HALVar: n.getStr("halVar"), HALFile: n.getStr("halFile"),
	}
	for _, f := range n.get("markers").elements() {
		m := spec.Marker{Name: f.getStr("name"), Value: f.getStr("value"), Prefix: f.getStr("prefix"), Strength: f.getStr("strength")}
		if m.Value != "" && m.Prefix != "" {
			f.problem("both value and prefix", "a marker is one value, or all that start alike")
		}
		d.Markers = append(d.Markers, m)
	}
	return d
}

func (n node) session() spec.Session {
	return spec.Session{
		IDVars: n.getStrings("idVars"), Start: n.getStrings("start"), Resume: n.getStrings("resume"),
		Continue: n.getStrings("continue"), Fork: n.getStrings("fork"), Transcripts: n.getStr("transcripts"),
	}
}

func (n node) launch() spec.Launch {
	return spec.Launch{
		Args: n.getStrings("args"), Interactive: n.getStrings("interactive"), Headless: n.getStrings("headless"),
		JSON: n.getStrings("json"), Autonomous: n.getStrings("autonomous"), Loosens: n.getStrings("loosens"), Model: n.getStrings("model"),
		Ready: n.getStr("ready"), ReadyDelay: int(n.get("readyDelay").int()), Dialogs: n.getStrings("dialogs"), Trusted: n.get("trusted").texts(),
		Reads: n.get("reads").lists(), Environment: n.get("environment").texts(), Endpoint: n.get("endpoint").texts(), Offline: n.get("offline").texts(), Sandbox: n.get("sandbox").texts(),
		Hosts: n.getStrings("hosts"), Elsewhere: n.getStrings("elsewhere"),
	}
}

func (n node) driver() *spec.Driver {
	d := &spec.Driver{
		Order: int(n.get("order").int()), File: n.getStr("file"), Text: n.getStr("text"), RulesText: n.getStr("rulesText"),
		Args: n.getStrings("args"), Environment: n.get("environment").texts(), Inline: n.getStr("inline"),
	}
	for _, f := range n.get("settings").elements() {
		d.Settings = append(d.Settings, f.reference())
	}
	if f := n.get("rules"); f.exists() {
		ref := f.reference()
		d.Rules = &ref
	}
	if d.Text != "" && (d.Settings != nil || d.Rules != nil) {
		n.get("text").problem("both text and settings", "the file is all of ours, or some settings in it are")
	}
	return d
}

func (n node) coordination() spec.Coordination {
	return spec.Coordination{
		Events: n.getStr("events"), Forks: n.getBool("forks"), SessionVar: n.getStr("sessionVar"),
		Startup: n.getStr("startup"), GUPP: n.getStr("gupp"),
		Stall: int(n.get("stall").int()), Nudge: int(n.get("nudge").int()), NudgeBy: n.getStr("nudgeBy"),
		StartupCommands: n.get("startupCommands").lists(),
	}
}

// texts reads a struct of strings; nil for an empty one.
func (n node) texts() map[string]string {
	var m map[string]string
	for _, f := range n.fields() {
		if m == nil {
			m = map[string]string{}
		}
		m[f.name()] = f.str()
	}
	return m
}

// lists reads a struct of lists of strings; nil for an empty one.
func (n node) lists() map[string][]string {
	var m map[string][]string
	for _, f := range n.fields() {
		if m == nil {
			m = map[string][]string{}
		}
		m[f.name()] = f.strings()
	}
	return m
}
