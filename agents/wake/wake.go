// Package wake wakes agents that sit in tmux: a short ping to the pane, while
// the message itself lies in the inbox. It stands outside of the ledger, which
// knows no panes: which agent sits where is in a file of its user. Start
// reading at Run.
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

// Exit codes, as those of the original's adapter.
const (
	exitDone    = 0
	exitError   = 1 // among others: tmux knows no such pane
	exitNoPane  = 2 // no pane is configured for the agent; a usage error too
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

// Program is one call.
type Program struct {
	ensemble.Program
	Home string // of the user: tmux.env is below it
}

// noPane says that nobody knows where an agent sits.
type noPane struct{ agent, variable, file string }

func (e noPane) Error() string {
	return fmt.Sprintf("no pane is known for %s; put %s=%%7 (see: ensemble-tmux panes) into %s", e.agent, e.variable, e.file)
}

// Run does what the words say and returns the exit code.
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
		words, message := cut(words, "message")
		if len(words) != 1 {
			return errors.New("wake wants one agent; a text goes behind --message")
		}
		if message == "" {
			message = "new message in your inbox: run ensemble inbox --agent " + words[0] + " --since-last-read"
		}
		return t.wake(words[0], message)
	case "send", "task":
		words, limit := cut(words, "timeout")
		timeout, err := seconds(limit)
		if err != nil {
			return err
		}
		id, err := p.send(t, words)
		if id == "" || command == "send" {
			return err
		}
		if err != nil {
			fmt.Fprintln(p.Err, err) // whoever reads the inbox without a ping can answer as well
		}
		return p.wait(l, id, timeout)
	case "wait":
		words, limit := cut(words, "timeout")
		timeout, err := seconds(limit)
		if err != nil {
			return err
		}
		if len(words) != 1 {
			return errors.New("wait wants one message id")
		}
		return p.wait(l, words[0], timeout)
	}
	return errUsage
}

// call runs a command of the ledger, which says itself what went wrong.
func (p Program) call(words []string, out io.Writer) error {
	e := p.Program
	e.Args, e.Out = append(p.rootFlag(), words...), out
	if ensemble.Run(e) != exitDone {
		return errSaid
	}
	return nil
}

// rootFlag is --root as it was given.
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

// idForm finds the name of a message in what send prints.
var idForm = regexp.MustCompile(`msg_[A-Za-z0-9_-]{8,64}`)

// send writes the message and pings the pane. The message is written even where
// nobody knows the pane.
func (p Program) send(t settings, words []string) (id string, err error) {
	var out bytes.Buffer
	if err := p.call(append([]string{"send"}, words...), &out); err != nil {
		return "", err
	}
	fmt.Fprint(p.Out, out.String())
	id = idForm.FindString(out.String())
	return id, t.wake(words[0], "new message "+id+" in your inbox: run ensemble inbox --agent "+words[0]+" --since-last-read")
}

// cut takes a flag and its value out of words.
func cut(words []string, name string) (rest []string, value string) {
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

// Comment makes of a text one line that no shell does anything with, in case
// that the agent has gone and its shell is back: it begins with #, and as zsh
// knows no comments at its prompt, it holds nothing that a shell acts upon.
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

// tmux runs tmux and returns what it prints.
func (s settings) tmux(words ...string) (string, error) {
	if s.socket != "" {
		words = append([]string{"-L", s.socket}, words...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", words...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("there is no tmux; install tmux")
		}
		return "", fmt.Errorf("tmux: %s", termtext.OneLine(errs.String()+" "+err.Error()))
	}
	return out.String(), nil
}
