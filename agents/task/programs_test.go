package task

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestPersonsFiltersAndSigningApply(t *testing.T) {
	w := newWorld(t)
	w.write("filter", "#!/bin/sh\ntr a-z A-Z\n")
	w.write("signer", "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho a-signature\n")
	for _, name := range []string{"filter", "signer"} {
		if err := os.Chmod(filepath.Join(w.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write("repo/.gitattributes", "*.txt filter=mine\n")
	w.git("add", ".gitattributes")
	w.git("commit", "-qm", "attributes")
	for name, value := range map[string]string{"filter.mine.clean": filepath.Join(w.dir, "filter"), "gpg.program": filepath.Join(w.dir, "signer"), "commit.gpgSign": "true"} {
		w.git("config", "--global", name, value)
	}
	w.git("config", "gpg.program", "false") // the repository's does not count
	w.queued(spec.Task{Write: []string{"src/**"}, Steps: []spec.TaskStep{{ID: "s1", Action: "create", File: "src/new.txt", Text: "two\n"}}, Verify: []string{"true"}})
	r := w.once()
	if !r.OK() || r.CommitHash == "" {
		t.Fatalf("%s", r.Reason)
	}
	out, err := exec.Command("git", "-C", w.repo, "cat-file", "-p", r.Branch+":src/new.txt").Output()
	if err != nil || string(out) != "TWO\n" {
		t.Errorf("the filter: %q, %v", out, err)
	}
	out, err = exec.Command("git", "-C", w.repo, "cat-file", "-p", r.CommitHash).Output()
	if err != nil || !strings.Contains(string(out), "gpgsig a-signature") {
		t.Errorf("the signature: %q, %v", out, err)
	}
}
