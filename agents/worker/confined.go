package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/schema/spec"
)

// ModelPort is the port of the loopback of a sandbox without a network at which a
// command reaches the endpoint of its Confined.
const ModelPort = 11400

// maxOutput is how much of a confined command's output goes to the worker's log.
const maxOutput = 64 << 20

// Confined is the sandbox of a worker's command. The keeper makes it, so that it
// ends with the keeper, however that ends, and with it all of its processes.
type Confined struct {
	Schema   int               `json:"schemaVersion"`
	Marker   string            `json:"marker"`
	Box      sandbox.Box       `json:"sandbox"`
	Env      []string          `json:"environment,omitempty"` // of the command, besides the few variables of every sandbox
	Files    map[string][]byte `json:"files,omitempty"`       // of its home
	Endpoint string            `json:"endpoint,omitempty"`    // a server with models, at its ModelPort where it has no network, or the server asks for a key
	Access   spec.Access       `json:"access,omitzero"`       // what requests to that must carry, by name
}

// RecordConfined writes c in a worker's folder, once.
func RecordConfined(folder string, c Confined) error {
	c.Schema = schema
	_, err := createOnce(folder, boxFile, c)
	return err
}

// InSandbox reports whether the worker of a folder runs in a sandbox, or not at all.
func InSandbox(folder, marker string) bool {
	var j Job
	is, err := load(folder, startFile, &j, func() string { return j.Marker }, marker)
	return err == nil && is && j.Sandbox
}

// confined reads the sandbox of the worker. It refuses one that does not confine.
func (k *keeper) confined() (c Confined, err error) {
	there, err := load(k.folder, boxFile, &c, func() string { return c.Marker }, k.job.Marker)
	switch {
	case err != nil:
		return c, err
	case !there:
		return c, fmt.Errorf("the command runs only in a sandbox, and there is no %s", boxFile)
	case c.Box.Way != sandbox.Namespaces && c.Box.Way != sandbox.Bubblewrap, c.Box.Tree != k.job.Dir, k.ticket.Pane != nil:
		return c, fmt.Errorf("the command runs only in a sandbox, and %s describes none for it", boxFile)
	}
	return c, nil
}

// runConfined runs the command in its sandbox and returns how it ended. When it
// has ended, so have all processes in the sandbox.
func (k *keeper) runConfined(signals <-chan os.Signal) Exit {
	failed := func(err error) Exit { return Exit{Code: 127, Error: err.Error()} }
	c, err := k.confined()
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(c.Box.Scratch) // a home and /tmp, which the command alone had
	if c.Endpoint != "" && (c.Box.Isolated() || !c.Access.Open()) {
		header, err := c.Access.Header(secret)
		if err != nil {
			return failed(fmt.Errorf("the endpoint's %w", err))
		}
		gate, err := confine.OpenGate(c.Endpoint, 0, header)
		if err != nil {
			return failed(err)
		}
		defer func() {
			gate.Close()
			for _, r := range gate.Refused() {
				fmt.Fprintf(os.Stderr, "aisync: the command asked the endpoint for %s, which is not allowed\n", r)
			}
		}()
		if c.Box.Isolated() {
			c.Box.Doors = []sandbox.Door{{Port: ModelPort, To: gate.Addr().String()}}
		} else {
			c.move(gate.Addr().String())
		}
	}
	if err := (confine.Setting{Files: c.Files}).Write(c.Box); err != nil {
		return failed(err)
	}
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	type end struct {
		result sandbox.Result
		err    error
	}
	ended, done := make(chan end, 1), make(chan struct{})
	defer close(done)
	go func() {
		r, err := c.Box.Run(ctx, sandbox.Command{
			Argv: k.job.Command, Log: os.Stdout, Limit: maxOutput,
			Env: append(c.Env, "PWD="+k.job.Dir, VarMarker+"="+k.job.Marker), // programs trust PWD
		})
		ended <- end{r, err}
	}()
	go k.recordReady(done)
	var late <-chan time.Time
	for {
		select {
		case e := <-ended:
			switch {
			case errors.Is(e.err, context.Canceled):
				return Exit{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL.String()}
			case e.err != nil:
				return failed(e.err)
			}
			return Exit{Code: e.result.Exit}
		case s := <-signals:
			if s == syscall.SIGTERM && late == nil {
				askInside()
				late = time.After(Grace)
			}
		case <-late:
			kill()
			late = nil
		}
	}
}

// move puts the endpoint at another address than its ModelPort, as it is where the
// command shares the machine's network.
func (c *Confined) move(to string) {
	at := fmt.Sprintf("127.0.0.1:%d", ModelPort)
	for name, text := range c.Files {
		c.Files[name] = bytes.ReplaceAll(text, []byte(at), []byte(to))
	}
	for i, pair := range c.Env {
		c.Env[i] = strings.ReplaceAll(pair, at, to)
	}
}

// secret reads a secret outside of the sandbox.
func secret(s spec.Secret) (string, error) {
	if s.Env != "" {
		if value := os.Getenv(s.Env); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the variable %s is not set", s.Env)
	}
	b, err := os.ReadFile(s.File)
	return strings.TrimSpace(string(b)), err
}

// askInside asks the processes of the sandbox to end. Its first process, our
// child, ends with them.
func askInside() {
	t := process.System()
	for _, p := range process.Descendants(t, os.Getpid()) {
		if p.Parent == os.Getpid() {
			continue
		}
		if id, err := identify(t, p.PID); err == nil && id.Start == p.Start {
			_ = id.signal(t, unix.SIGTERM)
		}
	}
}
