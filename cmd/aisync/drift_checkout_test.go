package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

func TestDriftOfAFreshCheckoutShowsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.env = append(p.env, "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost")
	p.must(t, "apply", "--scope", "project", "--yes", "--trust")
	p.shell(t, `git add -A; git commit -q -m made
sed -i 's/^# Emacs Lisp$/# By hand/' .claude/rules/elisp.md; sed -i '/Bash(make test)/d' .claude/settings.json
git commit -q -a -m 'somebody edits'`)
	ci := t.TempDir()
	clone := exec.Command("git", "clone", "-q", p.project(), filepath.Join(ci, "work"))
	clone.Env = p.env
	if out, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := tree(t, ci)
	cmd := exec.Command("aisync", "drift", "--format", "text")
	// No home, no state, no network, and the folder of the sources is elsewhere.
	cmd.Dir, cmd.Env = filepath.Join(ci, "work"), []string{"PATH=" + os.Getenv("PATH"), "AISYNC_OFFLINE=1", quickRaceExit}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitDiff {
		t.Errorf("exit code %d\n%s%s", code, out, complaints.String())
	}
	for _, want := range []string{
		"drift  .claude/rules/elisp.md:5  ", "      -# Emacs Lisp\n      +# By hand\n",
		"drift  .claude/settings.json:", `-/permissions/allow "Bash(make test)"`,
		"pending: not checked: ", "2 drifted, 0 pending, 0 unknown of ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !maps.Equal(before, tree(t, ci)) {
		t.Error("drift wrote something")
	}
	// A home that this user may not look at is none, be it root's or not.
	for _, folder := range []string{".config/aisync", ".local/state/aisync"} {
		home := t.TempDir()
		closed := filepath.Join(home, folder)
		if err := errors.Join(os.MkdirAll(closed, 0o755), os.Chmod(closed, 0)); err != nil {
			t.Fatal(err)
		}
		again := exec.Command("aisync", "drift", "--format", "text")
		again.Dir, again.Env = cmd.Dir, append([]string{"HOME=" + home}, cmd.Env...)
		if got, _ := again.Output(); string(got) != string(out) {
			t.Errorf("with %s closed:\n%s", folder, got)
		}
	}
}

func TestLineEndingsAreAsGitWritesThem(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.env = append(p.env, "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost")
	p.shell(t, `printf '*.md text eol=crlf\n*.json text eol=crlf\n.gitignore text eol=crlf\n*.sh text eol=lf\n' >.gitattributes`)
	p.must(t, "apply", "--scope", "project", "--yes", "--trust")
	p.shell(t, `git add -A; git commit -q -m made; git rm -q --cached -r .; git reset -q --hard`)
	if b, err := os.ReadFile(filepath.Join(p.project(), ".claude/rules/elisp.md")); err != nil || !bytes.Contains(b, []byte("\r\n")) {
		t.Fatalf("git wrote no \\r\\n: %q %v", b, err)
	}
	if out, code := p.run(t, "drift"); code != cli.ExitOK {
		t.Errorf("a checkout with \\r\\n: exit code %d\n%s", code, out)
	}
	p.shell(t, `sed -i 's/^# Emacs Lisp/# By hand/' .claude/rules/elisp.md; sed -i 's/$/\r/' .claude/hooks/check-el.sh`)
	out, code := p.run(t, "drift")
	if got := fromText(t, out); code != cli.ExitDiff || !slices.Equal(got.drift, []string{"file:.claude/hooks/check-el.sh", "file:.claude/rules/elisp.md"}) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if want := "      -# Emacs Lisp\n      +# By hand\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in:\n%s", want, out)
	}
}
