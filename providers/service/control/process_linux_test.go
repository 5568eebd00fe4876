package control

import (
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
)

// A process that executes another program has no environment for a moment. It
// must not be taken for one that has ended.
func TestAProcessThatBecomesAnotherProgramIsStillThere(t *testing.T) {
	cmd := exec.Command("sh", "-c", `n=0; exec_again='n=$((n+1)); [ $n -lt 300 ] && export n && exec sh -c "$exec_again"; sleep 1'; export exec_again; exec sh -c "$exec_again"`)
	cmd.Env = append(os.Environ(), "MARK=yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	go func() { _ = cmd.Wait(); ended.Store(true) }()
	for !ended.Load() {
		v, err := Variable(cmd.Process.Pid, "MARK")
		if (err != nil || v != "yes") && began(cmd.Process.Pid) != "" {
			t.Fatalf("while it runs: %q, %v", v, err)
		}
	}
}
