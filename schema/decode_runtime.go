package schema

import (
	"regexp"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func (n node) runtime() spec.Runtime {
	r := spec.Runtime{
		ID: n.name(), Pos: n.labelPos(), DisplayName: n.get("displayName").str(), Aliases: n.get("aliases").strings(),
		Homepage: n.get("homepage").str(), Command: n.get("command").str(), Packages: n.get("packages").texts(),
		Node: n.get("node").str(), Network: n.get("network").bool(false), Local: n.get("local").bool(false),
		APIs: n.get("apis").strings(), MCPSupport: n.get("mcp").bool(false), Subagents: n.get("subagents").bool(false),
		HomeVar: n.get("homeVar").str(), Hooks: n.get("hooks").str(), Tools: n.get("tools").texts(), FirstRequest: n.get("firstRequest").int(),
		Detect: n.get("detect").detect(), Session: n.get("session").session(), Launch: n.get("launch").launch(),
		Preferred: n.get("preferred").bool(false), ForModels: n.get("forModels").bool(false),
		Coordination: n.get("coordination").coordination(),
		User:         n.get("user").scope(userPath), Project: n.get("project").scope(projectPath),
	}
	for _, f := range n.get("hookEvents").fields() {
		r.HookEvents = append(r.HookEvents, spec.HookEvent{Event: f.name(), Level: f.get("level").str(), Name: f.get("name").str()})
	}
	if f := n.get("driver"); f.exists() {
		r.Driver = f.driver()
	}
	if f := n.get("worker"); f.exists() {
		r.Worker = &spec.Worker{Name: f.get("name").str(), Substrate: f.get("substrate").str(), Off: f.get("off").bool(false)}
	}
	if f := n.get("hal"); f.exists() {
		c := f.coordination()
		r.HAL = &c
	}
	for _, f := range n.get("validators").elements() {
		v := spec.Validator{
			Args: f.get("args").strings(), Proves: f.get("proves").str(), Bad: f.get("bad").str(), Needs: f.get("needs").strings(),
			Starts: f.get("starts").bool(false), InProject: f.get("inProject").bool(false),
		}
		if _, err := regexp.Compile(v.Bad); err != nil {
			f.get("bad").problem("bad regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "see https://golang.org/s/re2syntax")
		}
		r.Validators = append(r.Validators, v)
	}
	for _, f := range n.get("trust").elements() {
		t := spec.Trust{Parts: f.get("parts").strings(), Parents: f.get("parents").bool(false), Do: f.get("do").str()}
		for _, ref := range f.get("records").elements() {
			t.Records = append(t.Records, ref.reference())
		}
		r.Trust = append(r.Trust, t)
	}
	return catalog.Completed(r)
}

func (n node) detect() spec.Detect {
	d := spec.Detect{
		Processes: n.get("processes").strings(), Generic: n.get("generic").strings(),
		Scripts: n.get("scripts").strings(), Files: n.get("files").strings(),
		HALVar: n.get("halVar").str(), HALFile: n.get("halFile").str(),
	}
	for _, f := range n.get("markers").elements() {
		m := spec.Marker{Name: f.get("name").str(), Value: f.get("value").str(), Prefix: f.get("prefix").str(), Strength: f.get("strength").str()}
		if m.Value != "" && m.Prefix != "" {
			f.problem("both value and prefix", "a marker is one value, or all that start alike")
		}
		d.Markers = append(d.Markers, m)
	}
	return d
}

func (n node) session() spec.Session {
	return spec.Session{
		IDVars: n.get("idVars").strings(), Start: n.get("start").strings(), Resume: n.get("resume").strings(),
		Continue: n.get("continue").strings(), Fork: n.get("fork").strings(),
	}
}

func (n node) launch() spec.Launch {
	return spec.Launch{
		Args: n.get("args").strings(), Interactive: n.get("interactive").strings(), Headless: n.get("headless").strings(),
		JSON: n.get("json").strings(), Autonomous: n.get("autonomous").strings(), Model: n.get("model").strings(),
		Ready: n.get("ready").str(), ReadyDelay: int(n.get("readyDelay").int()),
		Reads: n.get("reads").lists(), Environment: n.get("environment").texts(), Endpoint: n.get("endpoint").texts(), Offline: n.get("offline").texts(), Sandbox: n.get("sandbox").texts(),
	}
}

func (n node) driver() *spec.Driver {
	d := &spec.Driver{
		Order: int(n.get("order").int()), File: n.get("file").str(), Text: n.get("text").str(), RulesText: n.get("rulesText").str(),
		Args: n.get("args").strings(), Environment: n.get("environment").texts(), Inline: n.get("inline").str(),
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
		Events: n.get("events").str(), Forks: n.get("forks").bool(false), SessionVar: n.get("sessionVar").str(),
		Startup: n.get("startup").str(), GUPP: n.get("gupp").str(),
		Stall: int(n.get("stall").int()), Nudge: int(n.get("nudge").int()), NudgeBy: n.get("nudgeBy").str(),
		StartupCommands: n.get("startupCommands").lists(),
	}
}

// texts is a struct of strings; nil where it has none.
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

// lists is a struct of lists of strings; nil where it has none.
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
