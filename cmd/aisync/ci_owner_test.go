package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// TestJobsReadACheckoutOfAnotherUser runs the action's script, and the variables
// of the GitLab job, on a checkout that the job's user does not own, as in
// containers: what was committed is told all the same.
func TestJobsReadACheckoutOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := committed(t, true)
	err := filepath.WalkDir(p.project(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 65534, 65534)
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "scripts", "ci-drift"))
	if err != nil {
		t.Fatal(err)
	}
	const was = "# Emacs Lisp" // as committed
	code, out := p.job(t, "bash", "aisync drift")
	if code != cli.ExitError || !strings.Contains(out, "safe.directory") || strings.Contains(out, was) {
		t.Errorf("without the word: code %d\n%s", code, out)
	}
	dir := t.TempDir()
	code, out = p.job(t, "bash", script, "AISYNC=aisync", "GITHUB_STEP_SUMMARY="+dir+"/summary")
	if summary, _ := os.ReadFile(dir + "/summary"); code != cli.ExitDiff || !strings.Contains(string(summary), was) {
		t.Errorf("the action: code %d\n%s%s", code, out, summary)
	}
	code, out = p.job(t, "bash", "aisync drift", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+p.project())
	if code != cli.ExitDiff || !strings.Contains(out, was) {
		t.Errorf("the GitLab job: code %d\n%s", code, out)
	}
}
