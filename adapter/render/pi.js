// Hooks of bundles for pi. Written by aisync, which owns this file.
export default function (pi) {
  let early = "" // text of the session's start: the first prompt takes it
  const events = new Set(hooks.map((h) => h.event))
  if (events.has("session_start")) events.add("before_agent_start")
  for (const event of events) {
    pi.on(event, async (e, ctx) => {
      const session_id = ctx?.sessionManager?.getSessionId?.()
      const { stop, text } = run(event, ctx?.cwd ?? process.cwd(), e.toolName, { session_id, source: e.reason, tool_input: e.input, prompt: e.prompt ?? e.text })
      switch (event) {
        case "session_start":
          early = text
          return
        case "before_agent_start": {
          const all = [early, text].filter(Boolean).join("\n\n")
          early = ""
          return all ? { message: { customType: "aisync-hooks", content: all, display: true } } : undefined
        }
        case "tool_call":
          return stop ? { block: true, reason: stop } : undefined
        case "tool_result":
          return stop || text ? { content: [...e.content, { type: "text", text: stop || text }] } : undefined
        case "agent_before_settle":
          return stop ? { entries: [...(e.entries ?? []), { type: "custom_message", customType: "aisync-hooks", content: stop, display: true }], continue: true } : undefined
      }
    })
  }
}
