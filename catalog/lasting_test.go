package catalog

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// Arguments and variables that let a program do more without asking are known in each
// way of writing them, and others are not taken for such.
func TestLoosening(t *testing.T) {
	for _, c := range []struct{ id, args, env, want string }{
		{"claude", "--dangerously-skip-permissions", "", "--dangerously-skip-permissions"},
		{"claude", "--verbose --permission-mode=bypassPermissions", "", "--permission-mode bypassPermissions"},
		{"claude", "--permission-mode plan --model bypassPermissions", "", ""},
		{"claude", "--allowedTools Bash,Edit --effort low", "", "--allowedTools"},
		{"codex", "--yolo", "", "--yolo"},
		{"codex", "--dangerously-bypass-approvals-and-sandbox", "", "--dangerously-bypass-approvals-and-sandbox"},
		{"codex", "-s danger-full-access -a never", "", "-s danger-full-access|-a never"},
		{"codex", "-c approval_policy=never -c model=x", "", "-c approval_policy=never"},
		{"codex", "--config=sandbox_mode=danger-full-access", "", "--config sandbox_mode=danger-full-access"},
		{"codex", "-s read-only -a on-request", "", ""},
		{"gemini", "--approval-mode yolo", "", "--approval-mode yolo"},
		{"gemini", "--approval-mode=auto_edit -y", "", "--approval-mode auto_edit|-y"},
		{"qwen", "--yolo", "", "--yolo"},
		{"qwen", "--approval-mode plan", "", ""},
		{"copilot", "--allow-all-tools --allow-tool=shell", "", "--allow-all-tools|--allow-tool"},
		{"copilot", "", "COPILOT_ALLOW_ALL=1", "COPILOT_ALLOW_ALL"},
		{"goose", "", "GOOSE_MODE=auto", "GOOSE_MODE"},
		{"goose", "", "GOOSE_MODE=approve", ""},
		{"opencode", "--auto", "", "--auto"},
		{"aider", "--yes-always", "", "--yes-always"},
		{"amp", "--dangerously-allow-all", "", "--dangerously-allow-all"},
		{"pi", "--anything", "", ""},
		{"claude", "--permission-mode", "", ""},
	} {
		rt, ok := With(spec.Catalog{}).Runtime(c.id)
		if !ok {
			t.Fatal(c.id)
		}
		use := spec.RuntimeUse{ID: c.id}
		for _, a := range strings.Fields(c.args) {
			use.Args = append(use.Args, spec.Named{Value: a})
		}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			use.Env = []spec.EnvVar{{Name: name, Value: value}}
		}
		if got := strings.Join(use.Loosening(&rt), "|"); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.id, c.args, c.env, got, c.want)
		}
	}
}

// A worker asks for no permission, unless the person's own arguments choose a mode by
// the same flag; a flag is not given twice.
func TestLineOfFreeProgramFollowsOwnArguments(t *testing.T) {
	for _, c := range []struct {
		id   string
		own  []string
		want string
	}{
		{"gemini", nil, "--approval-mode yolo -p x"},
		{"gemini", []string{"--debug"}, "--debug --approval-mode yolo -p x"},
		{"gemini", []string{"--approval-mode=plan"}, "--approval-mode=plan -p x"},
		{"codex", []string{"--dangerously-bypass-approvals-and-sandbox"}, "--dangerously-bypass-approvals-and-sandbox exec --skip-git-repo-check x"},
	} {
		rt, _ := With(spec.Catalog{}).Runtime(c.id)
		before := slices.Clone(c.own)
		if got := strings.Join(rt.Launch.Line(rt.Launch.Headless, c.own, "x", true), " "); got != c.want || !slices.Equal(before, c.own) {
			t.Errorf("%s: %s, want %s", c.id, got, c.want)
		}
	}
}
