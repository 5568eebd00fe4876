// Hooks of bundles for opencode. Written by aisync, which owns this file.
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

export const AisyncHooks = async ({ directory }) => ({
  event: async ({ event }) => {
    run(event.type, directory, undefined, { session_id: event.properties?.info?.id ?? event.properties?.sessionID })
  },
  "chat.message": async (input, output) => {
    const prompt = output.parts.map((p) => p.text ?? "").join("")
    run("chat.message", directory, undefined, { session_id: input.sessionID, prompt })
  },
  "tool.execute.before": async (input, output) => {
    const stop = run("tool.execute.before", directory, input.tool, { session_id: input.sessionID, tool_input: output.args })
    if (stop) throw new Error(stop)
  },
  "tool.execute.after": async (input, output) => {
    run("tool.execute.after", directory, input.tool, { session_id: input.sessionID, tool_input: input.args, tool_response: output.output })
  },
  "experimental.session.compacting": async (input) => {
    run("experimental.session.compacting", directory, undefined, { session_id: input.sessionID })
  },
})
