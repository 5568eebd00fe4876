package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
)

// errNoAnswer reports the end of input at a question. It is never a yes.
var errNoAnswer = errors.New("no answer: the input ended before the question was answered")

// ErrCancelled reports a no to Confirm.
var ErrCancelled = errors.New("cancelled: nothing was changed")

// Ask asks a question on stderr and reads the answer. Anything but y or yes is no;
// the end of input is an error.
func (a *App) Ask(question string) (bool, error) { return a.ask(question, "[y/N]", "y", "yes") }

// AskForYes is Ask, except that an empty line is yes.
func (a *App) AskForYes(question string) (bool, error) {
	return a.ask(question, "[Y/n]", "", "y", "yes")
}

func (a *App) ask(question, answers string, yes ...string) (bool, error) {
	fmt.Fprintf(a.Err, "%s %s ", question, answers)
	line, err := readLine(a.Input())
	if err != nil {
		fmt.Fprintln(a.Err)
		return false, err
	}
	return slices.Contains(yes, strings.ToLower(strings.TrimSpace(line))), nil
}

// Choose asks a question with several answers, each of which may be typed by its
// first letter. Any other input is the last answer; the end of input is an error.
func (a *App) Choose(question string, answers ...string) (string, error) {
	last := len(answers) - 1
	var letters []string
	for i, answer := range answers {
		letter := answer[:1]
		if i == last {
			letter = strings.ToUpper(letter)
		}
		letters = append(letters, "["+letter+"]"+answer[1:])
	}
	fmt.Fprintf(a.Err, "%s %s: ", question, strings.Join(letters, ", "))
	line, err := readLine(a.Input())
	if err != nil {
		fmt.Fprintln(a.Err)
		return "", err
	}
	typed := strings.ToLower(strings.TrimSpace(line))
	for _, answer := range answers {
		if typed == answer || typed == answer[:1] {
			return answer, nil
		}
	}
	return answers[last], nil
}

// Confirm asks for a yes and returns an error without it. yes, from --yes, answers
// the question; without a terminal --yes is required.
func (a *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.Terminal() {
		return advice.Command(errors.New("confirmation required, but stdin is not a terminal"), "the same command with --yes")
	}
	ok, err := a.Ask(question)
	if err != nil {
		return err
	}
	if !ok {
		return ErrCancelled
	}
	return nil
}

// Input returns stdin for this process to read. A signal ends a read with Signalled
// as its error: Ctrl-C at a question ends the command.
func (a *App) Input() io.Reader {
	if a.Signals == nil {
		return a.In
	}
	return interruptible{a.Signals, a.In}
}

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader. Bytes read after the signal are lost: the process ends.
func (i interruptible) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own, done := make([]byte, len(b)), make(chan result, 1)
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(b, own[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}

// readLine reads one line and not a byte more: the next question reads the rest.
func readLine(r io.Reader) (string, error) {
	if br, ok := r.(*bufio.Reader); ok {
		return br.ReadString('\n')
	}
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
			continue
		}
		if errors.As(err, new(Signalled)) {
			return "", err
		}
		if err != nil {
			return "", errNoAnswer
		}
	}
}
