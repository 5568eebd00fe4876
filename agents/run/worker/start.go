package worker

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Starter starts workers.
type Starter struct {
	Keeper  []string // this program as a keeper: what follows is the folder and the marker
	Environ []string // of workers; those in tmux have the server's, and of this Passed
	Passed  func(name string) bool
	Tmux    Server
	Session string // of tmux, for this run's workers
	Ended   func() // if set, called when a keeper that we started without tmux has gone
}

// Start starts the keeper of a worker that has been prepared, with extra
// (NAME=value) on top of the environment, and does not wait for it: Observe says
// what became of it. The worker stays when we end, whatever ends us. However often
// it is started, it runs once.
//
// Killed in the middle, it has started the keeper or not; Observe tells, and
// CallOff makes sure.
func (s Starter) Start(folder string, j Job, extra []string) error {
	keeper := append(slices.Clone(s.Keeper), folder, j.Marker)
	var err error
	switch j.Substrate {
	case Process:
		err = s.detached(j, keeper, extra)
	case Tmux:
		err = s.window(j, keeper, extra)
	default:
		err = fmt.Errorf("unknown substrate %q: there are %s and %s", j.Substrate, Process, Tmux)
	}
	if err != nil {
		return fmt.Errorf("start worker %s: %w", j.Worker, err)
	}
	return nil
}

func (s Starter) detached(j Job, keeper, extra []string) error {
	log, err := os.OpenFile(j.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(keeper[0], keeper[1:]...)
	cmd.Dir, cmd.Env = j.Dir, slices.Concat(s.Environ, extra)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // no signal to our group reaches it
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // how it went is in its folder; this takes it off the process table
		if s.Ended != nil {
			s.Ended()
		}
	}()
	return nil
}

func (s Starter) window(j Job, keeper, extra []string) error {
	var pass []string
	for _, kv := range s.Environ {
		if name, _, ok := strings.Cut(kv, "="); ok && s.Passed != nil && s.Passed(name) {
			pass = append(pass, kv)
		}
	}
	return s.Tmux.open(s.Session, j.Worker, slices.Concat(pass, extra), keeper)
}
