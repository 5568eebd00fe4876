package acp

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/agents/wake"
)

// grace is how long a program has to end after its client did.
const grace = 10 * time.Second

// Serve runs the program of a runner between the client on in and out, and returns
// its exit code. The runner's Streams are Serve's to set, but for Err.
func Serve(ctx context.Context, run launch.Runner, in io.Reader, out io.Writer, say func(f string, a ...any)) (int, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	stdin, toAgent, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	defer stdin.Close()
	fromAgent, stdout, err := os.Pipe()
	if err != nil {
		toAgent.Close()
		return 1, err
	}
	defer stdout.Close()
	pings := make(chan string)
	deaf := func() {}
	run.Streams.In, run.Streams.Out, run.Piped = stdin, stdout, true
	run.Seated = func(room *seat.Room, name string) {
		heard, stop, err := wake.Listen(room.Bell(name))
		if err != nil {
			say("%s is not woken: %v", name, err)
			return
		}
		over := make(chan struct{})
		deaf = func() { close(over); stop() }
		go func() {
			for {
				select {
				case text := <-heard:
					select {
					case pings <- text:
					case <-over:
						return
					}
				case <-over:
					return
				}
			}
		}()
	}
	relay := Relay{FromClient: in, ToClient: out, FromAgent: fromAgent, ToAgent: &agentEnd{File: toAgent, after: end}, Pings: pings, Say: say}
	done := make(chan error, 1)
	go func() {
		err := relay.Run()
		_ = toAgent.Close() // where the client takes no more, the program is to end
		_ = fromAgent.Close()
		done <- err
	}()
	code, err := run.Run(ctx)
	deaf()
	_ = stdout.Close()
	select {
	case passed := <-done:
		if passed != nil {
			say("to the client: %v", passed)
		}
	case <-time.After(grace): // a process that the program left behind holds its stdout
		say("the output of the program did not end with it")
	}
	return code, err
}

// agentEnd ends a program that goes on after its input ended.
type agentEnd struct {
	*os.File
	after func()
	once  sync.Once
}

func (a *agentEnd) Close() error {
	a.once.Do(func() { time.AfterFunc(grace, a.after) })
	return a.File.Close()
}
