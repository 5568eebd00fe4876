// Hooks of bundles for Cline. Written by aisync, which owns this file.
// Cline ends a run whose callback takes 3 s, but waits a minute for what builds its
// messages: so only what must stop a call of a tool is a callback.
const name = "aisync-hooks " + import.meta.url // of two with one name Cline takes one
const told = new Map() // text of hooks, by the message that it follows
let cwd = process.cwd()
let session_id, started

// input is that of a tool in the words of Claude Code.
const input = (of) => (Array.isArray(of?.commands) ? { ...of, command: of.commands.join("\n") } : of)

// hear runs the hooks that a new message of the user or of tools is about.
function hear(blocks, calls) {
  const texts = []
  const results = blocks.filter((b) => b.type === "tool_result")
  for (const r of results) {
    const call = calls.get(r.tool_use_id)
    const { stop, text } = run("PostToolUse", cwd, call?.name, { session_id, tool_input: input(call?.input), tool_response: r.content })
    texts.push(stop || text)
  }
  if (results.length === 0) {
    if (!started) texts.push(run("SessionStart", cwd, undefined, { session_id, source: "startup" }).text)
    started = true
    const prompt = blocks.map((b) => b.text ?? "").join("")
    texts.push(run("UserPromptSubmit", cwd, undefined, { session_id, prompt }).text)
  }
  return texts.filter(Boolean).join("\n\n")
}

// build adds what the hooks say to the messages that they were run for.
function build(messages) {
  const answered = messages.findLastIndex((m) => m.role === "assistant")
  const calls = new Map()
  const times = new Map()
  return messages.map((m, i) => {
    const blocks = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content
    for (const b of blocks) if (b.type === "tool_use") calls.set(b.id, b)
    if (m.role !== "user") return m
    const same = JSON.stringify(blocks)
    times.set(same, (times.get(same) ?? 0) + 1)
    const key = times.get(same) + same
    if (!told.has(key)) told.set(key, i > answered ? hear(blocks, calls) : "")
    return told.get(key) ? { ...m, content: [...blocks, { type: "text", text: told.get(key) }] } : m
  })
}

export default {
  name,
  manifest: { capabilities: ["hooks", "messageBuilders"] },
  setup(api, ctx) {
    cwd = ctx.workspaceInfo?.rootPath ?? cwd
    session_id = ctx.session?.sessionId
    api.registerMessageBuilder({ name, build })
  },
  hooks: {
    beforeTool({ toolCall, input: of }) {
      const { stop } = run("PreToolUse", cwd, toolCall.toolName, { session_id, tool_input: input(of) })
      return stop ? { skip: true, reason: stop } : undefined
    },
    afterRun({ snapshot }) {
      if (!snapshot.parentAgentId) run("Stop", cwd, undefined, { session_id })
    },
  },
}
