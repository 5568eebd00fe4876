package docs

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// agentHooksTable writes at which events the ledger reaches which program.
func agentHooksTable(b *strings.Builder, list []spec.Runtime) {
	b.WriteString(`
## The ledger's hooks

` + "`agents: ledger: true`" + ` in a project's spec installs ` + "`aisync hook EVENT`" + ` for each of its
programs ([ensemble.md](ensemble.md#hooks)). What an event does:

| event | does |
|---|---|
| SessionStart | tells the agent its name, who is here, what is claimed, and brings its mail |
| UserPromptSubmit | brings mail, and what SessionStart could not tell |
| PreToolUse | refuses a write to what another agent claims, and the model learns why |
| PostToolUse | brings mail, and names claimed files that changed during a command |
| PreCompact | notes that the model must be told anew who it is; Gemini CLI calls it before each request, and its transcript tells whether it compacted |
| Stop | gives the model more to do, where a handoff or a question waits |
| SessionEnd | releases the agent's claims |
| TaskCreated, TaskCompleted, TeammateIdle | note on the blackboard what becomes of the tasks of an agent team that the agent leads: Claude Code alone has them |

**proved**: seen with the program's version. **written**: installed, and not seen.
**not possible**: the program has no such event, or does not take its answer.

| | version |`)
	for _, e := range hook.Events {
		b.WriteString(" " + e + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(hook.Events)) + "\n")
	seen := catalog.Deliveries()
	for _, r := range list {
		form, ok := catalog.HookFormOf(r.ID)
		if !ok {
			continue
		}
		d := seen[r.ID]
		fmt.Fprintf(b, "| [%s](#%s) | %s |", r.ID, r.ID, d.Version)
		for _, e := range hook.Events {
			b.WriteString(" " + delivered(r, form, d, e) + " |")
		}
		b.WriteString("\n")
	}
	var servers []string
	for _, r := range list {
		if _, hooks := catalog.HookFormOf(r.ID); !hooks && r.MCPSupport && r.Project.MCP != nil {
			servers = append(servers, fmt.Sprintf("[%s](#%s)", r.ID, r.ID))
		}
	}
	fmt.Fprintf(b, `
Programs without such hooks that take MCP servers in a project get the server
`+"`aisync mcp`"+` ([ledger.md](ledger.md#over-mcp)): %s (written). The others read of
the ledger in their instructions.
`, strings.Join(servers, ", "))
	waysTable(b, list)
}

// waysTable writes by which way work reaches an agent of each program.
func waysTable(b *strings.Builder, list []spec.Runtime) {
	b.WriteString(`
### How work reaches an agent

One decision, from the table above and from how a program starts. ` + "`ai`" + `, pings and
` + "`aisync detect`" + ` ask it.

| strategy | how the text reaches the agent |
|---|---|
| hook injection | a hook gives it to the model, as it starts or with its first prompt |
| startup fallback | ` + "`ai`" + ` starts the program with it |
| prompt preamble | ` + "`ai`" + ` types it into the pane as the first prompt, or shows it to you where there is none |
| polling | the block in AGENTS.md tells the agent to look |

| | first work | rules of work | in a project without its hooks | idle, in tmux | looks every | stalled after |
|---|---|---|---|---|---|---|
`)
	words := func(s string) string { return strings.ReplaceAll(s, "_", " ") }
	for _, r := range list {
		with, without, c := catalog.WayOf(r), catalog.WithoutHooks(r), catalog.Completed(r).Coordination
		bare := words(without.Startup)
		if without == with {
			bare = "the same"
		}
		if r.Local {
			fmt.Fprintf(b, "| [%s](#%s) | as the program that drives it | | | | %d s | %d s |\n", r.ID, r.ID, c.Nudge, c.Stall)
			continue
		}
		idle := "a ping that names the inbox"
		if form, _ := catalog.HookFormOf(r.ID); form.TellsAt("UserPromptSubmit") {
			idle = "a ping, with which a hook brings the mail"
		}
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s | %s | %s | %d s | %d s |\n", r.ID, r.ID, words(with.Startup), words(with.Rules), bare, idle, c.Nudge, c.Stall)
	}
	b.WriteString(`
In the Agent Client Protocol a program talks on its stdin and stdout with the editor that
started it, and has no terminal; a second process reaches neither. So ` + "`aisync acp -- PROGRAM`" + `
stands between the two: put it into the editor's agent command, as in
` + "`aisync acp -- opencode acp`" + `. Lines pass unchanged. ` + "`ensemble-tmux`" + ` then wakes the agent by
its seat: when no turn of the editor is in flight, a prompt with the ping goes to the session
that was used last. A prompt of the editor waits until that turn has ended; the editor sees what
the agent says and is asked for its permissions. opencode 1.18.33 (` + "`acp`" + `), Qwen Code 0.24.4
and Copilot CLI 1.0.102 (` + "`--acp`" + `) are woken so in internal/realcli; opencode and Qwen Code get the
mail with the ping, by their hook. Gemini CLI 0.61.0 (` + "`--acp`" + `) got ping and mail so, but without a
network did not answer the next prompt within two minutes. The help of Claude Code, Codex and Pi names no such mode; for an adapter of theirs, say ` + "`--runtime`" + `. An agent
whose editor sends a line of more than 64 MiB is not woken any more.
`)
}

func delivered(r spec.Runtime, form catalog.HookForm, d catalog.Delivery, event string) string {
	manual := slices.ContainsFunc(r.HookEvents, func(e spec.HookEvent) bool { return e.Event == event && e.Level == "manual" })
	switch {
	case slices.Contains(d.Events, event):
		return "proved"
	case manual, event == "PreToolUse" && !form.Refuses, event == "Stop" && !form.GoesOn,
		slices.Contains([]string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, event) && !form.TellsAt(event):
		return "not possible"
	}
	return "written"
}
