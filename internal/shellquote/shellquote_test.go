package shellquote

import (
	"os/exec"
	"testing"
)

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "/a/b-c_d.e": "/a/b-c_d.e", "file:~/.x": "file:~/.x", "a=b+c,d@e%": "a=b+c,d@e%", "ünï": "ünï",
		"": "''", "a b": "'a b'", "it's": `'it'\''s'`, "~/x": "'~/x'", "$HOME": "'$HOME'", "{a,b}": "'{a,b}'", "a\nb": "'a\nb'", "#x": "'#x'",
	} {
		if got := Word(in); got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Quote("plain"); got != "'plain'" {
		t.Errorf("Quote = %s", got)
	}
}

func TestShellReadsBackWhatJoinWrote(t *testing.T) {
	argv := []string{"printf", `%s\n`, "", "a  b", "it's", "$HOME `id` \\", "~", "~root", "*", "[a]", "!x", "^x", "{1..3}", "a;b|c&d<e>f", "#", "(x)", "tab\there", "\xff", "x=~"}
	out, err := exec.Command("sh", "-c", Join(argv)).Output()
	want := ""
	for _, a := range argv[2:] {
		want += a + "\n"
	}
	if err != nil || string(out) != want {
		t.Errorf("sh read %q, %v; want %q", out, err, want)
	}
}

func TestTerminalWritesWhatATerminalObeysByItsNumber(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a b": "'a b'", "it's\x1b[2J\\": `$'it\'s\x1b[2J\\'`, "ü\x07": `$'\xc3\xbc\x07'`,
	} {
		if got := Terminal(in); got != want {
			t.Errorf("Terminal(%q) = %s, want %s", in, got, want)
		}
	}
	out, err := exec.Command("bash", "-c", "printf %s "+Terminal("it's\x1b[2J\\")).Output()
	if err != nil || string(out) != "it's\x1b[2J\\" {
		t.Errorf("bash reads %q, %v", out, err)
	}
}
