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

// RehearseCommand is the argument with which this program calls itself to evaluate
// specs in another process. Go exits with 2 when memory runs out, which would read
// as drift.
const RehearseCommand = "__rehearse"

// rehearsal is the input of the other process.
type rehearsal struct {
	HostDir, HostName, ProjectDir, Cwd string
	Scope                              schema.Scope
	Texts                              map[string][]byte
	Bases                              map[string]string
}

// rehearse implements schema.Options.Rehearse: it loads o in another process.
func (a *App) rehearse(ctx context.Context, o schema.Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := json.Marshal(rehearsal{o.HostDir, o.HostName, o.ProjectDir, o.Cwd, o.Scope, o.Texts, o.Bases})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"aisync", RehearseCommand}
	cmd.Env = append(a.Env.List(), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = bytes.NewReader(in), &out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C reaches this process, which ends the other
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == ExitError && out.Len() > 0:
		return errors.New(strings.TrimSpace(out.String()))
	}
	return fmt.Errorf("takes more memory than there is (%w)", err)
}

// RehearseHere runs that process: it loads the specs of in, prints to out what they
// take too much of, and returns the exit code. Other errors are left to the caller,
// which loads the specs again.
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
	o := schema.Options{HostDir: r.HostDir, HostName: r.HostName, ProjectDir: r.ProjectDir, Cwd: r.Cwd, Scope: r.Scope, Texts: r.Texts, Bases: r.Bases}
	o.NoHost = func(schema.Problem) {}
	o.Abort = func(error) { os.Exit(ExitError) }
	var costly *schema.CostlyError
	if _, err := schema.Load(context.Background(), o); errors.As(err, &costly) {
		fmt.Fprintln(out, costly.What)
		return ExitError
	}
	return ExitOK
}

// abort reports err and exits: the spec would soon exhaust this process.
func (a *App) abort(err error) {
	code := a.Report(err)
	a.Log("exit", "code", code)
	os.Exit(code)
}
