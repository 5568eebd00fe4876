package identity

import (
	"strings"
	"testing"
)

func TestIDsAreShortAndSanitized(t *testing.T) {
	for _, c := range []struct{ host, project, runtime, want string }{
		{"pearl", "org-drill", "claude", "pearl.org-drill.claude."},
		{"velox", "archsetup", "local-qwen30b", "velox.archsetup.local-qwen30b."},
		{"Pearl", "My Project.v2", "claude", "pearl.my-project-v2.claude."},
		{"", "", "", "host.project.agent."},
		{"pearl", "../../etc", "claude", "pearl.etc.claude."},
		{"pearl", "a\nb\x00c", "claude", "pearl.a-b-c.claude."},
		{"pearl", "_x_", "claude", "pearl.x.claude."},
	} {
		id := New(c.host, c.project, c.runtime, nil)
		if rest, ok := strings.CutPrefix(id, c.want); !ok || len(rest) != 4 || !Valid(id) {
			t.Errorf("%q, want %s and four digits", id, c.want)
		}
	}
	for _, name := range []string{strings.Repeat("long-name-", 30), strings.Repeat("ü", 300), strings.Repeat("a", 64), strings.Repeat("x.", 200)} {
		for _, id := range []string{New("pearl", name, "claude", nil), New(name, "p", "claude", nil), New(name, name, name, nil)} {
			if !Valid(id) || strings.Count(id, ".") != 3 {
				t.Errorf("%q (%d)", id, len(id))
			}
		}
	}
}

// Two names that are told apart only where they are cut, or in letters that an
// id cannot have, stay two.
func TestDistinctNamesGetDistinctIDs(t *testing.T) {
	long := strings.Repeat("x", 80)
	for _, pair := range [][2]string{{long + "a", long + "b"}, {"日本", "中国"}, {"🦊", "🐻"}} {
		a, b := New("pearl", pair[0], "claude", nil), New("pearl", pair[1], "claude", nil)
		if a[:len(a)-5] == b[:len(b)-5] {
			t.Errorf("%q and %q are both %s", pair[0], pair[1], a)
		}
	}
}

func TestNewAvoidsTakenIDs(t *testing.T) {
	given := map[string]bool{}
	taken := func(id string) bool { return given[id] }
	for range 500 {
		id := New("pearl", "app", "claude", taken)
		if given[id] {
			t.Fatalf("%s twice", id)
		}
		given[id] = true
	}
	for n := range 1 << 16 { // all that have four digits
		given["helper-"+string("0123456789abcdef"[n>>12])+string("0123456789abcdef"[n>>8&15])+string("0123456789abcdef"[n>>4&15])+string("0123456789abcdef"[n&15])] = true
	}
	id := NewHelper(taken)
	if given[id] || len(id) != len("helper-")+8 || !Valid(id) || !IsHelper(id) {
		t.Errorf("%q", id)
	}
}

func TestCheckRefusesInvalidFileNames(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a..b", "-x", ".x", "a b", "a/b", "ü", "a\n", strings.Repeat("a", 65)} {
		if Valid(id) || Check(id) == nil {
			t.Errorf("%q is one", id)
		}
	}
	for _, id := range []string{"a", "helper-1f3a", "pearl.app.claude.a83f", "A_b-c.d", strings.Repeat("a", 64)} {
		if err := Check(id); err != nil {
			t.Error(err)
		}
	}
}

func TestGenerated(t *testing.T) {
	for id, want := range map[string]bool{
		New("vm", "app", "codex", nil): true,
		NewHelper(nil):                 true,
		"vm.app.codex.0123abcd":        true,
		"vm.app.codex":                 false,
		"vm.app.codex.main":            false,
		"vm.app.1f3a":                  false,
		"reviewer":                     false,
		"helper-x":                     false,
		"":                             false,
	} {
		if Generated(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}
