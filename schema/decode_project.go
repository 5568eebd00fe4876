package schema

import (
	"fmt"
	"regexp"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/spec"
)

func (n node) project(dir, file string) *spec.Project {
	p := &spec.Project{
		Name: n.getStr("name"), Pos: n.labelPos(), Dir: dir, File: file,
		Runtimes: n.get("runtimes").nameds(),
		Default:  n.getStr("default"),
		Bundles:  n.get("bundles").bundleRefs(),
		Teams:    n.get("teams").bundleRefs(),
		MCP:      n.get("mcp").mcpServers(),
		Agents:   n.get("agents").agents(n.getStr("name")),
		Settings: n.get("settings").settings(),

		NoGitHooks: !n.get("githooks").bool(true),
	}
	for _, f := range n.get("sources").fields() {
		src := spec.Source{Name: f.name(), URL: f.str(), Dir: dir, Pos: f.labelPos()}
		if kindOf(f.v) == cue.StructKind {
			src.URL, src.Scope = f.getStr("source"), f.getStr("scope")
		}
		p.Sources = append(p.Sources, src)
	}
	return p
}

func (n node) bundleRefs() []spec.BundleRef {
	var refs []spec.BundleRef
	for _, e := range n.elements() {
		ref, err := parseBundleRef(e.str())
		if err != nil && e.str() != "" {
			e.problem(err.Error(), `write "source//name", "source//." for the generic part alone, or a bare name that one source has`)
			continue
		}
		ref.Pos = e.valuePos()
		refs = append(refs, ref)
	}
	return refs
}

// parseBundleRef parses source//name or a bare name.
func parseBundleRef(s string) (spec.BundleRef, error) {
	source, name, both := strings.Cut(s, "//")
	if !both {
		source, name = "", s
	}
	wellFormed := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`).MatchString
	if both && !wellFormed(source) || !wellFormed(name) && !(both && name == ".") {
		return spec.BundleRef{}, fmt.Errorf("bad bundle %q", s)
	}
	return spec.BundleRef{Source: source, Name: name}, nil
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
