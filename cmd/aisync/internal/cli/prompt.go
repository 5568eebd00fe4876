package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/internal/advice"
)

// errNoAnswer says that a question met the end of input, which is never a yes.
var errNoAnswer = errors.New("no answer: the input ended before the question was answered")

// Ask puts a question on the terminal. Anything but y or yes is no; the end of
// input is an error.
func (a *App) Ask(question string) (bool, error) {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	line, err := readLine(a.Input())
	if err != nil {
		fmt.Fprintln(a.Err)
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// Choose puts a question with several answers on the terminal, each known by
// its first letter. Anything else is the last of them; the end of input is an
// error.
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

// Confirm is ask where a yes is needed to go on: --yes gives it, and without a
// terminal it cannot be had.
func (a *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.Terminal() {
		return advice.Command(errors.New("nobody can be asked: this is no terminal, and --yes was not given"), "the same command with --yes")
	}
	ok, err := a.Ask(question)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("nothing was changed: you did not say yes")
	}
	return nil
}

// Input is the input that this process reads itself. A signal ends a read, which
// gives the signal as its error: Ctrl-C at a question ends the command.
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

// Read implements io.Reader. What is read after the signal is lost: the process
// is at its end.
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

// readLine reads one line and not a byte more, so that the next question finds
// its own.
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
