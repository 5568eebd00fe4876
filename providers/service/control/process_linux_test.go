package control

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process that executes another program has no environment for a moment. It
// must not be taken for one that has ended.
func TestAProcessThatBecomesAnotherProgramIsStillThere(t *testing.T) {
	cmd := exec.Command("sh", "-c", `n=0; exec_again='n=$((n+1)); [ $n -lt 300 ] && export n && exec sh -c "$exec_again"; sleep 1'; export exec_again; exec sh -c "$exec_again"`)
	cmd.Env = append(os.Environ(), "MARK=yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for {
		v, err := Variable(cmd.Process.Pid, "MARK")
		if err == nil && v == "yes" {
			continue
		}
		select {
		case <-ended: // it was at its end; before that it sleeps for longer than this
			return
		case <-time.After(700 * time.Millisecond):
			t.Fatalf("while it runs: %q, %v", v, err)
		}
	}
}
