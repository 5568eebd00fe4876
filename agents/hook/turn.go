package hook

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// moves records what an event tells of the agent's turn, for its keeper: a sign of
// life within it, or its end.
func (c *Call) moves() {
	switch {
	case slices.Contains([]string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact"}, c.Event):
		c.turn(true)
	case !c.in.helper && slices.Contains([]string{"SessionStart", "Stop", "SessionEnd"}, c.Event):
		c.turn(false)
	}
}

// turn records that the agent is in a turn, or that it waits for a prompt.
func (c *Call) turn(on bool) {
	if slices.ContainsFunc(c.Runtime.HookEvents, func(e spec.HookEvent) bool { return e.Event == "Stop" && e.Level == "manual" }) {
		return // a turn whose end no hook tells would never end
	}
	var err error
	if on {
		err = keeper.Moves(c.project, c.own.Name, detect.StallAfter(c.Runtime, c.Getenv))
	} else {
		err = keeper.Rests(c.project, c.own.Name)
	}
	if err != nil {
		fmt.Fprintf(c.Err, "aisync hook %s: record the turn: %s\n", c.Event, termtext.OneLine(err.Error()))
	}
}
