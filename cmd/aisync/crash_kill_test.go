package main

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/providers/providertest"
)

// The program, killed with SIGKILL at any time of an apply, alone or with all
// that it had started: see TestFaultAtAnyOperationIsHarmless.
//
// AISYNC_TEST_KILLS says how often, and AISYNC_TEST_BINARY which program.
func TestSIGKILLIsHarmlessAtAnyTime(t *testing.T) {
	done := proof.Start(t, 1)
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("AISYNC_TEST_KILLS")); err == nil {
		kills = n
	}
	site := newCrashSite(t)
	t.Setenv("PATH", site.bin)
	if binary := os.Getenv("AISYNC_TEST_BINARY"); binary != "" {
		site.program = binary
	}
	r := providertest.Random(t)
	type moment struct {
		at    float64 // of the time that a whole apply takes
		group bool
	}
	var moments [2][]moment
	for i := range kills {
		moments[i%2] = append(moments[i%2], moment{r.Float64(), r.IntN(2) == 0})
	}
	var wait sync.WaitGroup
	for i, scene := range crashScenes[:2] {
		s := newStage(t, site, scene)
		began := time.Now()
		s.rehearse(t)
		whole := time.Since(began)
		wait.Go(func() {
			for _, m := range moments[i] {
				s.reset(t)
				var said bytes.Buffer
				c := s.command(scene.args...)
				c.Stderr = &said
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Duration(m.at * float64(whole)))
				victim := c.Process.Pid
				if m.group {
					victim = -victim
				}
				_ = syscall.Kill(victim, syscall.SIGKILL) // it may be at its end
				_ = c.Wait()                              // says that it was killed
				s.groupEnded(c.Process.Pid)
				how := crash.Kill
				if c.ProcessState.Exited() {
					how = "" // it was quicker: all that follows must hold all the same
				}
				if wrong := s.judge(t, how, c.ProcessState.ExitCode(), said.String()); wrong != "" {
					t.Errorf("%s, killed after %.0f %% of %s\n%s", scene.name, 100*m.at, whole, wrong)
				}
			}
		})
	}
	wait.Wait()
	done("kills", kills)
}
