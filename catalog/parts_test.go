package catalog

import (
	"slices"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestProvedPartsAreWritten(t *testing.T) {
	parts := map[string]Part{}
	for _, p := range Parts() {
		parts[p.Name] = p
	}
	for id, proof := range proofs() {
		r, ok := With(spec.Catalog{}).Runtime(id)
		if !ok || proof.Version == "" {
			t.Errorf("proved.json: %s %q", id, proof.Version)
		}
		for _, name := range proof.User {
			if p, ok := parts[name]; !ok || first(p.User(r)) != Run {
				t.Errorf("%s: %s was seen in user scope, and nothing is written there", id, name)
			}
		}
		for _, name := range proof.Project {
			if p, ok := parts[name]; !ok || first(p.Project(r)) != Run {
				t.Errorf("%s: %s was seen in project scope, and nothing is written there", id, name)
			}
		}
	}
}

func first(l Level, _ string) Level { return l }

func TestPartWithoutPlaceIsManual(t *testing.T) {
	r := spec.Runtime{ID: "mine", User: spec.Scope{Skills: "~/.mine/skills"}}
	for _, p := range Parts() {
		want := Manual
		if p.Name == "skills" {
			want = Documented
		}
		if got := first(p.User(r)); got != want {
			t.Errorf("%s: %s, want %s", p.Name, got, want)
		}
		if got := first(p.Project(r)); got != Manual {
			t.Errorf("%s: %s in a project", p.Name, got)
		}
	}
}

func TestRuntimesAreComplete(t *testing.T) {
	var names []string
	for _, r := range Runtimes() {
		names = append(append(names, r.ID), r.Aliases...)
		if r.Local || r.Command == "" {
			continue // driven by another, or an editor, which no command starts with a prompt
		}
		if len(r.Detect.Processes) == 0 || len(r.Launch.Headless) == 0 || r.Homepage == "" {
			t.Errorf("%s: %+v", r.ID, r)
		}
		if c := r.Coordination; c.Stall < c.Nudge || c.Startup == "hook_injection" && c.Events == "no" {
			t.Errorf("%s: %+v", r.ID, c)
		}
		holds := func(args []string, word string) bool {
			return slices.ContainsFunc(args, func(a string) bool { return a == word || a == "--resume="+word })
		}
		for _, args := range [][]string{r.Launch.Interactive, r.Launch.Headless} {
			if len(args) > 0 && !holds(args, "{prompt}") {
				t.Errorf("%s: no {prompt} in %q", r.ID, args)
			}
		}
		for _, args := range [][]string{r.Session.Start, r.Session.Resume, r.Session.Fork} {
			if len(args) > 0 && !holds(args, "{id}") {
				t.Errorf("%s: no {id} in %q", r.ID, args)
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("two programs have one name: %q", names)
	}
}

// The figures of the HAL's own table; an agent of which nothing is known polls.
func TestHALTable(t *testing.T) {
	type row struct {
		events, startup, gupp, nudgeBy string
		forks                          bool
		stall, nudge                   int
	}
	for id, want := range map[string]row{
		"claude": {"yes", "hook_injection", "hook_injection", "filesystem", true, 120, 30},
		"codex":  {"no", "startup_fallback", "startup_fallback", "filesystem", false, 180, 60},
		"gemini": {"no", "polling", "polling", "filesystem", false, 300, 120},
		"cursor": {"partial", "polling", "prompt_preamble", "limited", true, 120, 30},
	} {
		r, _ := With(spec.Catalog{}).Runtime(id)
		if r.HAL == nil {
			t.Errorf("%s is not in the table", id)
			continue
		}
		if got := (row{r.HAL.Events, r.HAL.Startup, r.HAL.GUPP, r.HAL.NudgeBy, r.HAL.Forks, r.HAL.Stall, r.HAL.Nudge}); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if u := Unknown(); u.Startup != "polling" || u.GUPP != "polling" || u.Stall != 300 || u.Nudge != 120 {
		t.Errorf("unknown: %+v", u)
	}
}

func TestEntryUsesSpecFieldNames(t *testing.T) {
	for goName, want := range map[string]string{
		"DisplayName": "displayName", "IDVars": "idVars", "APIs": "apis", "HAL": "hal", "GUPP": "gupp", "JSON": "json",
		"MCP": "mcp", "Command": "command", "RulesRef": "rulesRef",
	} {
		if got := specName(goName); got != want {
			t.Errorf("%s: %s, want %s", goName, got, want)
		}
	}
}
