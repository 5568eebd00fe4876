package start

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// hostSpec is a starter spec of the machine that f describes. What aisync
// cannot know stands in it as a comment that shows the form.
func hostSpec(name string, f facts.Facts, runtimes []spec.Runtime, models []spec.Model) []byte {
	var b strings.Builder
	q := strconv.Quote(name)
	fmt.Fprintf(&b, `package aisync

// This machine, as it should be. aisync plan shows what would change for it.
hosts: %s: {
	match: {hostname: %s} // also: cpu, product (regular expressions), memoryGiB: >=60

`, q, strconv.Quote(f.Hostname))
	found := installed(f, runtimes)
	b.WriteString("\t// The agent programs; {install: {via: \"npm\"}} installs one that is missing.\n\truntimes: {\n")
	for _, r := range found {
		fmt.Fprintf(&b, "\t\t%s: {} // found at %s\n", cli.Label(r.ID), comment(f.Programs[r.Command]))
	}
	if len(found) == 0 {
		b.WriteString("\t\t// none found on this machine; such as:\n\t\t// claude: {install: {via: \"npm\"}}\n")
	}
	b.WriteString("\t}\n")
	if len(found) > 0 {
		fmt.Fprintf(&b, "\tdefault: %s\n", strconv.Quote(found[0].ID))
	}
	b.WriteString(`
	// Your own rules, skills and hooks for all of them, from a folder or a git
	// repository: bundles: core: {source: "~/rulesets", parts: ["rules",
	// "skills", "hooks"]}

	// Merged into a program's own settings file; every other key in it stays as
	// it is: settings: claude: {permissions: {allow: ["Bash(make test)"]}}

`)
	fmt.Fprintf(&b, "\tstore: \"~/.local/share/llm/models\" // where models lie\n\n\t// %s\n", comment(memoryLine(f)))
	if m, choice, ok := hosts.Recommend(models, f); ok {
		fmt.Fprintf(&b, "\t// %s\n\t// models: %s: {quant: \"auto\"}\n", comment(recommendation(m, choice)), strconv.Quote(m.ID))
	} else {
		b.WriteString("\t// No model of the catalog fits; see aisync facts.\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// recommendation says which model fits, why, and what it would cost.
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
		return "How much memory this machine has is not known."
	}
	text := "This machine has " + quantity.Memory(f.Memory.Total) + " of memory"
	for _, g := range f.GPUs {
		text += ", " + gpuText(g, quantity.Memory)
	}
	return text + "."
}

// projectSpec is a starter spec of a project that is called name. Without a
// source it shows how one is named.
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

// This project, as it should be for the agents that work in it. The same for
// everybody who checks it out: nothing here depends on a machine.
project: {
	name:     %s
	runtimes: [%s] // %s

	// Where bundles come from: a folder, git::URL?ref=…, or the URL of an archive.
%s
	// mcp: notes: {command: "python3", args: ["tools/notes_mcp.py"]}

	// agents: sessions: true // .ai/: what agents in this project tell each other
}
`, strconv.Quote(name), strings.Join(ids, ", "), why, sources))
}

// installed are the runtimes whose program is on the machine.
func installed(f facts.Facts, runtimes []spec.Runtime) []spec.Runtime {
	return slices.DeleteFunc(slices.Clone(runtimes), func(r spec.Runtime) bool { return r.Command == "" || f.Programs[r.Command] == "" })
}

// comment is text that stays on the one line of a comment.
func comment(s string) string { return strings.ReplaceAll(termtext.Safe(s), "\n", " ") }
