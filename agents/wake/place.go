package wake

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// ping is a call for an agent's attention.
type ping struct {
	to    string // agent
	pane  string // the one that a person named, or ""
	text  string
	waits bool // the message wants an answer
}

// place is a pane of a server.
type place struct {
	server
	pane string
	pid  int    // the agent's process in it; 0: a person configured the pane
	told bool   // a hook of the agent brings its mail with any prompt
	bell string // what wakes it instead of a pane: the pipe of its relay
}

func (p place) String() string {
	if p.bell != "" {
		return fmt.Sprintf("by its client, process %d", p.pid)
	}
	if p.pid != 0 {
		return fmt.Sprintf("pane %s, process %d", p.pane, p.pid)
	}
	return "pane " + p.pane
}

// shells are the programs of a pane whose agent has ended.
var shells = []string{"sh", "bash", "zsh", "dash", "fish", "ksh"}

// place returns where to ping: the named pane; the relay or the pane of the live
// process of the agent that has the seat; else the configured one. It refuses a configured pane
// that shows a shell while the agent is known to have ended.
func (p Program) place(s settings, to ping) (place, error) {
	if !ledger.ValidAgent(to.to) {
		return place{}, fmt.Errorf("Invalid agent name: %s. Use 1-64 chars: letters, numbers, dot, underscore, hyphen.", to.to) //lint:ignore ST1005 the original's text
	}
	if to.pane != "" {
		return place{server: s.server, pane: to.pane}, nil
	}
	none := noPane{agent: to.to, variable: variable(to.to), file: s.file}
	configured := s.of(variable(to.to))
	if p.Table == nil || s.ledger == nil {
		if configured == "" {
			return place{}, none
		}
		return place{server: s.server, pane: configured}, nil
	}
	room := seat.At(p.Table, s.ledger.Root, time.Now())
	all, err := room.List()
	own := room.Reader(all, to.to, p.Getenv("USER"))
	if own == nil {
		if configured == "" {
			if err != nil {
				return place{}, err
			}
			return place{}, none
		}
		return place{server: s.server, pane: configured}, nil
	}
	// Before the pane, as an editor may run in one. Some programs call the end of a
	// session at the end of each turn: that a relay reads tells more.
	if bell := room.Bell(own.Name); rings(bell) {
		return place{pid: own.PID, told: told(own), bell: bell}, nil
	}
	if at, ok := paneOf(p.Table, own, room.Here()); ok {
		return at, nil
	}
	none.life, none.runtime = room.Life(own), own.Runtime
	if form, ok := catalog.HookFormOf(own.Runtime); ok {
		none.hook = form.GoesOn && own.Session != ""
	}
	if configured == "" {
		return place{}, none
	}
	if none.life == keeper.Gone {
		command, err := s.tmux("display-message", "-p", "-t", configured, "#{pane_current_command}")
		if err == nil && slices.Contains(shells, strings.TrimPrefix(strings.TrimSpace(command), "-")) {
			return place{}, fmt.Errorf("%s has ended, and pane %s shows %s; nothing was typed there; %s reads its inbox when it starts again", to.to, configured, strings.TrimSpace(command), to.to)
		}
	}
	return place{server: s.server, pane: configured}, nil
}

// paneOf returns the pane of a seat's process, by that process's environment, if
// the process is alive and runs in that pane.
func paneOf(t process.Table, s *seat.Seat, here keeper.Place) (place, bool) {
	if s.PID == 0 || s.Ended || !here.Shows(s.Place) {
		return place{}, false
	}
	now, err := t.Read(s.PID)
	if err != nil || now.Start != s.Start {
		return place{}, false
	}
	env, err := t.Env(s.PID)
	socket, _, _ := strings.Cut(env["TMUX"], ",")
	if err != nil || env["TMUX_PANE"] == "" || !filepath.IsAbs(socket) {
		return place{}, false
	}
	at := place{server: server{socket: socket}, pane: env["TMUX_PANE"], pid: s.PID, told: told(s)}
	// A server that was started again gives the same names to other panes.
	text, err := at.tmux("display-message", "-p", "-t", at.pane, "#{pane_pid}")
	first, bad := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || bad != nil {
		return place{}, false
	}
	inside := first == s.PID || slices.ContainsFunc(process.Ancestors(t, s.PID), func(a process.Process) bool { return a.PID == first })
	return at, inside
}

// Screen returns what the pane of a seat's live process shows; false where it runs in
// none that is visible from here.
func Screen(t process.Table, s *seat.Seat) (text string, ok bool) {
	at, ok := paneOf(t, s, keeper.Here(t))
	if !ok {
		return "", false
	}
	text, err := at.tmux("capture-pane", "-p", "-t", at.pane)
	return text, err == nil
}

// told reports whether an agent's mail comes with its next prompt, by a hook that
// was seen to call for it.
func told(s *seat.Seat) bool {
	form, _ := catalog.HookFormOf(s.Runtime)
	return s.Session != "" && catalog.WayOf(spec.Runtime{ID: s.Runtime}).Startup == catalog.HookInjection && form.TellsAt("UserPromptSubmit")
}

// wake types a comment and Enter into the agent's pane, or gives it to its relay.
func (p Program) wake(s settings, to ping) error {
	at, err := p.place(s, to)
	if none, ok := err.(noPane); ok && to.waits && none.hook && none.life == keeper.Alive {
		fmt.Fprintf(p.Err, "%s runs in no pane of tmux; its Stop hook gives it the message when its turn ends\n", to.to)
		return nil
	}
	if err != nil {
		return err
	}
	if at.bell == "" {
		if err := at.exists(at.pane); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("new inbox item, run: ensemble --root %s inbox --agent %s --since-last-read", s.ledger.Root, to.to)
	if strings.ContainsFunc(s.ledger.Root, func(r rune) bool { return !harmless(r) }) {
		text = fmt.Sprintf("new inbox item, run: ensemble inbox --agent %s --since-last-read", to.to) // the path would be another one
	}
	if at.told { // the prompt that this types is what its hook waits for; the command would find nothing new
		text = "new inbox item, which comes with this prompt"
	}
	if to.text != "" {
		text += " - " + to.text
	}
	if at.bell != "" {
		return Ring(at.bell, Comment(text))
	}
	if _, err := at.tmux("send-keys", "-t", at.pane, "-l", "--", Comment(text)); err != nil {
		return err
	}
	_, err = at.tmux("send-keys", "-t", at.pane, "Enter")
	return err
}

// noPane reports an agent without a pane.
type noPane struct {
	agent, variable, file string
	runtime               string      // "": it has no seat
	life                  keeper.Life // of the agent in the seat
	hook                  bool        // its Stop hook brings messages that want an answer
}

func (e noPane) Error() string {
	const give = "give --pane %%7 (see: ensemble-tmux panes), or put %s=%%7 into %s"
	switch {
	case e.runtime != "" && e.life == keeper.Gone:
		return fmt.Sprintf("%s (%s) has ended; it reads its inbox when it starts again; "+give, e.agent, e.runtime, e.variable, e.file)
	case e.runtime != "":
		return fmt.Sprintf("%s (%s) runs in no pane of tmux that is visible from here; it reads its inbox with its next prompt; "+give, e.agent, e.runtime, e.variable, e.file)
	}
	return fmt.Sprintf("no pane is configured for %s; "+give, cmp.Or(e.agent, "it"), e.variable, e.file)
}
