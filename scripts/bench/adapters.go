//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/internal/realcli"
)

const (
	skills  = 10
	servers = 5
)

func (w *world) fewAdapters() ([]row, error) {
	return w.adapters(50, 150*time.Millisecond, 50*time.Millisecond)
}

func (w *world) manyAdapters() ([]row, error) {
	return w.adapters(500, 600*time.Millisecond, 120*time.Millisecond)
}

// adapters is what five runtimes cost: the same rules, skills and MCP servers
// for each, written for the first time and then looked at. Where they are
// installed, rulesync and ruler do the same from their own sources.
func (w *world) adapters(rules int, apply, drift time.Duration) ([]row, error) {
	dir := filepath.Join(w.dir, fmt.Sprintf("adapters-%d", rules))
	if err := adapterSource(filepath.Join(dir, "rulesets/languages/many/common"), "rules", rules, "---\npaths: [\"src/part%d/**/*.go\"]\n---\n\n"); err != nil {
		return nil, err
	}
	var mcp strings.Builder
	for i := range servers {
		fmt.Fprintf(&mcp, "\tmcp: server%d: {command: \"npx\", args: [\"-y\", \"server-%d\"]}\n", i, i)
	}
	spec := "package aisync\n\nproject: {\n\tname: \"bench\"\n\truntimes: [\"claude\", \"codex\", \"copilot\", \"cursor\", \"opencode\"]\n" +
		"\tsources: {here: \"../rulesets\"}\n\tbundles: [\"here//many\"]\n" + mcp.String() + "}\n"

	var cold []sample
	var project, root string
	for i := range max(w.runs/3, 3) {
		project, root = filepath.Join(dir, fmt.Sprintf("project-%d", i)), fmt.Sprintf("adapters-root-%d-%d", rules, i)
		if err := errors.Join(w.root(root), write(filepath.Join(project, "aisync.cue"), spec)); err != nil {
			return nil, err
		}
		s, err := run(project, w.env(), w.aisync(root, "apply", "--scope", "project", "--yes", "--trust", "--quiet")...)
		if err != nil {
			return nil, err
		}
		cold = append(cold, s)
	}
	same, err := median(w.runs, project, w.env(), w.aisync(root, "drift", "--scope", "project")...)
	if err != nil {
		return nil, err
	}
	files, err := under(project)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("5 runtimes, %d rules", rules)
	rows := []row{
		{what: name + ", apply (" + fmt.Sprint(len(files)) + " files)", cost: middle(cold), against: "target " + ms(apply), floor: apply},
		{what: name + ", drift", cost: same, against: "target " + ms(drift), floor: drift},
	}
	for _, p := range peers() {
		if p.ID == "skills" {
			continue // it has skills alone: see skillSources
		}
		more, err := w.peer(p, filepath.Join(dir, p.ID), rules, middle(cold), same)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ID, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func installPeers() error {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return err
	}
	return cache.Install(context.Background(), func(f string, a ...any) { fmt.Printf(f+"\n", a...) }, realcli.Peers...)
}

// peers are those that are installed.
func peers() (out []realcli.Package) {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return nil
	}
	for _, p := range realcli.Peers {
		if cache.Has(p) {
			out = append(out, p)
		}
	}
	return out
}

// peer runs one peer's own cold and checking command, and gives the ratios to
// what aisync took.
func (w *world) peer(p realcli.Package, dir string, rules int, apply, drift sample) ([]row, error) {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return nil, err
	}
	env := []string{"HOME=" + filepath.Join(dir, "home"), "NO_COLOR=1", "PATH=" + cache.Bin(p) + ":" + cache.NodeBin() + ":" + os.Getenv("PATH")}
	program := filepath.Join(cache.Bin(p), p.Command)
	var argv, check []string
	var source func(project string) error
	switch p.ID {
	case "rulesync":
		argv, check = []string{program, "generate"}, []string{program, "generate", "--check"}
		source = func(project string) error { return rulesyncSource(project, rules) }
	case "ruler":
		argv, check = []string{program, "apply", "--local-only"}, []string{program, "apply", "--local-only", "--dry-run"}
		source = func(project string) error { return rulerSource(project, rules) }
	}
	var cold []sample
	var project string
	for i := range 3 {
		project = filepath.Join(dir, fmt.Sprintf("project-%d", i))
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "home"), 0o755), source(project)); err != nil {
			return nil, err
		}
		s, err := run(project, env, argv...)
		if err != nil {
			return nil, err
		}
		cold = append(cold, s)
	}
	same, err := median(3, project, env, check...)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s %s, %d rules, ", p.ID, p.Version, rules)
	return []row{
		{what: name + strings.Join(argv[1:], " "), cost: middle(cold), against: "aisync apply, " + ms(apply.time), floor: apply.time},
		{what: name + strings.Join(check[1:], " "), cost: same, against: "aisync drift, " + ms(drift.time), floor: drift.time},
	}, nil
}

// adapterSource writes rules of about 3.7 kB below dir/rulesName, each with
// front before it, and skills.
func adapterSource(dir, rulesName string, rules int, front string) error {
	body := strings.Repeat("Read the whole file before you change a line of it, and say what you saw.\n", 50)
	for i := range rules {
		if err := write(filepath.Join(dir, rulesName, fmt.Sprintf("rule-%03d.md", i)), fmt.Sprintf(front+"# Rule %d\n\n%s", i, i, body)); err != nil {
			return err
		}
	}
	for i := range skills {
		text := fmt.Sprintf("---\nname: skill-%d\ndescription: Does the task number %d.\n---\n\n# Skill %d\n\n%s", i, i, i, body)
		if err := write(filepath.Join(dir, "skills", fmt.Sprintf("skill-%d", i), "SKILL.md"), text); err != nil {
			return err
		}
	}
	return nil
}

func mcpServers() string {
	var list []string
	for i := range servers {
		list = append(list, fmt.Sprintf(`"server%d": {"command": "npx", "args": ["-y", "server-%d"]}`, i, i))
	}
	return "{\"mcpServers\": {" + strings.Join(list, ", ") + "}}\n"
}

// rulesyncSource is the same in rulesync's form: https://github.com/dyoshikawa/rulesync
func rulesyncSource(project string, rules int) error {
	dir := filepath.Join(project, ".rulesync")
	return errors.Join(
		write(filepath.Join(project, "rulesync.jsonc"), `{"targets": ["claudecode", "codexcli", "copilot", "cursor", "opencode"], "features": ["rules", "mcp", "skills"], "delete": true}`+"\n"),
		adapterSource(dir, "rules", rules, "---\ntargets: [\"*\"]\nglobs: [\"src/part%d/**/*.go\"]\n---\n\n"),
		write(filepath.Join(dir, "mcp.json"), mcpServers()))
}

// rulerSource is the same in ruler's form: https://github.com/intellectronica/ruler
func rulerSource(project string, rules int) error {
	dir := filepath.Join(project, ".ruler")
	toml := "default_agents = [\"claude\", \"codex\", \"copilot\", \"cursor\", \"opencode\"]\n"
	for i := range servers {
		toml += fmt.Sprintf("\n[mcp_servers.server%d]\ncommand = \"npx\"\nargs = [\"-y\", \"server-%d\"]\n", i, i)
	}
	return errors.Join(adapterSource(dir, ".", rules, "---\nglobs: [\"src/part%d/**/*.go\"]\n---\n\n"), write(filepath.Join(dir, "ruler.toml"), toml))
}
