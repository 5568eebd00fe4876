package catalog

import (
	_ "embed" // delivered.json
	"encoding/json"
	"slices"

	"aisync.dev/aisync/schema/spec"
)

// HookShape is the form in which a program takes the answer of a hook.
type HookShape string

// Shapes, each named for the program that introduced it.
const (
	HookClaude  HookShape = "claude"  // hookSpecificOutput, decision: "block"
	HookGemini  HookShape = "gemini"  // hookSpecificOutput, decision: "deny"
	HookCopilot HookShape = "copilot" // additionalContext and permissionDecision at the top
)

// HookForm is how the hooks of a program tell what happened, and what it does
// with their answers. Names of events are the neutral ones.
type HookForm struct {
	Shape HookShape

	// Fields of the input, each with the names that programs use for it.
	Session, Tool, Arguments string

	Tells   []string // events whose text reaches the model
	Refuses bool     // PreToolUse can refuse a call, and the model learns why
	GoesOn  bool     // Stop can give the model more to do
}

// hookForms are what the programs' own documents and programs say; docs/ensemble.md
// shows what was seen to arrive. Modules that aisync writes for a program
// translate between it and the shape of Claude Code.
var hookForms = map[string]HookForm{
	// https://code.claude.com/docs/en/hooks
	"claude": {HookClaude, "session_id", "tool_name", "tool_input", []string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, true, true},
	"cline":  {HookClaude, "session_id", "tool_name", "tool_input", []string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, true, false},
	// the JSON schemas in its program, such as session-start.command.output
	"codex": {HookClaude, "session_id", "tool_name", "tool_input", []string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, true, true},
	// https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference
	"copilot": {HookCopilot, "sessionId", "toolName", "toolArgs", []string{"SessionStart", "PostToolUse"}, true, true},
	// bundle/docs/hooks/reference.md in its package
	"gemini":   {HookGemini, "session_id", "tool_name", "tool_input", []string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, true, true},
	"opencode": {HookClaude, "session_id", "tool_name", "tool_input", []string{"UserPromptSubmit", "PostToolUse"}, true, false},
	// 10-hooks.md of its guide, ~/.grok/docs
	"grok": {HookClaude, "session_id", "tool_name", "tool_input", []string{"PostToolUse"}, true, true},
	"kilo": {HookClaude, "session_id", "tool_name", "tool_input", []string{"UserPromptSubmit", "PostToolUse"}, true, false},
	"pi":   {HookClaude, "session_id", "tool_name", "tool_input", []string{"UserPromptSubmit", "PostToolUse"}, true, true},
	// https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks
	"qwen": {HookClaude, "session_id", "tool_name", "tool_input", []string{"SessionStart", "UserPromptSubmit", "PostToolUse"}, true, true},
}

// HookFormOf returns the form of a runtime's hooks; ok is false if none is known.
func HookFormOf(runtime string) (form HookForm, ok bool) {
	form, ok = hookForms[runtime]
	return form, ok
}

// CallsHooksOf reports whether rt also calls the hooks of another program in a
// project, in their form: with hooks of its own, it would do everything twice. A test
// with the real programs compares it with what they do.
func CallsHooksOf(rt, other spec.Runtime) bool {
	own, theirs := rt.Project.Events, other.Project.Events
	return own != nil && theirs != nil && slices.Contains(own.Also, theirs.Path)
}

// HookCommand returns the command line that the ledger installs for an event of a
// program.
func HookCommand(event, runtime string) string {
	return "aisync hook " + event + " --runtime " + runtime
}

// TeamEvents returns the events by which a runtime tells what the agents of a team
// do that one session of it leads; none for most.
func TeamEvents(runtime string) []string {
	if runtime == "claude" { // https://code.claude.com/docs/en/hooks
		return []string{"TaskCreated", "TaskCompleted", "TeammateIdle"}
	}
	return nil
}

// CompactionMark returns the text with which a program's transcript holds a compacted
// history, where its PreCompact with the trigger "auto" only says that it will look
// whether to compact; "" where that event tells of a compaction.
func CompactionMark(runtime string) string {
	if runtime == "gemini" { // ChatCompressionService and ChatRecordingService in its package, 0.61.0
		return "<state_snapshot>"
	}
	return ""
}

// TellsAt reports whether text for the model can be given at an event.
func (f HookForm) TellsAt(event string) bool { return slices.Contains(f.Tells, event) }

// Delivery is at which events the ledger reached a program.
type Delivery struct {
	Version string   `json:"version"` // of the program
	Events  []string `json:"events"`
}

//go:embed delivered.json
var deliveredText []byte

// Deliveries returns what a test with the real programs saw, by runtime.
func Deliveries() map[string]Delivery {
	var d struct {
		Runtimes map[string]Delivery `json:"runtimes"`
	}
	if err := json.Unmarshal(deliveredText, &d); err != nil {
		panic(err) // embedded: a test reads it
	}
	return d.Runtimes
}
