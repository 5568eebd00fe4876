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
	Keeper  []string // this program as a keeper, before the arguments folder and marker
	Environ []string // of workers; in tmux they have the server's, and of this Passed
	Passed  func(name string) bool
	Tmux    Server
	Session string // tmux session for this run's workers
	Ended   func() // if set, called when a keeper that we started without tmux has exited
}

// Start starts the keeper of a prepared worker, with extra (NAME=value) added to
// the environment, and does not wait for it: Observe returns its state. The
// worker outlives this process. However often it is started, it runs once.
//
// After a crash the keeper may have started or not; Observe reports it, and
// CallOff prevents it.
func (s Starter) Start(folder string, j Job, extra []string) error {
	keeper := append(slices.Clone(s.Keeper), folder, j.Marker)
	var err error
	switch j.Substrate {
	case Process:
		err = s.detached(j, keeper, extra)
	case Tmux:
		err = s.window(j, keeper, extra)
	default:
		err = fmt.Errorf("unknown substrate %q: want %s or %s", j.Substrate, Process, Tmux)
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
		_ = cmd.Wait() // its end is recorded in its folder; this only reaps it
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
