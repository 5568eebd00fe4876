package main

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/catalog"
)

// markdown is the page.
func (r report) markdown() string {
	var b strings.Builder
	flags := ""
	if r.short {
		flags += " -short"
	}
	if r.pattern != "" {
		flags += " -run '" + r.pattern + "'"
	}
	form := ""
	if r.short {
		form = "With -short each part is tried in one project for all programs, and the tests\nthat take longer are left out.\n"
	}
	fmt.Fprintf(&b, `# The newest programs

Written on %s by `+"`make test-runtimes LATEST=1 ARGS='-write%s'`"+`.
It runs the tests behind the **run** cells of [adapters.md](adapters.md) with the
newest version of each program in npm, and compares.
%sA program whose newest version is the tested one is not run again. A row with
**regressed** makes the command fail. The evidence of adapters.md stays that of the
tested version until its pin moves.

| program | tested version | newest in npm | tried here | parts as before | regressed | better | not tried |
|---|---|---|---|---|---|---|---|
`, r.date, flags, form)
	for _, p := range r.programs {
		id := p.pin.ID
		if !p.moved() {
			fmt.Fprintf(&b, "| %s | %s | %s | – | | | | |\n", id, p.pin.Version, p.latest)
			continue
		}
		proof, _ := catalog.ProofOf(id)
		bad, better := 0, 0
		for _, c := range r.changes {
			if c.program.pin.ID == id && c.bad {
				bad++
			} else if c.program.pin.ID == id {
				better++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d of %d | %d | %d | %d |\n", id, p.pin.Version, p.latest, p.newest,
			r.held[id], len(proof.User)+len(proof.Project), bad, better, r.untried[id])
	}
	if len(r.changes) == 0 {
		b.WriteString("\nNo part changed.\n")
	} else {
		b.WriteString("\n| program | part | scope | tested version | newest | was → is | first version |\n|---|---|---|---|---|---|---|\n")
	}
	for _, c := range r.changes {
		how := "better: "
		if c.bad {
			how = "**regressed**: "
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s%s → %s | %s |\n", c.program.pin.ID, c.part, c.scope, c.program.pin.Version, c.program.newest, how, c.was, c.is, c.first)
	}
	if len(r.notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.notes {
		b.WriteString("- " + n + "\n")
	}
	return b.String()
}
