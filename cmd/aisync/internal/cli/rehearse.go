package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/limit"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/schema"
)

// RehearseCommand is the word with which this program calls itself to evaluate
// specs that may end the process which does: Go ends with 2 where memory runs
// out, which would read as drift.
const RehearseCommand = "__rehearse"

// rehearsal is what the other process loads.
type rehearsal struct {
	HostDir, HostName, ProjectDir, Cwd string
	Scope                              schema.Scope
	Texts                              map[string][]byte
}

// rehearse is schema.Options.Rehearse: it loads o in a process of its own.
func (a *App) rehearse(ctx context.Context, o schema.Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := json.Marshal(rehearsal{o.HostDir, o.HostName, o.ProjectDir, o.Cwd, o.Scope, o.Texts})
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"aisync", RehearseCommand}
	cmd.Env = append(a.Env.List(), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = bytes.NewReader(in), &said, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for this process, which ends the other
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ended) && ended.ExitCode() == ExitError && said.Len() > 0:
		return errors.New(strings.TrimSpace(said.String()))
	}
	return fmt.Errorf("takes more memory than there is (%w)", err)
}

// RehearseHere is that process. What is wrong with the specs is said by the one
// that asked; only what they take too much of counts.
func RehearseHere(in io.Reader, out io.Writer) int {
	b, err := io.ReadAll(io.LimitReader(in, 8*regular.MaxSpec))
	var r rehearsal
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return ExitUsage
	}
	limit.Bound(2 * limit.Default.Memory)
	o := schema.Options{HostDir: r.HostDir, HostName: r.HostName, ProjectDir: r.ProjectDir, Cwd: r.Cwd, Scope: r.Scope, Texts: r.Texts}
	o.NoHost = func(schema.Problem) {}
	o.Abort = func(error) { os.Exit(ExitError) }
	var costly *schema.CostlyError
	if _, err := schema.Load(context.Background(), o); errors.As(err, &costly) {
		fmt.Fprintln(out, costly.What)
		return ExitError
	}
	return ExitOK
}

// abort ends the program because of a spec that would soon end it otherwise.
func (a *App) abort(err error) {
	code := a.Report(err)
	a.Log("exit", "code", code)
	os.Exit(code)
}
