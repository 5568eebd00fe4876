// Package wake pings agents that run in tmux panes: it types a short comment
// into the pane, while the message lies in the inbox. The ledger knows no panes;
// tmux.env of the user maps agents to panes. Call Run.
package wake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"aisync.dev/aisync/agents/ensemble"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/internal/termtext"
)

// Exit codes of the original's adapter.
const (
	exitDone    = 0
	exitError   = 1 // also: tmux has no such pane
	exitNoPane  = 2 // no pane is configured for the agent; also a usage error
	exitTimeout = 124
)

const usage = `usage: ensemble-tmux [--root PATH] COMMAND

  status                                   agents, their panes and what they have not read
  panes                                    the panes that tmux has now
  wake AGENT [TEXT] [--message TEXT] [--pane PANE]
                                           ping the agent's pane; the message is in its inbox already
  send AGENT MESSAGE|-|--file FILE [--from NAME] [--type TYPE] [--reply-to ID]
       [--no-wake] [--pane PANE] [--wait] [--timeout SECONDS] [--interval SECONDS]
                                           put a message into the inbox, then ping; --wait waits for the answer
  task AGENT MESSAGE …                     send --wait
  wait ID [--timeout SECONDS] [--interval SECONDS]
                                           wait until a message is answered, acked or done
  note MESSAGE [--from NAME]               append a fact to the blackboard

The pane is --pane; or that in which the agent's process runs, if the agent has a
seat; or ENSEMBLE_TMUX_<AGENT>_PANE in the environment or in
~/.config/pi-ensemble/tmux.env; <AGENT> in capitals, with _ for - and dots. Words
after -- are text. ENSEMBLE_ROOT, ENSEMBLE_FROM and ENSEMBLE_TMUX_CONFIG stand for
--root, --from and that file.
Exit codes: 0 done, 1 error or no such pane, 2 usage, or no pane known, 124 timeout.
`

// Program is one invocation.
type Program struct {
	ensemble.Program
	Home string // the user's; tmux.env is below it
}

// Run executes the words and returns the exit code.
func Run(p Program) int {
	err := p.run()
	var none noPane
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errUsage):
		fmt.Fprint(p.Out, usage)
		return exitNoPane
	case errors.As(err, new(badUsage)):
		fmt.Fprintln(p.Err, err)
		return exitNoPane
	}
	if !errors.Is(err, errSaid) {
		fmt.Fprintln(p.Err, err)
	}
	switch {
	case errors.As(err, &none):
		return exitNoPane
	case errors.Is(err, errTimeout):
		return exitTimeout
	}
	return exitError
}

// badUsage is what is wrong with the words.
type badUsage string

func (e badUsage) Error() string { return string(e) + "; run: ensemble-tmux help" }

var (
	errUsage   = errors.New("usage")
	errTimeout = errors.New("timed out")
	errSaid    = errors.New("said already")
)

func (p Program) run() error {
	if root := p.Getenv("ENSEMBLE_ROOT"); root != "" && p.rootFlag() == nil {
		p.Args = append([]string{"--root", root}, p.Args...)
	}
	l, words, err := p.Open()
	if len(words) == 0 && !errors.Is(err, ledger.ErrNoLedger) && err != nil {
		return err
	}
	if len(words) == 0 || words[0] == "help" || words[0] == "--help" || words[0] == "-h" {
		fmt.Fprint(p.Out, usage)
		return nil
	}
	known, ok := flags[words[0]]
	if !ok {
		return errUsage
	}
	a, failed := known.parse(words[0], words[1:])
	if failed != nil {
		return failed
	}
	t, failed := p.settings()
	if failed != nil {
		return failed
	}
	if err != nil && words[0] != "panes" {
		return err
	}
	t.ledger = l
	switch words[0] {
	case "status":
		return p.status(l, t)
	case "panes":
		return t.panes(p.Out)
	case "note":
		return p.call(p.forward("note", a), p.Out)
	case "wake":
		if len(a.words) == 0 {
			return badUsage("wake takes an agent")
		}
		text := a.value["message"]
		if text == "" {
			text = strings.Join(a.words[1:], " ")
		}
		return p.wake(t, ping{to: a.words[0], pane: a.value["pane"], text: text})
	case "wait":
		timeout, interval, err := a.times()
		switch {
		case err != nil:
			return err
		case len(a.words) != 1:
			return badUsage("wait takes one message id")
		}
		return p.wait(l, a.words[0], timeout, interval)
	}
	timeout, interval, err := a.times()
	if err != nil {
		return err
	}
	id, err := p.send(t, a)
	if id == "" || words[0] == "send" && !a.on["wait"] {
		return err
	}
	if err != nil {
		fmt.Fprintln(p.Err, err) // an agent that reads its inbox without the ping can answer too
	}
	return p.wait(l, id, timeout, interval)
}

// call runs a command of the ledger, which prints its errors.
func (p Program) call(words []string, out io.Writer) error {
	e := p.Program
	e.Args, e.Out = append(p.rootFlag(), words...), out
	if ensemble.Run(e) != exitDone {
		return errSaid
	}
	return nil
}

// rootFlag returns --root as given.
func (p Program) rootFlag() []string {
	for i, w := range p.Args {
		if w == "--root" && i+1 < len(p.Args) {
			return p.Args[i : i+2 : i+2]
		}
		if strings.HasPrefix(w, "--root=") {
			return []string{w}
		}
	}
	return nil
}

// idForm matches a message id in the output of send.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`msg_[A-Za-z0-9_-]{8,64}`) })

// send writes the message and pings the pane. It writes the message even if the
// pane is unknown.
func (p Program) send(t settings, a args) (id string, err error) {
	if len(a.words) == 0 {
		return "", badUsage("send takes an agent and a message")
	}
	var out bytes.Buffer
	if err := p.call(p.forward("send", a), &out); err != nil {
		return "", err
	}
	var m struct{ MessageID, From, To, Type, ReplyTo string } // the sender may be a seat
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return "", fmt.Errorf("read the record of the message: %w", err)
	}
	text := fmt.Sprintf("sent to %s: %s", m.To, m.MessageID)
	if m.ReplyTo != "" {
		text += " (reply to " + m.ReplyTo + ")"
	}
	if _, err := fmt.Fprintln(p.Out, text); err != nil {
		return m.MessageID, err
	}
	if a.on["no-wake"] {
		return m.MessageID, nil
	}
	ask := ping{to: m.To, pane: a.value["pane"], text: fmt.Sprintf("%s from %s %s", m.Type, m.From, m.MessageID)}
	if ask.waits = m.Type == "handoff" || m.Type == "question"; ask.waits {
		ask.text += fmt.Sprintf(", answer: ensemble --root %s send %s RESULT --from %s --type result --reply-to %s", t.ledger.Root, m.From, m.To, m.MessageID)
	}
	return m.MessageID, p.wake(t, ask)
}

// harmless reports whether no shell interprets a character.
func harmless(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.,:/@+%", r)
}

// maxComment bounds a ping, in characters: a long path, and how to answer, fit.
const maxComment = 600

// Comment turns a text into one line that is harmless in a shell, in case the
// agent has exited and its pane shows a prompt. The line begins with #, and
// contains no character that a shell interprets, because zsh knows no comments
// at its prompt.
func Comment(text string) string {
	safe := strings.Map(func(r rune) rune {
		if harmless(r) {
			return r
		}
		return ' '
	}, text)
	line := []rune("# pi-ensemble: " + termtext.OneLine(safe))
	return string(line[:min(len(line), maxComment)])
}
