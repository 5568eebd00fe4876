package shell

import (
	"math/rand/v2"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/hook/edit"
)

// FuzzMayWrite: where edit.MayWrite sees no writer, the parser finds none.
func FuzzMayWrite(f *testing.F) {
	pieces := append([]string{
		" ", " ", "\n", ";", "&&", "|", "(", ")", "{ ", "; }", "'", `"`, `\`, "\\\n", "`", "$", "$(", "${a}", "a=", ">", "2>&1", "2>/dev/null", "&>", "<", "<<E\n", "\nE\n", "#", "!",
		"\r", "\x00", "x", "/", "./", "-i", "-c", "-e s/a/b/", "of=x", "-exec", "r", "m", "ls", "eval ", "sh -c ", "bash", "env ", "xargs ", "timeout 5 ", "find . ", "cd x", "push", "f() { ", "if true; then ", "; fi",
	}, edit.Writers...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var line strings.Builder
		for range 1 + random.IntN(8) {
			line.WriteString(pieces[random.IntN(len(pieces))])
		}
		f.Add(line.String())
	}
	for _, w := range edit.Writers {
		f.Add(w + " -i s/a/b/ of=x y")
		f.Add("sh -c 'sh -c \"" + w[:1] + `\\` + w[1:] + " -i s/a/b/ of=x y\"'")
	}
	f.Fuzz(func(t *testing.T, line string) {
		if edit.MayWrite(line) {
			return
		}
		if out := (Reader{}).Writes(line, "/nowhere", "/home"); len(out) > 0 {
			t.Errorf("%q writes %q", line, out)
		}
		if git := (Reader{}).ChangesGit(line, "/nowhere", "/home"); git != "" {
			t.Errorf("%q changes git: %q", line, git)
		}
	})
}

func TestMostCommandsNeedNoParser(t *testing.T) {
	for line, want := range map[string]bool{
		"make test 2>&1 | tail -5":         false,
		"go build ./... && go vet ./...":   false,
		"cd src; ls -la 'a b' 2>/dev/null": false,
		"grep -rn 'format' src":            false,
		"npm install":                      true,
		"echo x >y":                        true,
		"/bin/r'm' x":                      true,
		"git status":                       true,
		"$EDITOR x":                        true,
	} {
		if got := edit.MayWrite(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
