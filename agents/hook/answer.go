package hook

import (
	"bytes"
	"encoding/json"

	"aisync.dev/aisync/catalog"
)

// specific is hookSpecificOutput of Claude Code's form.
type specific struct {
	Event    string `json:"hookEventName"`
	Context  string `json:"additionalContext,omitempty"`
	Decision string `json:"permissionDecision,omitempty"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
}

// decision is an answer at the top of the object.
type decision struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// tell writes text for the model.
func (c *Call) tell(text string) error {
	if c.form.Shape == catalog.HookCopilot {
		return c.print(struct {
			Context string `json:"additionalContext"`
		}{text})
	}
	return c.print(map[string]specific{"hookSpecificOutput": {Event: eventName(c.Runtime, c.Event), Context: text}})
}

// refuse writes that a call of a tool must not happen, and why.
func (c *Call) refuse(why string) error {
	switch c.form.Shape {
	case catalog.HookCopilot:
		return c.print(struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		}{"deny", why})
	case catalog.HookGemini:
		return c.print(decision{"deny", why})
	}
	return c.print(map[string]specific{"hookSpecificOutput": {Event: eventName(c.Runtime, c.Event), Decision: "deny", Reason: why}})
}

// goOn writes what the model shall do before it stops.
func (c *Call) goOn(text string) error {
	word := "block"
	if c.form.Shape == catalog.HookGemini {
		word = "deny"
	}
	return c.print(decision{word, text})
}

func (c *Call) print(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := c.Out.Write(b.Bytes())
	return err
}
