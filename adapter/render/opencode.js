// Hooks of bundles for opencode. Written by aisync, which owns this file.
// early is the text of a session's start, by session: its first prompt takes it.
const early = new Map()

export const AisyncHooks = async ({ directory, client }) => ({
  event: async ({ event }) => {
    const id = event.properties?.info?.id ?? event.properties?.sessionID
    const { stop, text } = run(event.type, directory, undefined, { session_id: id, source: "startup" })
    if (text && event.type === "session.created") early.set(id, text)
    if (stop && event.type === "session.idle") await client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: stop }] } })
  },
  "chat.message": async (input, output) => {
    const prompt = output.parts.map((p) => p.text ?? "").join("")
    const { text } = run("chat.message", directory, undefined, { session_id: input.sessionID, prompt })
    const all = [early.get(input.sessionID), text].filter(Boolean).join("\n\n")
    early.delete(input.sessionID)
    const last = output.parts.findLast((p) => p.type === "text")
    if (all && last) last.text += "\n\n" + all
  },
  "tool.execute.before": async (input, output) => {
    const { stop } = run("tool.execute.before", directory, input.tool, { session_id: input.sessionID, tool_input: output.args })
    if (stop) throw new Error(stop)
  },
  "tool.execute.after": async (input, output) => {
    const { stop, text } = run("tool.execute.after", directory, input.tool, { session_id: input.sessionID, tool_input: input.args, tool_response: output.output })
    if ((stop || text) && typeof output.output === "string") output.output += "\n\n" + (stop || text)
  },
  "experimental.session.compacting": async (input, output) => {
    const { text } = run("experimental.session.compacting", directory, undefined, { session_id: input.sessionID })
    if (text) output.context?.push(text)
  },
})
