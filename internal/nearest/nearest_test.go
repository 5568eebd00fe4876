package nearest

import "testing"

func TestName(t *testing.T) {
	for _, c := range []struct {
		got, want string
		known     []string
	}{
		{"cladue", "claude", runtimes}, {"Claude", "claude", runtimes}, {"codx", "codex", runtimes}, {"opencoed", "opencode", runtimes},
		{"local_openai", "local-openai", runtimes}, {"vim", "", runtimes}, {"x", "", runtimes}, {"", "", runtimes}, {"claude", "", runtimes},
		{"tow", "two", []string{"one", "two"}},
		{"detailed-exitcod", "detailed-exitcode", []string{"json", "detailed-exitcode"}},
		{"jsno", "json", []string{"json", "host"}},
		{"ab", "", []string{"a"}}, // as many edits as the name has letters
		{"bat", "bar", []string{"cat", "bar"}},
		{"any", "", nil},
	} {
		if got := Name(c.got, c.known); got != c.want {
			t.Errorf("Name(%q, %q) = %q, want %q", c.got, c.known, got, c.want)
		}
	}
}

var runtimes = []string{"local-openai", "opencode", "claude", "codex"}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"Same", "same", 0},
		{"ab", "ba", 1}, {"pyhton", "python", 1}, {"ca", "abc", 3}, {"abcd", "badc", 2},
	} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
