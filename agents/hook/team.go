package hook

import (
	"cmp"
	"fmt"
	"slices"

	"aisync.dev/aisync/internal/termtext"
)

// TeamEvents are the events of an agent's own team, whose lead the agent is: the
// ledger gets what becomes of its tasks, and no talk. catalog.TeamEvents says which
// program has them.
var TeamEvents = []string{"TaskCreated", "TaskCompleted", "TeammateIdle"}

// Known reports whether Answer knows an event.
func Known(event string) bool {
	return slices.Contains(Events, event) || slices.Contains(TeamEvents, event)
}

// maxSubject is the most bytes of a task's subject on the blackboard.
const maxSubject = 300

// team writes an event of the agent's team to the blackboard, under the agent's
// name. That a teammate is idle it writes once, until that one has to do with a
// task again.
func (c *Call) team() error {
	mate := shown(c.in.teammate, 100)
	idle := slices.Contains(c.own.Idle, mate)
	var text string
	switch c.Event {
	case "TeammateIdle":
		if mate == "" || idle {
			return nil
		}
		text = fmt.Sprintf("teammate %s is idle", mate)
		c.own.Idle = append(c.own.Idle, mate)
	default:
		what := map[string]string{"TaskCreated": "created", "TaskCompleted": "completed"}[c.Event]
		text = fmt.Sprintf("team task %s %s", cmp.Or(shown(c.in.task, 100), "without an id"), what)
		if mate != "" {
			text += " by " + mate
			c.own.Idle = slices.DeleteFunc(c.own.Idle, func(name string) bool { return name == mate })
		}
		if subject := shown(c.in.subject, maxSubject); subject != "" {
			text += ": " + subject
		}
	}
	if _, err := c.ledger.Note(c.own.Name, text); err != nil {
		return fmt.Errorf("note what the team does: %w", err)
	}
	if idle || c.Event == "TeammateIdle" {
		return c.seen()
	}
	return nil
}

// shown returns a text of a program as one safe line of at most n bytes.
func shown(text string, n int) string {
	return termtext.Clip(termtext.Safe(termtext.OneLine(text)), n)
}
