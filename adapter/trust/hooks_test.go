package trust

import (
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
)

// The keys and digests of these two hooks are those that codex 0.169.0 gave for them
// in its answer to hooks/list.
const (
	twoHooks = `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo hi"}]}], "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo pre"}]}]}}`
	startSum = "sha256:a245b9b8493f2be82aea06c373ef42709b417c1b701a54e5ab76ab728777f4ad"
	preSum   = "sha256:3ce31b5295830c23543ff45c9ef9da786314c3c8ddef0ba2bead00ddd67870c2"
)

func TestHookDigestsAreCodexs(t *testing.T) {
	got, err := hookDigests([]byte(twoHooks), "/p/.codex/hooks.json")
	if err != nil || len(got) != 2 || got["/p/.codex/hooks.json:session_start:0:0"] != startSum || got["/p/.codex/hooks.json:pre_tool_use:0:0"] != preSum {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`{"hooks": []}`, `{"hooks": {"Stop": [{"hooks": ["x"]}]}}`, `{`} {
		if got, err := hookDigests([]byte(bad), "/p"); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

// A hook has been allowed if the record of its place holds the digest of its text.
func TestCodexRunsHooksThatWereAllowed(t *testing.T) {
	allowed := func(event, sum string) string {
		return "[hooks.state.\"{dir}/.codex/hooks.json:" + event + ":0:0\"]\ntrusted_hash = \"" + sum + "\"\n"
	}
	const folder = "[projects.\"{dir}\"]\ntrust_level = \"trusted\"\n"
	for name, c := range map[string]struct{ record, want string }{
		"never asked":     {folder, "hooks pre_tool_use,session_start not trusted"},
		"one":             {folder + allowed("session_start", startSum), "hooks pre_tool_use not trusted"},
		"both":            {folder + allowed("session_start", startSum) + allowed("pre_tool_use", preSum), ""},
		"another text":    {folder + allowed("session_start", startSum) + allowed("pre_tool_use", startSum), "hooks pre_tool_use not trusted"},
		"a broken record": {"a = = 1\n", "hooks  unknown; hooks pre_tool_use,session_start unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(".codex/hooks.json", twoHooks)
			m.write("~/.codex/config.toml", c.record)
			p := m.plan(reconcile.None, map[string][]string{".codex/hooks.json": {"/hooks/Stop#x"}})
			p.Changes[0].Target.Resource.Format = "json"
			if got := said(m.check("codex", p)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if strings.Contains(snake("PreToolUse"), "P") {
		t.Error("a key has a capital")
	}
}
