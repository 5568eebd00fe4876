package hook

import (
	"os/exec"
	"strings"
	"testing"
)

// Commands that bring commits are refused where they would write what another agent
// holds, and only there.
func TestGitThatBringsWhatAnotherHoldsIsRefused(t *testing.T) {
	b := newBench(t)
	cmd := exec.Command("sh", "-ec", `export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main . && git add .pi-ensemble && git commit -qm one
git checkout -q -b held && mkdir src && echo 1 >src/a.go && git add src && git commit -qm two
git checkout -q -b free main && echo 1 >b.go && git add b.go && git commit -qm three
git checkout -q main`)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.shell("PreToolUse", "other", "true")
	b.claim("claude", "src")
	for line, refused := range map[string]bool{
		"git merge held": true, "git merge free": false, "git checkout held": true, "git switch free": false, "git cherry-pick held": true,
		"git rebase free": false, "git pull": false, "git fetch && git merge held": true, "git stash pop": true, "git merge-base main held": false,
	} {
		a := b.shell("PreToolUse", "mine", line)
		if got := a.Specific.Decision == "deny"; got != refused || got && !strings.Contains(a.Specific.Reason, "claimed by claude") {
			t.Errorf("%s: %+v", line, a)
		}
	}
	if a := b.shell("PreToolUse", "other", "git merge held"); a.Specific.Decision != "" {
		t.Errorf("the holder: %+v", a)
	}
}
