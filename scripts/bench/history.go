//go:build linux

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// otherProjects is how many projects a machine has on record after years.
const otherProjects = 300

// history is what commands cost in a project of 40 files, alone on its machine
// and beside many others: the work is the same.
func (w *world) history() ([]row, error) {
	bundle := filepath.Join(w.dir, "history/rulesets/languages/few/claude/rules")
	for i := range 40 {
		if err := write(filepath.Join(bundle, fmt.Sprintf("rule-%02d.md", i)), fmt.Sprintf("# Rule %02d\n\n%s\n", i, strings.Repeat("Read the whole file before you change a line of it. ", 8))); err != nil {
			return nil, err
		}
	}
	project := func(root, name string) (string, error) {
		dir := filepath.Join(w.dir, "history", root+"-"+name)
		spec := "package aisync\n\nproject: {\n\tname: \"" + name + "\"\n\truntimes: [\"claude\"]\n\tsources: rulesets: \"../rulesets\"\n\tbundles: [\"rulesets//few\"]\n}\n"
		if err := errors.Join(write(filepath.Join(dir, "aisync.cue"), spec), w.root("history/"+root)); err != nil {
			return dir, err
		}
		_, err := run(dir, w.env(), w.aisync("history/"+root, "apply", "--scope", "project", "--yes", "--trust", "--quiet")...)
		return dir, err
	}
	alone, err := project("alone", "one")
	if err != nil {
		return nil, err
	}
	beside := ""
	for i := range otherProjects + 1 {
		if beside, err = project("beside", fmt.Sprint(i)); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, command := range [][]string{{"plan", "--scope", "project"}, {"status"}, {"drift"}, {"apply", "--scope", "project", "--yes"}, {"rollback", "--list"}, {"doctor", "--offline", "--no-prompt"}} {
		name := strings.Join(command, " ")
		few, err := median(w.runs, alone, w.env(), w.aisync("history/alone", command...)...)
		if err != nil {
			return nil, err
		}
		many, err := median(w.runs, beside, w.env(), w.aisync("history/beside", command...)...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: name + ", 40 files", cost: few},
			row{what: fmt.Sprintf("  beside %d other projects", otherProjects), cost: many, against: "the same alone", floor: few.time})
	}
	return rows, nil
}

// ownRuntimes is a host that uses a thousand runtimes of its own catalog.
func (w *world) ownRuntimes() ([]row, error) {
	const count = 1000
	var uses, entries strings.Builder
	for i := range count {
		fmt.Fprintf(&uses, "\t\town%d: {}\n", i)
		fmt.Fprintf(&entries, "\town%d: {\n\t\tdisplayName: \"Own %d\"\n\t\tcommand: \"own%d\"\n\t\tuser: {rules: \"~/.own%d/rules\", settings: {path: \"~/.own%d/settings.json\", format: \"json\"}}\n"+
			"\t\tproject: {rules: \".own%d/rules\", settings: {path: \".own%d/settings.json\", format: \"json\"}, instructions: [\"AGENTS.md\"]}\n\t}\n", i, i, i, i, i, i, i)
	}
	text := "package aisync\n\nhosts: bench: runtimes: {\n" + uses.String() + "}\ncatalog: runtimes: {\n" + entries.String() + "}\n"
	config := filepath.Join(w.dir, "own")
	if err := errors.Join(write(filepath.Join(config, "bench.cue"), text), w.root("own-root")); err != nil {
		return nil, err
	}
	var rows []row
	for _, command := range []string{"validate", "plan"} {
		s, err := median(max(w.runs/3, 3), w.dir, w.env(), w.binary, "--root", filepath.Join(w.dir, "own-root"), "--config", config, "--host", "bench", command)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: fmt.Sprintf("%s, %d runtimes of the host's own catalog", command, count), cost: s, against: "the target, 1 s", floor: time.Second})
	}
	return rows, nil
}
