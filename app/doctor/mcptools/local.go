package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/netjail"
	"aisync.dev/aisync/internal/termtext"
)

// Local is a server that is started, and spoken to over stdin and stdout.
type Local struct {
	Argv    []string // the program by its path, and its arguments
	Env     []string
	Dir     string
	Version string // of this program, which the server is told
	Alone   bool   // without a network; it is not started where that cannot be had
}

// Tools starts the server, returns the names of its tools and ends it with all
// that it started. The error wraps netjail.ErrNone where Alone cannot be had.
func (l Local) Tools(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.Command(l.Argv[0], l.Argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if l.Alone {
		if _, err := exec.LookPath(l.Argv[0]); err != nil {
			return nil, err // the jail would say it less plainly
		}
		var err error
		if cmd, err = netjail.Command(l.Argv); err != nil {
			return nil, err
		}
	}
	cmd.Env, cmd.Dir = l.Env, l.Dir
	cmd.SysProcAttr.Setpgid = true // it may be a starter: what it starts is ended with it
	cmd.WaitDelay = time.Second
	words := &tail{}
	cmd.Stderr = words
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		if l.Alone && netjail.Refused(err) {
			return nil, netjail.ErrNone
		}
		return nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxMessage)
	p := &pipe{in: in, lines: make(chan []byte), ended: make(chan error, 1)}
	go func() {
		defer close(p.lines)
		for lines.Scan() {
			select {
			case p.lines <- bytes.Clone(lines.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		p.ended <- lines.Err()
	}()
	tools, err := list(ctx, p, l.Version)
	cause := ctx.Err() // a time limit, before it is cancelled here
	in.Close()
	p.end(cmd.Process.Pid)
	cancel()
	ended := cmd.Wait() // how a server ended is no matter
	switch said := words.last(); {
	case err == nil:
		return tools, nil
	case l.Alone && netjail.Refused(ended):
		return nil, netjail.ErrNone
	case errors.Is(cause, context.DeadlineExceeded):
		return nil, errors.New("it did not answer in time" + said)
	default:
		return nil, fmt.Errorf("%w%s", err, said)
	}
}

// pipe is a conversation over stdin and stdout, one message a line.
type pipe struct {
	in    io.Writer
	lines chan []byte
	ended chan error
}

func (p *pipe) tell(_ context.Context, m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err = p.in.Write(append(b, '\n')); err != nil {
		return errEnded
	}
	return nil
}

// errEnded means that nothing more can come from a server.
var errEnded = errors.New("it ended before it answered")

// call asks m and waits for its answer. What the server asks meanwhile is
// refused, but for a ping; lines that are no message are passed over.
func (p *pipe) call(ctx context.Context, m message) (json.RawMessage, error) {
	if err := p.tell(ctx, m); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case line, ok := <-p.lines:
			if !ok {
				select {
				case err := <-p.ended:
					if err != nil {
						return nil, err
					}
				default:
				}
				return nil, errEnded
			}
			var got message
			if json.Unmarshal(line, &got) != nil {
				continue
			}
			switch {
			case got.Method != "" && got.ID != nil:
				answer := message{Version: "2.0", ID: got.ID, Error: &refusal{-32601, "not offered by this client"}}
				if got.Method == "ping" {
					answer.Error, answer.Result = nil, json.RawMessage("{}")
				}
				if err := p.tell(ctx, answer); err != nil {
					return nil, err
				}
			case got.Method != "" || !bytes.Equal(got.ID, m.ID):
			case got.Error != nil:
				return nil, got.Error
			default:
				return got.Result, nil
			}
		}
	}
}

// end ends the process group of a server whose stdin is closed: that is how the
// protocol says that it is over, so it gets some time for that, and less after a
// SIGTERM. Its leader has not been waited for, so that the group is still its.
func (p *pipe) end(group int) {
	for _, step := range []struct {
		wait time.Duration
		then syscall.Signal
	}{{2 * time.Second, syscall.SIGTERM}, {time.Second, syscall.SIGKILL}} {
		late := time.After(step.wait)
		for over := false; !over; {
			select {
			case _, more := <-p.lines:
				over = !more
			case <-late:
				over = true
			}
		}
		_ = syscall.Kill(-group, step.then) // who is gone needs no signal
	}
}

// tail keeps the last words that a server says on stderr.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - 4096; over > 0 {
		t.text = t.text[over:]
	}
	return len(b), nil
}

// last returns the last line as the end of a sentence, "" if there is none. Where
// that is a bracket, which ends the values that a runtime prints with an error, it
// is the last line with an error.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if strings.Trim(last, "{}[]()") == "" {
		for _, line := range lines {
			if strings.Contains(line, "rror") {
				last = strings.TrimSpace(line)
			}
		}
	}
	if last != "" {
		return "; its last words: " + termtext.Clip(termtext.Safe(last), 300)
	}
	return ""
}
