import { spawnSync } from "node:child_process"

const hooks = []

// run gives the hooks of an event what Claude Code gives its own on stdin, and
// reads their answers as Claude Code does: stop is why one refuses, text is what
// the model shall know.
function run(event, cwd, tool, more) {
  const texts = []
  for (const h of hooks) {
    if (h.event !== event || (tool && h.tools.length > 0 && !h.tools.includes(tool))) continue
    const input = JSON.stringify({ hook_event_name: h.on, cwd, tool_name: tool, ...more })
    const r = spawnSync("/bin/sh", ["-c", h.command], { cwd, input, encoding: "utf8", timeout: h.timeout * 1000 })
    if (r.status === 2) return { stop: r.stderr.trim() || "stopped by the hook " + h.command }
    if (r.status !== 0 || !r.stdout?.trim()) continue
    let answer
    try {
      answer = JSON.parse(r.stdout)
    } catch {
      if (h.on === "SessionStart" || h.on === "UserPromptSubmit") texts.push(r.stdout.trim())
      continue
    }
    const own = answer?.hookSpecificOutput ?? {}
    if (own.permissionDecision === "deny") return { stop: own.permissionDecisionReason || "stopped by the hook " + h.command }
    if (answer?.decision === "block") return { stop: answer.reason || "stopped by the hook " + h.command }
    if (own.additionalContext) texts.push(own.additionalContext)
  }
  return { text: texts.join("\n\n") }
}

