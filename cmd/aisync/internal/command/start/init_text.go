package start

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// hostSpec returns a starter spec of the machine with facts f, these runtimes and
// stocks, with examples as comments for what aisync cannot know.
func hostSpec(name string, f facts.Facts, runtimes []spec.Runtime, stocks []hosts.Stock) []byte {
	var b strings.Builder
	q := strconv.Quote(name)
	fmt.Fprintf(&b, `package aisync

// The AI coding setup of this machine. aisync plan shows what it would change.
hosts: %s: {
	match: {hostname: %s} // also: cpu, product (regular expressions), memoryGiB: >=60

`, q, strconv.Quote(f.Hostname))
	b.WriteString(experimental(catalog.RuntimeIDs(runtimes)))
	b.WriteString("\t// The agent programs; {install: {via: \"npm\"}} installs one that is missing.\n\truntimes: {\n")
	for _, r := range runtimes {
		where := "not found on this machine"
		if at := f.Programs[r.Command]; at != "" && r.Command != "" {
			where = "found at " + comment(at)
		}
		fmt.Fprintf(&b, "\t\t%s: {} // %s\n", cli.Label(r.ID), where)
	}
	for _, r := range catalog.Runtimes() {
		if at := f.Programs[r.Command]; r.Experimental && at != "" && !slices.ContainsFunc(runtimes, func(o spec.Runtime) bool { return o.ID == r.ID }) {
			fmt.Fprintf(&b, "\t\t// %s: {} // found at %s; aisync was never tried with it: it needs experimental: true above runtimes\n", cli.Label(r.ID), comment(at))
		}
	}
	if len(stocks) > 0 {
		b.WriteString(localRuntime(runtimes, f))
	} else if len(runtimes) == 0 {
		b.WriteString("\t\t// none found on this machine; such as:\n\t\t// claude: {install: {via: \"npm\"}}\n")
	}
	b.WriteString("\t}\n")
	switch {
	case len(runtimes) > 0:
		fmt.Fprintf(&b, "\tdefault: %q\n", runtimes[0].ID)
	case len(stocks) > 0:
		fmt.Fprintf(&b, "\tdefault: %q\n", catalog.ForModels().ID)
	}
	b.WriteString(`
	// Your own rules, skills and hooks for all of them, from a folder or a git
	// repository: bundles: core: {source: "~/rulesets", parts: ["rules",
	// "skills", "hooks"]}

	// Merged into a program's own settings file; every other key in it stays as
	// it is: settings: claude: {permissions: {allow: ["Bash(make test)"]}}

`)
	fmt.Fprintf(&b, "\tstore: \"~/.local/share/llm/models\" // the folder of the models\n\n\t// %s\n", comment(memoryLine(f)))
	b.WriteString(localModels(stocks, f))
	b.WriteString("}\n")
	return []byte(b.String())
}

// localRuntime returns the lines of the runtime for models, and of the program that
// drives it, which is one of those found or is installed by npm.
func localRuntime(runtimes []spec.Runtime, f facts.Facts) string {
	drivers := start.Drivers(catalog.Runtimes())
	driver := drivers[0]
	if i := slices.IndexFunc(drivers, func(d *spec.Runtime) bool { return f.Programs[d.Command] != "" }); i >= 0 {
		driver = drivers[i]
	}
	line := fmt.Sprintf("\t\t%s: {cli: %q} // %s with the models below\n", cli.Label(catalog.ForModels().ID), driver.ID, driver.DisplayName)
	if f.Programs[driver.Command] == "" && slices.Contains(f.Managers, "npm") && !slices.ContainsFunc(runtimes, func(r spec.Runtime) bool { return r.ID == driver.ID }) {
		line = fmt.Sprintf("\t\t%s: {install: {via: \"npm\"}} // not found on this machine\n", cli.Label(driver.ID)) + line
	}
	return line
}

// localModels returns what serves models without a network, or the model to begin
// with as a comment.
func localModels(stocks []hosts.Stock, f facts.Facts) string {
	if len(stocks) == 0 {
		if m, choice, ok := hosts.Recommend(catalog.Models(), f); ok {
			return fmt.Sprintf("\t// %s\n\t// models: %s: {quant: \"auto\"}\n", comment(recommendation(m, choice)), strconv.Quote(m.ID))
		}
		return "\t// No model of the catalog fits; see aisync facts.\n"
	}
	var uses, services strings.Builder
	var size int64
	install := ""
	if via := service.Installer(f); via != "" {
		install = fmt.Sprintf(", install: {via: %q}", via)
	}
	for _, s := range stocks {
		size += s.Size()
		fmt.Fprintf(&uses, "\t\t%q: {quant: %q} // %s", s.Model.ID, s.Quant, quantity.Bytes(s.Size()))
		if s.Quant == "auto" {
			fmt.Fprintf(&uses, "; %s here, %s", s.Choice.Quant, comment(s.Choice.Reason))
		}
		uses.WriteString("\n")
		fmt.Fprintf(&services, "\t\t%s: {kind: \"llama-server\", model: %q, port: %d", s.Service, s.Model.ID, s.Port)
		if s.Context > 0 {
			fmt.Fprintf(&services, ", context: %d", s.Context)
		}
		services.WriteString(install)
		if s.Off {
			services.WriteString(", enabled: false")
		}
		services.WriteString("}\n")
	}
	return fmt.Sprintf(`	// Models for work without a network, %s to fetch. Without these three
	// fields, and local-openai above, there are none.
	models: {
%s	}
	services: {
%s	}
	endpoint: %q
`, quantity.Bytes(size), uses.String(), services.String(), stocks[0].Service)
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
%s	runtimes: [%s] // %s

	// Where bundles come from: a folder, git::URL?ref=…, or the URL of an archive.
%s
	// mcp: notes: {command: "python3", args: ["tools/notes_mcp.py"]}

	// agents: sessions: true // .ai/: shared session files of the agents in this project
}
`, strconv.Quote(name), experimental(runtimes), strings.Join(ids, ", "), why, sources))
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

// installed returns the runtimes whose programs are on the machine, without those that
// only a spec with the word experimental can name.
func installed(f facts.Facts, runtimes []spec.Runtime) []spec.Runtime {
	return slices.DeleteFunc(slices.Clone(runtimes), func(r spec.Runtime) bool {
		return r.Command == "" || f.Programs[r.Command] == "" || r.Experimental
	})
}

// experimental is the word that a spec with these runtimes needs, "" if none does.
func experimental(ids []string) string {
	if slices.ContainsFunc(catalog.Runtimes(), func(r spec.Runtime) bool { return r.Experimental && slices.Contains(ids, r.ID) }) {
		return "\texperimental: true // for programs that aisync was never tried with\n"
	}
	return ""
}

// comment returns s on one line, for a comment.
func comment(s string) string { return strings.ReplaceAll(termtext.Safe(s), "\n", " ") }
