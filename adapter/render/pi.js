// Hooks of bundles for pi. Written by aisync, which owns this file.
import { spawnSync } from "node:child_process"

const hooks = []

// run gives the hooks of an event what Claude Code gives its own on stdin. It
// returns what one said that ended with code 2, which stops a tool.
function run(event, cwd, tool, more) {
  for (const h of hooks) {
    if (h.event !== event || (tool && h.tools.length > 0 && !h.tools.includes(tool))) continue
    const input = JSON.stringify({ hook_event_name: h.on, cwd, tool_name: tool, ...more })
    const r = spawnSync("/bin/sh", ["-c", h.command], { cwd, input, encoding: "utf8", timeout: h.timeout * 1000 })
    if (r.status === 2) return r.stderr.trim() || "stopped by the hook " + h.command
  }
}

export default function (pi) {
  for (const event of new Set(hooks.map((h) => h.event))) {
    pi.on(event, async (e, ctx) => {
      const stop = run(event, ctx?.cwd ?? process.cwd(), e.toolName, { tool_input: e.input, prompt: e.text })
      if (stop && event === "tool_call") return { block: true, reason: stop }
    })
  }
}
