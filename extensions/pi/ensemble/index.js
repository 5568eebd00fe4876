// The coordination ledger, .pi-ensemble/, in Pi: the command /ensemble and the
// tool ensemble. Both call the program ensemble (PI_ENSEMBLE_COMMAND names
// another), which alone reads and writes the files.

const types = ["note", "handoff", "question", "result", "ack"];

// What the tool can do: the words of each action, from its parameters.
const actions = {
  init: (p, me) => ["init", "--json", "--agent", me],
  status: () => ["status"],
  note: (p, me) => ["note", "--json", "--from", me, "--", need(p, "body")],
  board: () => ["board"],
  send: (p, me) => [
    "send", "--json", "--from", me, ...flag(p, "type"), ...(p.replyTo ? ["--reply-to", p.replyTo] : []), "--", need(p, "to"), need(p, "body"),
  ],
  ack: (p, me) => settle("ack", p, me),
  done: (p, me) => settle("done", p, me),
  messages: (p) => ["messages", "--json", ...flag(p, "limit"), ...(p.open ? ["--open"] : [])],
  inbox: (p, me) => [
    "inbox", "--agent", me,
    // What is new, unless the whole inbox is asked for. Only clear moves anything.
    ...(p.sinceLastRead === false ? [] : ["--since-last-read"]),
    ...(p.clear ? ["--clear"] : p.sinceLastRead === false ? ["--no-clear"] : []),
  ],
  claim: (p, me) => owned("claim", p, me),
  release: (p, me) => owned("release", p, me),
  claims: () => ["claims"],
  audit: (p) => ["audit", "--json", ...flag(p, "limit")],
  timeline: (p) => ["timeline", ...flag(p, "limit")],
  overview: (p) => ["overview", ...flag(p, "limit")],
  doctor: () => ["doctor"],
};

function settle(action, p, me) {
  return [action, "--json", "--from", me, ...(p.body ? ["--body", p.body] : []), "--", need(p, "messageId")];
}

function owned(action, p, me) {
  return [action, "--json", "--agent", me, ...(p.force ? ["--force"] : []), "--", need(p, "path")];
}

function flag(p, name) {
  return p[name] === undefined ? [] : ["--" + name, String(p[name])];
}

function need(p, name) {
  if (!p[name]) throw new Error(`ensemble ${p.action}: ${name} is required`);
  return p[name];
}

// What the model may say. The schema is plain JSON, so that nothing is imported.
const text = (description) => ({ type: "string", description });
const yes = (description) => ({ type: "boolean", description });
const parameters = {
  type: "object",
  required: ["action"],
  properties: {
    action: { type: "string", enum: Object.keys(actions) },
    agent: text("who you are in the ledger; by default PI_ENSEMBLE_AGENT, or pi"),
    to: text("send: the agent that is to read it"),
    type: { type: "string", enum: types, description: "send: handoff and question want an answer" },
    body: text("note, send, ack, done: the text"),
    messageId: text("ack, done: msg_…"),
    replyTo: text("send: the message that is answered, msg_…"),
    path: text("claim, release: a path, seen from the ledger's root"),
    sinceLastRead: yes("inbox: only what is new (the default); false: everything that is kept"),
    clear: yes("inbox: archive what is there"),
    force: yes("claim, release: though it is another's; only when a person has settled that"),
    open: yes("messages: only those that want something"),
    limit: { type: "integer", description: "messages, audit, timeline, overview: how many" },
    root: text("the folder of the ledger, if it is not above the working folder"),
  },
};

export default function (pi) {
  const command = process.env.PI_ENSEMBLE_COMMAND || "ensemble";
  const self = () => process.env.PI_ENSEMBLE_AGENT || "pi";

  async function run(words, root, ctx, signal) {
    const args = root ? ["--root", root, ...words] : words;
    const r = await pi.exec(command, args, { cwd: ctx?.cwd, signal, timeout: 30_000 });
    const said = r.stderr.trim();
    if (r.code !== 0) throw new Error(said || r.stdout.trim() || `${command} ended with ${r.code}; is it installed?`);
    return [said, r.stdout.trimEnd()].filter(Boolean).join("\n");
  }

  pi.registerTool({
    name: "ensemble",
    label: "Ensemble",
    description:
      "The project's coordination ledger, shared with agents of other makers: read your inbox, send messages, claim paths before editing, note durable facts.",
    promptSnippet: "Coordinate with other agents through the project's ledger (.pi-ensemble/)",
    promptGuidelines: [
      "Where a project has .pi-ensemble/, use ensemble to read the overview and your inbox first, and claim a path before you edit it.",
      "Answer a handoff or a question with ensemble send, type result and replyTo; say where the result is.",
    ],
    parameters,
    executionMode: "sequential",
    async execute(_id, p, signal, _onUpdate, ctx) {
      if (!Object.hasOwn(actions, p.action)) throw new Error(`ensemble: no action ${p.action}; there are ${Object.keys(actions).join(", ")}`);
      const out = await run(actions[p.action](p, p.agent || self()), p.root, ctx, signal);
      return { content: [{ type: "text", text: out || "(nothing)" }], details: { action: p.action } };
    },
  });

  pi.registerCommand("ensemble", {
    description: "The coordination ledger: /ensemble overview, /ensemble inbox --since-last-read, /ensemble help",
    getArgumentCompletions: (prefix) => {
      const fit = Object.keys(actions).filter((a) => a.startsWith(prefix));
      return fit.length ? fit.map((a) => ({ value: a, label: a })) : null;
    },
    handler: async (args, ctx) => {
      try {
        ctx.ui.notify((await run(named(split(args), self()), undefined, ctx)) || "done", "info");
      } catch (e) {
        ctx.ui.notify(e.message, "error");
      }
    },
  });
}

// split takes a line apart at its blanks, but not within quotes.
export function split(line) {
  const words = [];
  for (const m of line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g)) {
    words.push(m[0].replace(/"([^"]*)"|'([^']*)'/g, (_, a, b) => a ?? b));
  }
  return words.length ? words : ["overview"];
}

// named says who calls, where that counts and is not said; and an inbox is not
// archived by looking at it.
export function named(words, me) {
  const at = words[0] === "--root" ? 2 : 0;
  const [action, ...rest] = words.slice(at);
  const which = { inbox: "--agent", claim: "--agent", release: "--agent", init: "--agent", note: "--from", send: "--from", ack: "--from", done: "--from" }[action];
  const has = (name) => rest.some((w) => w === name || w.startsWith(name + "="));
  const added = which && !has(which) ? [which, me] : [];
  if (action === "inbox" && !["--clear", "--no-clear", "--since-last-read", "--peek"].some(has)) added.push("--since-last-read");
  return [...words.slice(0, at), action, ...added, ...rest];
}
