package schema

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/spec"
)

func (n node) project(dir, file string) *spec.Project {
	p := &spec.Project{
		Name: n.getStr("name"), Pos: n.labelPos(), Dir: dir, File: file,
		Runtimes:     n.get("runtimes").nameds(),
		Default:      n.getStr("default"),
		Experimental: n.getBool("experimental"),
		Bundles:      n.get("bundles").bundleRefs(),
		Teams:        n.get("teams").bundleRefs(),
		Places:       n.get("places").places(),
		Nested:       n.get("nested").nestings(),
		MCP:          n.get("mcp").mcpServers(),
		Agents:       n.get("agents").agents(n.getStr("name")),
		Settings:     n.get("settings").settings(),
		Context:      n.get("context").budgets(),

		NoGitHooks: !n.get("githooks").bool(true),
	}
	p.Sources = n.sources(dir, dir)
	return p
}

// budgets reads tokens with or without the suffix k, a thousand.
func (n node) budgets() []spec.ContextBudget {
	var out []spec.ContextBudget
	for _, f := range n.fields() {
		most := f.get("max")
		b := spec.ContextBudget{Runtime: f.name(), Max: int(most.int()), Text: most.str(), Pos: most.valuePos()}
		if k, ok := strings.CutSuffix(b.Text, "k"); ok {
			thousands, err := strconv.ParseFloat(k, 64)
			if err == nil && thousands >= 1e9 {
				most.problem("more tokens than any program has", "write a number such as \"20k\"")
			}
			b.Max = int(thousands * 1000)
		} else {
			b.Text = strconv.Itoa(b.Max)
		}
		out = append(out, b)
	}
	return out
}

func (n node) bundleRefs() []spec.BundleRef {
	var refs []spec.BundleRef
	for _, e := range n.elements() {
		ref, err := spec.ParseBundleRef(e.str())
		if err != nil && e.str() != "" {
			e.problem(err.Error(), `write "source//name", "source//." for the generic part alone, or a bare name that one source has`)
			continue
		}
		ref.Pos = e.valuePos()
		refs = append(refs, ref)
	}
	return refs
}

// agents reads the coordination systems. A task queue without a name is named
// like the project.
func (n node) agents(project string) spec.Agents {
	if !n.exists() {
		return spec.Agents{}
	}
	a := spec.Agents{
		Sessions: n.get("sessions").flag(), Ledger: n.get("ledger").flag(), Runs: n.get("runs").flag(),
		Track: n.getBool("track"), Pos: n.labelPos(),
	}
	tasks := n.get("tasks")
	a.Tasks = tasks.flag()
	if tasks.exists() && kindOf(tasks.v) == cue.StructKind {
		a.Tasks = spec.Flag{On: true, Pos: tasks.labelPos()}
		a.Queues = tasks.getStrings("queues")
		if len(a.Queues) == 0 && tasks.get("queues").exists() {
			tasks.get("queues").problem("no queue", "name one, or write tasks: true for one named like the project")
		}
	} else if a.Tasks.On {
		a.Queues = []string{project}
	}
	return a
}
