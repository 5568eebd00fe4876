package everyproject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
)

// WorkerCommand is the argument with which this program calls itself to run commands
// in projects. A spec that takes all memory then ends a worker, and no other project.
const WorkerCommand = "__projects"

// request is a line of a worker's input: a command to run in a project.
type request struct {
	Dir  string   `json:"dir"`
	Args []string `json:"args"`
}

// Answer is what a command printed in one project.
type Answer struct {
	projects.Project `json:"-"`

	Code int    `json:"code"`
	Out  string `json:"out"`
	Err  string `json:"err"`
}

// Error returns why the command failed, as its stderr says it; "" if it did not.
func (a Answer) Error() string {
	switch a.Code {
	case cli.ExitOK, cli.ExitDiff:
		return ""
	}
	var lines []string
	for line := range strings.Lines(a.Err) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "aisync: "); ok {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("exit code %d", a.Code))
	}
	return strings.Join(lines, "; ")
}

// Serve is a worker: it runs each command that stdin asks for by execute, and writes
// what it printed to stdout, until stdin ends. It returns its exit code.
func Serve(stdin io.Reader, stdout io.Writer, env []string, execute func(argv []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int) int {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	for {
		var r request
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return cli.ExitOK
		} else if err != nil {
			return cli.ExitUsage
		}
		if out.Encode(serve(r, env, execute)) != nil {
			return cli.ExitError
		}
	}
}

func serve(r request, env []string, execute func([]string, io.Reader, io.Writer, io.Writer, []string) int) Answer {
	if err := os.Chdir(r.Dir); errors.Is(err, fs.ErrNotExist) {
		return Answer{Code: cli.ExitError, Err: "aisync: the folder is gone\n"}
	} else if err != nil {
		return Answer{Code: cli.ExitError, Err: "aisync: " + err.Error() + "\n"}
	}
	var out, said bytes.Buffer
	here := environ.New(env)
	here["PWD"] = r.Dir
	code := execute(append([]string{"aisync"}, r.Args...), strings.NewReader(""), &out, &said, here.List())
	return Answer{Code: code, Out: out.String(), Err: said.String()}
}

// Parallel is how many projects are worked in at a time by commands that only read.
func Parallel() int { return min(max(runtime.GOMAXPROCS(0), 2), 8) }

// Each runs args in each project of list, in up to n at a time, and returns the
// answers in the order of list. done is called with each as it comes, by one
// goroutine at a time; it may be nil. A command that ends its worker has the answer
// that it failed. When ctx ends, the commands that run are asked to end, and those
// that have not begun are left out: their answers have the code 130.
func (r *Run) Each(ctx context.Context, list []projects.Project, n int, args func(projects.Project) []string, done func(Answer)) []Answer {
	answers := make([]Answer, len(list))
	next := make(chan int)
	var wait sync.WaitGroup
	var one sync.Mutex
	answered := 0
	if done == nil {
		defer r.progress(&one, &answered, len(list))()
	}
	for range min(n, len(list)) {
		wait.Go(func() {
			w := &worker{env: r.workerEnv()}
			defer w.end()
			for i := range next {
				a := w.ask(ctx, request{list[i].Dir, args(list[i])})
				a.Project = list[i]
				one.Lock()
				answers[i] = a
				answered++
				if done != nil {
					done(a)
				}
				one.Unlock()
			}
		})
	}
	for i := range list {
		if ctx.Err() == nil {
			select {
			case next <- i:
				continue
			case <-ctx.Done():
			}
		}
		one.Lock()
		answers[i] = Answer{Project: list[i], Code: interrupted, Err: "aisync: interrupted before it began\n"}
		one.Unlock()
	}
	close(next)
	wait.Wait()
	return answers
}

// progress says every few seconds how many projects have answered, until stop is
// called. answered is read under the lock.
func (r *Run) progress(lock *sync.Mutex, answered *int, all int) (stop func()) {
	tick, end := time.NewTicker(sayEvery), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				lock.Lock()
				n := *answered
				lock.Unlock()
				r.App.Say("aisync: %d of %d projects", n, all)
			}
		}
	})
	return func() { close(end); ended.Wait() }
}

// sayEvery is the time between two lines of progress.
const sayEvery = 5 * time.Second

// interrupted is the exit code of a command that a signal ended.
const interrupted = 130

// workerEnv is the environment of workers: the flags of AISYNC_CLI_ARGS are among
// those of the command already.
func (r *Run) workerEnv() []string {
	var out []string
	for _, pair := range r.App.Env.List() {
		if !strings.HasPrefix(pair, "AISYNC_CLI_ARGS") {
			out = append(out, pair)
		}
	}
	return out
}

// worker is another process of this program, started when it is first asked.
type worker struct {
	env []string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
	say bytes.Buffer
}

func (w *worker) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.say.Reset()
	w.cmd = exec.Command(self)
	w.cmd.Args = []string{"aisync", WorkerCommand}
	w.cmd.Env, w.cmd.Stderr, w.cmd.WaitDelay = w.env, &w.say, time.Second
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C reaches this process, which asks the other to end
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = json.NewDecoder(out)
	return w.cmd.Start()
}

// ask runs one command.
func (w *worker) ask(ctx context.Context, q request) Answer {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			w.cmd = nil
			return Answer{Code: cli.ExitError, Err: fmt.Sprintf("aisync: start a worker: %v\n", err)}
		}
	}
	process := w.cmd.Process
	stop := context.AfterFunc(ctx, func() { _ = process.Signal(syscall.SIGTERM) }) // it may have ended
	defer stop()
	var a Answer
	err := json.NewEncoder(w.in).Encode(q)
	if err == nil {
		err = w.out.Decode(&a)
	}
	if err == nil {
		if a.Code == cli.ExitError {
			_ = w.end() // the evaluation of a costly spec may go on in it
		}
		return a
	}
	said := w.say.String
	ended := w.end()
	a = Answer{Code: cli.ExitError, Err: said()}
	switch {
	case ctx.Err() != nil:
		a.Code = interrupted
	case !strings.Contains(a.Err, "aisync: "):
		a.Err = fmt.Sprintf("aisync: the process that worked here ended: %v\n", ended)
	}
	return a
}

// end ends the worker when it has answered what it was asked.
func (w *worker) end() error {
	if w.cmd == nil {
		return nil
	}
	_ = w.in.Close()
	err := w.cmd.Wait()
	w.cmd = nil
	return err
}
