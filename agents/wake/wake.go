// Package wake pings agents that run in tmux panes: it types a short comment
// into the pane, while the message lies in the inbox. The ledger knows no panes;
// tmux.env of the user maps agents to panes. Call Run.
package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
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
  wake AGENT [--message TEXT]              ping the agent's pane; the message is in its inbox already
  send AGENT MESSAGE [--from NAME] [--type TYPE] [--reply-to ID]
                                           put a message into the inbox, then ping
  task AGENT MESSAGE [--from NAME] [--timeout SECONDS]
                                           send a handoff, ping, and wait for the answer
  wait ID [--timeout SECONDS]              wait until a message is answered, acked or done
  note MESSAGE [--from NAME]               append a fact to the blackboard

Panes: ENSEMBLE_TMUX_<AGENT>_PANE in the environment or in
~/.config/pi-ensemble/tmux.env; <AGENT> in capitals, with _ for - and dots.
Exit codes: 0 done, 1 error or no such pane, 2 no pane configured, 124 timeout.
`

// Program is one invocation.
type Program struct {
	ensemble.Program
	Home string // the user's; tmux.env is below it
}

// noPane reports an agent without a configured pane.
type noPane struct{ agent, variable, file string }

func (e noPane) Error() string {
	return fmt.Sprintf("no pane is configured for %s; put %s=%%7 (see: ensemble-tmux panes) into %s", e.agent, e.variable, e.file)
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

var (
	errUsage   = errors.New("usage")
	errTimeout = errors.New("timed out")
	errSaid    = errors.New("said already")
)

func (p Program) run() error {
	l, words, err := p.Open()
	if len(words) == 0 && !errors.Is(err, ledger.ErrNoLedger) && err != nil {
		return err
	}
	if len(words) == 0 || words[0] == "help" || words[0] == "--help" || words[0] == "-h" {
		fmt.Fprint(p.Out, usage)
		return nil
	}
	t, failed := p.settings()
	if failed != nil {
		return failed
	}
	command := words[0]
	if err != nil && command != "panes" {
		return err
	}
	words = words[1:]
	switch command {
	case "status":
		return p.status(l, t)
	case "panes":
		return t.panes(p.Out)
	case "note":
		return p.call(append([]string{"note"}, words...), p.Out)
	case "wake":
		words, message := cutFlag(words, "message")
		if len(words) != 1 {
			return errors.New("wake takes one agent; put the text after --message")
		}
		if message == "" {
			message = "new message in your inbox: run ensemble inbox --agent " + words[0] + " --since-last-read"
		}
		return t.wake(words[0], message)
	case "send", "task":
		words, limit := cutFlag(words, "timeout")
		timeout, err := seconds(limit)
		if err != nil {
			return err
		}
		id, err := p.send(t, words)
		if id == "" || command == "send" {
			return err
		}
		if err != nil {
			fmt.Fprintln(p.Err, err) // an agent that reads its inbox without the ping can answer too
		}
		return p.wait(l, id, timeout)
	case "wait":
		words, limit := cutFlag(words, "timeout")
		timeout, err := seconds(limit)
		if err != nil {
			return err
		}
		if len(words) != 1 {
			return errors.New("wait takes one message id")
		}
		return p.wait(l, words[0], timeout)
	}
	return errUsage
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
var idForm = regexp.MustCompile(`msg_[A-Za-z0-9_-]{8,64}`)

// send writes the message and pings the pane. It writes the message even if the
// pane is unknown.
func (p Program) send(t settings, words []string) (id string, err error) {
	var out bytes.Buffer
	if err := p.call(append([]string{"send"}, words...), &out); err != nil {
		return "", err
	}
	fmt.Fprint(p.Out, out.String())
	id = idForm.FindString(out.String())
	return id, t.wake(words[0], "new message "+id+" in your inbox: run ensemble inbox --agent "+words[0]+" --since-last-read")
}

// cutFlag removes a flag and its value from words.
func cutFlag(words []string, name string) (rest []string, value string) {
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "--":
			return append(rest, words[i:]...), value
		case words[i] == "--"+name && i+1 < len(words):
			i++
			value = words[i]
		case strings.HasPrefix(words[i], "--"+name+"="):
			value = strings.TrimPrefix(words[i], "--"+name+"=")
		default:
			rest = append(rest, words[i])
		}
	}
	return rest, value
}

func seconds(text string) (time.Duration, error) {
	if text == "" {
		return 10 * time.Minute, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("--timeout %s: want a number of seconds", text)
	}
	return time.Duration(n * float64(time.Second)), nil
}

// Comment turns a text into one line that is harmless in a shell, in case the
// agent has exited and its pane shows a prompt. The line begins with #, and
// contains no character that a shell interprets, because zsh knows no comments
// at its prompt.
func Comment(text string) string {
	safe := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.,:/@+%", r) {
			return r
		}
		return ' '
	}, text)
	line := []rune("# pi-ensemble: " + termtext.OneLine(safe))
	return string(line[:min(len(line), 240)])
}

// tmux runs tmux and returns its output.
func (s settings) tmux(words ...string) (string, error) {
	if s.socket != "" {
		words = append([]string{"-L", s.socket}, words...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u"}, words...)...) // UTF-8 whatever the locale
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("tmux is not installed")
		}
		return "", fmt.Errorf("tmux: %s", termtext.OneLine(errs.String()+" "+err.Error()))
	}
	return out.String(), nil
}
