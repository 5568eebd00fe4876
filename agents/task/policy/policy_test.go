package policy

import (
	"errors"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func limits(t *testing.T, task spec.Task) Limits {
	t.Helper()
	l, err := Of(task)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestGlobsStopAtSlash(t *testing.T) {
	for glob, c := range map[string]struct{ yes, no []string }{
		"src/cli/*.py": {[]string{"src/cli/a.py"}, []string{"src/cli/sub/a.py", "src/a.py", "src/cli/a.pyc", "x/src/cli/a.py", "src/cli-evil/a.py", "src/cli/../a.py", "/src/cli/a.py"}},
		"src/**":       {[]string{"src/a", "src/a/b/c"}, []string{"srcs/a", "a/src/b", "src/.git/config", "src/.GIT/x", "src/a/.git"}},
		"**/*.md":      {[]string{"a.md", "x/y/a.md"}, []string{"a.md/b", "../a.md"}},
		"**":           {[]string{"a", "a/b"}, []string{".git/config", "git~1/x", ".g\u200cit/config", ".git./x", ".git::$DATA/x", "", ".", "../x", "/etc/passwd"}},
		`a\*b`:         {[]string{"a*b"}, []string{"axb", `a\*b`}},
		"a?[0-9]{x,y}": {[]string{"az1x"}, []string{"a/1x", "az1z"}},
		".gitignore":   {[]string{".gitignore"}, []string{"gitignore"}},
	} {
		l := limits(t, spec.Task{Write: []string{glob}})
		for _, p := range c.yes {
			if !l.MayWrite(p) {
				t.Errorf("%s does not name %q", glob, p)
			}
		}
		for _, p := range c.no {
			if l.MayWrite(p) {
				t.Errorf("%s names %q", glob, p)
			}
		}
	}
	if limits(t, spec.Task{}).MayWrite("a") {
		t.Error("no glob means somewhere")
	}
	for _, bad := range []string{"", "/etc/*", "../x", "a/../../x", "a//b", "./a", "[", `a\`} {
		if _, err := Of(spec.Task{Write: []string{bad}}); err == nil {
			t.Errorf("%q is a glob", bad)
		}
		if (Limits{Write: []string{bad}}).MayWrite("a") {
			t.Errorf("%q names something", bad)
		}
	}
}

func TestJudge(t *testing.T) {
	l := limits(t, spec.Task{Write: []string{"src/**"}, MaxFiles: 2, MaxDiff: 100})
	for name, c := range map[string]struct {
		changes []Change
		diff    int64
		want    string
	}{
		"within":           {[]Change{{Path: "src/a", Kind: Added}, {Path: "src/b", Kind: Deleted}}, 100, ""},
		"beside":           {[]Change{{Path: "src-evil/a", Kind: Added}}, 1, "no allowed_write_globs names it"},
		"a rename away":    {[]Change{{Path: "src/a", Kind: Added}, {Path: "old", Kind: Deleted}}, 1, `"old": deleted`},
		"ignored, beside":  {[]Change{{Path: "out/a", Kind: Added, Ignored: true}}, 0, `"out/a"`},
		"ignored, within":  {[]Change{{Path: "src/a.o", Ignored: true}, {Path: "src/b.o", Ignored: true}, {Path: "src/c.o", Ignored: true}}, 0, ""},
		"too many":         {[]Change{{Path: "src/a"}, {Path: "src/b"}, {Path: "src/c"}}, 1, "3 files changed"},
		"too much":         {[]Change{{Path: "src/a"}}, 101, "101 bytes"},
		"wrong of itself":  {[]Change{{Path: "src/a", Wrong: "is a link that leads out"}}, 1, "leads out"},
		"git's own":        {[]Change{{Path: "src/.git/config"}}, 1, "git's own"},
		"nothing, nothing": {nil, 0, ""},
	} {
		var text []string
		for _, v := range l.Judge(c.changes, c.diff) {
			text = append(text, v.Error())
		}
		got := strings.Join(text, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What the person denied is denied however it is written.
func TestDeniedCommandSpellings(t *testing.T) {
	l := limits(t, spec.Task{Denied: []string{"rm -rf", "git push.*--force", "^curl "}})
	for _, line := range []string{
		"rm -rf x", "rm  -rf x", "rm\t-rf x", "rm -r -f x", "rm -fr x", "rm -f -r x", "rm -r x -f", "rm -rfv x", "rm -vrf x", "rm -v -I -R -f x",
		"rm --recursive --force x", "rm --force -r x", "rm --recurs --forc x", "rm x -rf", `\rm -rf x`, `r\m -rf x`, `"rm" -rf x`, `'r'm -r"f" x`, `r""m -rf x`,
		"/bin/rm -rf x", "./rm -rf x", "X=1 rm -rf x", "env X=1 rm -rf x", "env -i rm -rf x", "env -S 'rm -rf x'", "sudo rm -r -f x", "command rm -r -f x", "exec rm -fr x",
		"nohup nice -n 5 timeout 3 rm -fr x", "echo a | xargs rm -fr", "find . -name x -exec rm -fr {} +", "busybox rm -fr x",
		"sh -c 'rm -fr x'", `sh -c "rm -fr x"`, "bash -lc 'rm -fr x'", "sh -ec 'cd /; rm -fr x'", "sh -c 'sh -c \"rm -fr x\"'", "env sh -c 'rm -fr x'", "eval 'rm -fr x'", "eval rm -fr x",
		"true; rm -fr x", "true && rm -fr x", "true || rm -fr x", "(rm -fr x)", "{ rm -fr x; }", "true | rm -fr x", "true & rm -fr x", "true\nrm -fr x",
		"echo $(rm -fr x)", "echo `rm -fr x`", `echo "$(rm -fr x)"`, "cat <(rm -fr x)", "if true; then rm -fr x; fi", "for i in a; do rm -fr $i; done", "! rm -fr x",
		"f() { rm -fr x; }; f", "trap 'rm -fr x' EXIT", "case a in a) rm -fr x;; esac", "while rm -fr x; do :; done", "cat <<E\n$(rm -fr x)\nE",
		"R=rm; $R -rf x", "F=-rf; rm $F x", `F=-rf; rm "$F" x`, "X='rm -rf'; $X y", "rm -\\\nrf x", "python3 -c \"import os; os.system('rm -rf x')\"",
		"git push --force", "git push origin main --force", "git push -f", "git push origin -f", "git -C x push --force", "git -C x -c a.b=c push -f o m", "git --git-dir=x --no-pager push --force",
		"git push --force-with-lease", "git push --forc", "git push origin +main", "/usr/bin/git push -uf o m", "git  push  --tags  --force",
		"curl x", "/usr/bin/curl x", "env curl x", "sh -c 'curl x'", "timeout 3 curl x", "true && curl x",
	} {
		var v *Violation
		if err := l.Command(line); !errors.As(err, &v) {
			t.Errorf("%q may run: %v", line, err)
		}
	}
}

// Where it cannot be told what a line runs, it does not run.
func TestUndecidableCommandsAreDenied(t *testing.T) {
	l := limits(t, spec.Task{Denied: []string{"rm -rf", `git\s+push.*--force`}})
	for _, line := range []string{
		"$CMD x", `"$CMD" x`, "$(echo rm) -rf x", "`echo rm` -rf x", "r? -rf x", "/bin/r[m] -rf x", "{rm,-rf,x}", "rm $X", `rm "$@"`, "rm -{r,f} x", "rm $(cat flags) x", "git push $X", "git $X",
		"echo cm0gLXJmIHgK | base64 -d | sh", "sh <<E\nrm x\nE", "bash < file", "bash -s", "sh", "bash <(echo rm)", `eval "$X"`, `sh -c "$X"`, "sh -c", "alias r='rm -rf'", "$'\\x72m' -rf x",
		"if true; then", "a 'b", "for x in rm; do $x -rf y; done", "read X; $X", "IFS=_; X=rm_-rf; $X y", "env $X -rf y", "sudo $X", "X=a; X=rm; $X -rf y", "X=r; X+=m; $X -rf x", "${X:-rm} -rf x", "git -c alias.p=push $X",
	} {
		var v *Violation
		if err := l.Command(line); !errors.As(err, &v) {
			t.Errorf("%q may run: %v", line, err)
		}
	}
}

func TestOrdinaryCommandsAreAllowed(t *testing.T) {
	l := limits(t, spec.Task{Denied: []string{"rm -rf", "git push.*--force", "^curl "}})
	for _, line := range []string{
		"pytest tests/ -v", "pytest tests/ -v | grep -q 'passed'", "rm -f x", "rm -r x", "rm x", "rm *.o", "git push origin main", "git status", "git commit -m \"$MSG\"", "echo $HOME", "make -C \"$DIR\" test",
		"go test ./... 2>&1 | tail -n 3", "sh script.sh -r f", "bash -n script.sh", "for f in *.py; do python3 -m py_compile \"$f\"; done", "[ -f x ] && cat x", "[[ -f x ]]", "test \"$(cat x)\" = y",
		"find . -name '*.pyc' -exec rm {} +", "ls [a-z]*", "git diff --stat", "X=1 make", "env X=1 make", "timeout 5 make", "xargs -n1 echo", "awk '{print $1}' f", "sed -e 's/a/b/' f", "docs/curl x", "grep curl x",
	} {
		err := l.Command(line)
		if line == "docs/curl x" {
			if err == nil {
				t.Error("a program is known by its name, wherever it lies")
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if err := limits(t, spec.Task{}).Command("rm -rf $X; if"); err != nil {
		t.Errorf("nothing is denied: %v", err)
	}
}
