package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestServicesUnderSystemd runs testdata/systemd/*.txtar beside a user
// manager of systemd that scripts/test-systemd has started for it alone.
func TestServicesUnderSystemd(t *testing.T) {
	if os.Getenv("AISYNC_TEST_SYSTEMD") == "" {
		t.Skip("make test-systemd runs it")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "systemd"),
		Setup: func(e *testscript.Env) error {
			if err := prepare(e); err != nil {
				return err
			}
			for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
				e.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": wantCode, "freeport": freePort, "squat": squat, "ask": ask, "eventually": eventually,
		},
	})
}
