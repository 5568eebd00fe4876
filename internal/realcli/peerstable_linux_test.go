package realcli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const peersPage = "../../docs/peers.md"

// The page of the comparison says what the committed record and the generators say.
func TestPeersPage(t *testing.T) {
	want := peersText(readCompared(t))
	have, err := os.ReadFile(peersPage)
	if err == nil && string(have) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not up to date (error %v); run: go test ./internal/realcli -run TestPeersPage -update", peersPage, err)
	}
	if err := os.WriteFile(peersPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The record holds a cell for each part that a generator claims, and no other: a
// claim that is new waits for a run.
func TestPeersRecordHoldsClaims(t *testing.T) {
	c := readCompared(t)
	for _, g := range generators {
		for _, id := range comparedIDs {
			for _, part := range treeParts {
				claimed, recorded := slices.Contains(g.claims[part], id), c.Together[g.ID][id][part] != ""
				if claimed != recorded {
					t.Errorf("%s, %s of %s: claimed %v, recorded %v; make test-peers ARGS=-update tries it", g.ID, part, id, claimed, recorded)
				}
			}
		}
	}
	for _, p := range slices.Concat(comparedAgents(), Peers[:2]) {
		if c.Versions[p.ID] != p.Version {
			t.Errorf("the record is of %s %s, %s is pinned", p.ID, c.Versions[p.ID], p.Version)
		}
	}
}

// stands is what stands for each part in a tree, and how a program is asked.
var stands = map[string]string{
	"first rule":        "`zqtreerootqz`, in the rule that a tool puts first: it is in the first request",
	"second rule":       "`zqtreealwaysqz`, in another rule without a scope: the same; *late*: only after a file was read",
	"scoped rule":       "`zqtreescopedqz`, in a rule for `src/**/*.zig`: it is in a request after `src/main.zig` was read, and not before; *always*: before too; *named*: a text names its file to the model",
	"skill":             "`zqtreeskillqz`, in the description of a skill: it is in the first request",
	"command":           "`zqtreecommandqz`, in the text of the command `tree-fix`: `/tree-fix` sends it",
	"subagent":          "`zqtreeagentqz`, in the description of a subagent: it is in the first request",
	"MCP server":        "the server `treesrv` has the command `tree-mcp`: its tool is offered to the model, or found when it looks",
	"hook at start":     "its command is `tree-hook start`: it runs when a session starts",
	"hook before shell": "its command is `tree-hook shell`: it runs before the model's shell command",
	"permissions":       "`./tree-may` with any argument is allowed and `./tree-not` denied: the model runs the one and not the other",
	"hidden file":       "`hidden.txt` may not be read: the model reads `src/main.zig` and not it",
}

// peersText is the page.
func peersText(c compared) string {
	var b strings.Builder
	b.WriteString(`# Peers

Generated from internal/realcli/testdata/peers.json; ` + "`make test-peers ARGS=-update`" + ` makes both anew.
Three tools were given the same parts, each in its own form, and wrote files for seven
programs into one project. The real programs were then started in that project, without a
network, with a model that is a stand-in. What a program sends to the model, and what it
runs, decides each cell.

`)
	fmt.Fprintf(&b, "Seen %s with", c.Date)
	for i, p := range comparedAgents() {
		fmt.Fprintf(&b, "%s %s %s", map[bool]string{true: ",", false: ""}[i > 0], p.ID, c.Versions[p.ID])
	}
	b.WriteString(".\n\n## How each tool was called\n\n| tool | source | command in the project |\n|---|---|---|\n")
	for _, g := range generators {
		var names []string
		for _, id := range comparedIDs {
			if g.targets[id] != "" {
				names = append(names, g.targets[id])
			}
		}
		name := "aisync, of this tree"
		if g.Name != "" {
			name = fmt.Sprintf("%s %s (npm: `%s`)", g.ID, c.Versions[g.ID], g.Name)
		}
		fmt.Fprintf(&b, "| %s | [%s.txtar](../internal/realcli/testdata/peers/%[2]s.txtar) | `%s %s` |\n", name, g.ID, g.Command, strings.Join(g.run(names), " "))
	}
	b.WriteString(`
The sources use what the documentation of each tool recommends:

- rulesync: the layout and the Codex permissions that ` + "`rulesync init`" + ` writes. Targets that
  share AGENTS.md overwrite each other's, the last one wins; ` + "`pi: contextFile: override`" + ` gives
  pi a file apart. A rule for all files has ` + "`globs: [\"**/*\"]`" + `, as in its documentation. Its
  hook before the shell names no tool for Copilot, for which it takes no matcher. Files
  are hidden by a permission: its list of ignored files is deprecated.
- ruler: ` + "`nested = true`" + ` scopes a rule to a folder, ` + "`[agents] enabled = true`" + ` switches
  subagents on; both are experimental, as is its support of skills.
- aisync: a project's spec, and a source of bundles beside it.

The person says yes to all that a program asks before it loads a project's files:
whether to trust the folder, its MCP servers, hooks and subagents. What the tools can
write into a home is not compared. CODEX_HOME, which ruler's README names, is not set:
Codex reads the .codex of a project that it trusts.

## What stands for a part

| part | what stands for it, and when it counts as loaded |
|---|---|
`)
	for _, part := range treeParts {
		fmt.Fprintf(&b, "| %s | %s |\n", part, stands[part])
	}
	b.WriteString(`
- **loaded**: once. **twice**: more than once. **not**: not at all.
- **not tried**: only a person who types at the program could try it.
- **not claimed**: the tool does not say that it can give the program that part in a
  project. For a peer, the README in its npm package and what its run says that it skips
  are its claims; for aisync, the catalog ([adapters](adapters.md)).
- *alone*: where a claimed cell of a program is not *loaded*, the tool wrote the files for
  that program alone too; what differs then stands in parentheses.

## What was seen

`)
	b.WriteString(c.table())
	b.WriteString(`
Gemini CLI, started for one prompt, runs no command that is not allowed, so its denial shows
nothing there; aisync says in its plan that it cannot write it.

## Your own tree

` + "`make test-tree TREE=DIR`" + ` copies the project in DIR, whichever tool wrote its files, and
prints the same table for it. Put into its files what the table above says stands for a
part. ` + "`tree-mcp`" + ` and ` + "`tree-hook`" + ` are in PATH; ` + "`tree-may`, `tree-not`, `src/main.zig`" + `
and ` + "`hidden.txt`" + ` are added to the copy. ` + "`tree-hook`" + ` reads its input for five seconds at most: what
rulesync 17.0.0 writes for pi leaves it open, and pi waits for a hook that reads to the end.
`)
	return b.String()
}

// table is the cells of all tools side by side, a line a program and part, with a
// total line.
func (c compared) table() string {
	var b strings.Builder
	b.WriteString("| program | part |")
	for _, g := range generators {
		b.WriteString(" " + g.ID + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(generators)) + "\n")
	totals := map[string]map[string]int{}
	for _, g := range generators {
		totals[g.ID] = map[string]int{}
	}
	for _, id := range comparedIDs {
		for _, part := range treeParts {
			row, claimed := "", false
			for _, g := range generators {
				cell := c.Together[g.ID][id][part]
				claimed = claimed || cell != ""
				if cell == "" {
					cell = "not claimed"
				}
				totals[g.ID][cell]++
				if alone := c.Alone[g.ID][id][part]; alone != "" && alone != cell {
					cell += " (alone: " + alone + ")"
				}
				row += " " + cell + " |"
			}
			if claimed {
				fmt.Fprintf(&b, "| %s | %s |%s\n", id, part, row)
			}
		}
	}
	b.WriteString("| **total** | |")
	for _, g := range generators {
		var of []string
		for _, cell := range []string{loaded, always, late, named, twice, missing, untested, "not claimed"} {
			if n := totals[g.ID][cell]; n > 0 {
				of = append(of, fmt.Sprintf("%d %s", n, cell))
			}
		}
		b.WriteString(" " + strings.Join(of, ", ") + " |")
	}
	return b.String() + "\n"
}
