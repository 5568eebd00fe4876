package launch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
)

// The agent is watched from its start until it ends, also where no hook calls.
func TestAgentIsWatchedFromItsStart(t *testing.T) {
	r, said := program(t, `cat .ai/session-context.d/.live/claude.turn`, Decision{Role: Primary})
	if _, _, err := ledger.Init(r.Start.Root, "person"); err != nil {
		t.Fatal(err)
	}
	r.Environ["PI_ENSEMBLE_AGENT"], r.Environ["GT_STALL_THRESHOLD"] = "", "7"
	if code, err := r.Run(context.Background()); code != 0 || err != nil || said.String() != "7\n" {
		t.Errorf("%d %v: its turn is %q", code, err, said.String())
	}
	if _, err := os.Lstat(filepath.Join(r.Start.Root, keeper.Dir, "claude.turn")); !os.IsNotExist(err) {
		t.Errorf("after its end: %v", err)
	}
}
