package start

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// hostSpec returns a starter spec of the machine with facts f and these
// runtimes, with examples as comments for what aisync cannot know.
func hostSpec(name string, f facts.Facts, runtimes []spec.Runtime, models []spec.Model) []byte {
	var b strings.Builder
	q := strconv.Quote(name)
	fmt.Fprintf(&b, `package aisync

// The AI coding setup of this machine. aisync plan shows what it would change.
hosts: %s: {
	match: {hostname: %s} // also: cpu, product (regular expressions), memoryGiB: >=60

`, q, strconv.Quote(f.Hostname))
	b.WriteString("\t// The agent programs; {install: {via: \"npm\"}} installs one that is missing.\n\truntimes: {\n")
	for _, r := range runtimes {
		where := "not found on this machine"
		if at := f.Programs[r.Command]; at != "" && r.Command != "" {
			where = "found at " + comment(at)
		}
		fmt.Fprintf(&b, "\t\t%s: {} // %s\n", cli.Label(r.ID), where)
	}
	if len(runtimes) == 0 {
		b.WriteString("\t\t// none found on this machine; such as:\n\t\t// claude: {install: {via: \"npm\"}}\n")
	}
	b.WriteString("\t}\n")
	if len(runtimes) > 0 {
		fmt.Fprintf(&b, "\tdefault: %s\n", strconv.Quote(runtimes[0].ID))
	}
	b.WriteString(`
	// Your own rules, skills and hooks for all of them, from a folder or a git
	// repository: bundles: core: {source: "~/rulesets", parts: ["rules",
	// "skills", "hooks"]}

	// Merged into a program's own settings file; every other key in it stays as
	// it is: settings: claude: {permissions: {allow: ["Bash(make test)"]}}

`)
	fmt.Fprintf(&b, "\tstore: \"~/.local/share/llm/models\" // the folder of the models\n\n\t// %s\n", comment(memoryLine(f)))
	if m, choice, ok := hosts.Recommend(models, f); ok {
		fmt.Fprintf(&b, "\t// %s\n\t// models: %s: {quant: \"auto\"}\n", comment(recommendation(m, choice)), strconv.Quote(m.ID))
	} else {
		b.WriteString("\t// No model of the catalog fits; see aisync facts.\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// recommendation names the model that fits, its download size and the reason.
func recommendation(m spec.Model, choice hosts.Choice) string {
	text := "The best model of the catalog that fits: " + m.ID + " at " + choice.Quant
	for _, quant := range m.Quants {
		if quant.Name == choice.Quant {
			text += ", " + quantity.Bytes(quant.Size()) + " to fetch"
		}
	}
	if choice.Reason != "" {
		text += " (" + choice.Reason + ")"
	}
	return text + "."
}

func memoryLine(f facts.Facts) string {
	if f.Memory.Total == 0 {
		return "The memory of this machine is unknown."
	}
	text := "This machine has " + quantity.Memory(f.Memory.Total) + " of memory"
	for _, g := range f.GPUs {
		text += ", " + gpuText(g, quantity.Memory)
	}
	return text + "."
}

// projectSpec returns a starter spec of the project name, with an example for a source
// if from is nil.
func projectSpec(name string, runtimes []string, why string, from *fromSource) []byte {
	sources := `	// sources: {rulesets: "git::https://example.org/me/rulesets.git?ref=v1"}
	// bundles: ["rulesets//python"] // a language of it
	// teams:   ["rulesets//myteam"] // what one team adds
`
	if from != nil {
		sources = from.lines()
	}
	ids := make([]string, len(runtimes))
	for i, id := range runtimes {
		ids[i] = strconv.Quote(id)
	}
	return []byte(fmt.Sprintf(`package aisync

// The agent setup of this project, the same on every machine that checks it out.
project: {
	name:     %s
	runtimes: [%s] // %s

	// Where bundles come from: a folder, git::URL?ref=…, or the URL of an archive.
%s
	// mcp: notes: {command: "python3", args: ["tools/notes_mcp.py"]}

	// agents: sessions: true // .ai/: shared session files of the agents in this project
}
`, strconv.Quote(name), strings.Join(ids, ", "), why, sources))
}

// chosen returns the runtimes with these ids; none: those installed.
func chosen(ids []string, f facts.Facts) []spec.Runtime {
	if len(ids) == 0 {
		return installed(f, catalog.Runtimes())
	}
	var out []spec.Runtime
	for _, id := range ids {
		if r, ok := catalog.With(spec.Catalog{}).Runtime(id); ok && !slices.ContainsFunc(out, func(o spec.Runtime) bool { return o.ID == r.ID }) {
			out = append(out, r)
		}
	}
	return out
}

// installed returns the runtimes whose programs are on the machine.
func installed(f facts.Facts, runtimes []spec.Runtime) []spec.Runtime {
	return slices.DeleteFunc(slices.Clone(runtimes), func(r spec.Runtime) bool { return r.Command == "" || f.Programs[r.Command] == "" })
}

// comment returns s on one line, for a comment.
func comment(s string) string { return strings.ReplaceAll(termtext.Safe(s), "\n", " ") }
