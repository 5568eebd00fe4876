package hook

import (
	"fmt"
	"os"
	"strings"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/internal/unixpath"
)

// maxListed bounds the agents, claims and tasks that a model is told of, so that
// it costs a known number of tokens.
const maxListed = 8

// leads tells the primary of its role.
const leads = "You are the primary of this project: mail to " + seat.Primary + " is for you, too."

// prime returns what situation returns, and how to take part.
func (c *Call) prime() (string, error) {
	text, err := c.situation()
	return text + fmt.Sprintf("An edit of a file that another agent claims is refused; while you are not alone, what you edit is claimed for you. Commands:\n"+
		"  aisync ledger claim PATH --agent %[1]s    aisync ledger release PATH --agent %[1]s\n"+
		"  aisync ledger send NAME \"TEXT\" --from %[1]s --type handoff|question|note    (answer: --type result --reply-to ID)\n"+
		"  NAME is an agent, %[2]s, or %[3]s for every agent at work\n"+
		"  aisync ledger overview    aisync ledger claims    aisync who", c.own.Name, seat.Primary, seat.All), err
}

// situation returns who the agent is, who is here, what is claimed, and which tasks
// wait.
func (c *Call) situation() (string, error) {
	var b strings.Builder
	name := c.own.Name
	fmt.Fprintf(&b, "Several agents may work in this project; its ledger is %s. Your name there is %s.\n", c.relative(unixpath.Join(c.root, ledger.Dir)), name)
	if c.own.Primary {
		b.WriteString(leads + "\n")
	}
	c.primeAgents(&b)
	var fault error
	claims, err := c.ledger.Claims()
	if err != nil {
		fmt.Fprintf(&b, "Claims: unknown, the list is unreadable.\n")
		fault = err
	}
	var own, theirs []string
	for _, claim := range claims {
		if claim.Agent == name && claim.State != ledger.Ended {
			own = append(own, c.relative(claim.Path))
			continue
		}
		who := claim.Agent
		switch {
		case c.ended(claim):
			who += ", which has ended"
		case claim.State == ledger.Stale:
			who += ", stale: no sign of life"
		}
		theirs = append(theirs, fmt.Sprintf("%s (%s)", c.relative(claim.Path), who))
	}
	list(&b, "You claim", own)
	list(&b, "Others claim", theirs)
	list(&b, "Open tasks", c.tasks())
	if c.isHelper() {
		b.WriteString("You are a helper: changes to git and to memory files are the primary's.\n")
	}
	return termtext.SafeLines(b.String()), fault
}

// primeAgents lists who else is here: agents that call hooks, and agent programs
// whose working folder is in the project.
func (c *Call) primeAgents(b *strings.Builder) {
	var here []string
	seen := map[int]bool{}
	for _, r := range c.others {
		switch c.life(r) {
		case keeper.Alive:
			seen[r.PID] = true
			here = append(here, fmt.Sprintf("%s (%s)", r.Name, r.Runtime))
		case keeper.Unknown:
			seen[r.PID] = true
			here = append(here, fmt.Sprintf("perhaps %s (%s, last seen %s)", r.Name, r.Runtime, r.Seen.Local().Format("2006-01-02 15:04")))
		}
	}
	found := roster.Look(c.Table, c.root, c.Runtimes, func() keeper.Caller {
		a := c.agent()
		return keeper.Caller{ID: a.ID, Session: a.Session, Launch: a.Launch}
	})
	for _, a := range found.Agents {
		if !seen[a.PID] && a.PID != c.own.PID {
			here = append(here, fmt.Sprintf("process %d (%s, without a name in the ledger)", a.PID, a.Runtime))
		}
	}
	switch {
	case len(here) > 0:
		list(b, "Other agents here", here)
	case found.Complete():
		b.WriteString("Other agents here: none.\n")
	}
	if !found.Complete() {
		list(b, "There may be more agents here", found.Doubts())
	}
}

// list writes one line with the first names, and how many more there are.
func list(b *strings.Builder, what string, names []string) {
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - maxListed; n > 0 {
		names, more = names[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	for i, n := range names {
		names[i] = termtext.Clip(termtext.OneLine(n), 160)
	}
	fmt.Fprintf(b, "%s: %s%s.\n", what, strings.Join(names, ", "), more)
}

// tasks lists the files of queued tasks.
func (c *Call) tasks() []string {
	top := unixpath.Join(c.root, "tasks/queue")
	queues, _ := os.ReadDir(top) // a project without tasks has none
	var out []string
	for _, q := range queues {
		files, _ := os.ReadDir(unixpath.Join(top, q.Name()))
		for _, f := range files {
			name := f.Name()
			if ext := unixpath.Ext(name); f.Type().IsRegular() && (ext == ".yml" || ext == ".yaml") && !strings.HasPrefix(name, ".") {
				out = append(out, strings.TrimSuffix(name, ext))
			}
		}
	}
	return out
}
