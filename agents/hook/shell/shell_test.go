package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWritesOfShell(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src/a.go", "src/b.go", "docs/x.md", "main.go"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"echo x > src/a.go":                                 "src/a.go",
		"echo x >>src/a.go 2>/dev/null":                     "src/a.go",
		"echo x >| 'src/a b.go'":                            "src/a b.go",
		"make &> build.log":                                 "build.log",
		"cat <main.go":                                      "",
		"cat main.go | tee -a src/a.go src/b.go >/dev/null": "src/a.go src/b.go",
		"sed -i 's/a/b/' main.go":                           "main.go",
		"sed -i.bak -e 's/a/b/' -e 's/c/d/' main.go":        "main.go",
		"sed -n '1,3p' main.go":                             "",
		"sed --in-place=.o -f x.sed main.go":                "main.go",
		"perl -pi -e 's/a/b/' src/a.go":                     "src/a.go",
		"perl -e 'print 1' src/a.go":                        "",
		"cp main.go src":                                    "src/main.go",
		"cp main.go other.go":                               "other.go",
		"cp -t docs main.go src/a.go":                       "docs/a.go docs/main.go",
		"mv src/a.go src/c.go":                              "src/a.go src/c.go",
		"mv src/a.go src/b.go docs/":                        "docs/a.go docs/b.go src/a.go src/b.go",
		"rm -rf src":                                        "src",
		"rm -- -odd":                                        "-odd",
		"rm src/*.go":                                       "src/a.go src/b.go",
		"cd src && rm a.go; cd ..; touch x":                 "src/a.go x",
		"() rm main.go":                                     "main.go",
		"(cd src; rm a.go); rm main.go":                     "main.go src/a.go",
		"cd \"$SOMEWHERE\" && rm a.go":                      "",
		"F=src/a.go; echo x >$F":                            "src/a.go",
		"F=$(pick); echo x >$F":                             "",
		"sudo -u me rm main.go":                             "main.go",
		"env A=1 tee main.go":                               "main.go",
		"bash -lc 'echo x > src/a.go'":                      "src/a.go",
		"sh -c \"cd src; rm b.go\"":                         "src/b.go",
		"timeout 5 cp main.go x.go":                         "x.go",
		"for f in a b; do echo x > out.txt; done":           "out.txt",
		"if true; then rm main.go; fi":                      "main.go",
		"dd if=/dev/zero of=main.go":                        "main.go",
		"echo $(rm main.go)":                                "main.go",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.go\n*** Move to: src/z.go\n*** End Patch\nEOF": "src/a.go src/z.go",
		"apply_patch '*** Begin Patch\n*** Add File: new.go\n+x\n*** End Patch'":                                     "new.go",
		"cd src && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: b.go\n*** End Patch\nEOF":                    "src/b.go",
		"git checkout main.go":                     "main.go",
		"git checkout HEAD~1 -- src/a.go src/b.go": "src/a.go src/b.go",
		"git checkout other":                       "",
		"git checkout -b other":                    "",
		"git switch other":                         "",
		"git restore main.go":                      "main.go",
		"git restore --staged main.go":             "",
		"git -C src checkout -- a.go":              "src/a.go",
		"git reset --hard":                         "",
		"git reset main.go":                        "",
		"git stash":                                "",
		"git stash list":                           "",
		"git stash pop":                            "",
		"git restore --source other -- src/a.go":   "src/a.go",
		"git restore --source=other src/a.go":      "src/a.go",
		"git restore -s other src/a.go":            "src/a.go",
		"eval 'rm main.go'":                        "main.go",
		"f() { rm main.go; }; f":                   "main.go",
		"f() { rm main.go; }; g":                   "",
		"sh <<EOF\nrm main.go\nEOF":                "main.go",
		"git rm --cached main.go":                  "",
		"git mv main.go m.go":                      "m.go main.go",
		"git status; git diff":                     "",
		"echo 'rm main.go > x'":                    "",
		"unbalanced ' > main.go":                   "",
		"rm ~/x":                                   "/home/me/x",
		"echo x > /dev/stderr":                     "",
	} {
		var got []string
		for _, p := range (Reader{}).Writes(line, dir, "/home/me") {
			if rel, err := filepath.Rel(dir, p); err == nil && !strings.HasPrefix(rel, "..") {
				p = rel
			}
			got = append(got, p)
		}
		slices.Sort(got)
		if have := strings.Join(slices.Compact(got), " "); have != want {
			t.Errorf("%s:\n  %q, want %q", line, have, want)
		}
	}
}

func TestChangesOfGit(t *testing.T) {
	for line, want := range map[string]string{
		"git status && git log --oneline -3": "",
		"git branch":                         "",
		"git branch -a":                      "",
		"git branch -D old":                  "git branch -D old",
		"git branch new":                     "git branch new",
		"git stash list":                     "",
		"git stash":                          "git stash",
		"git config user.name":               "",
		"git config user.name Me":            "git config user.name Me",
		"git remote -v":                      "",
		"cd src; git commit -m 'x y'":        "git commit -m x y",
		"git -C /x push":                     "git push",
		"bash -c 'git add .'":                "git add .",
		"git unknown-alias":                  "git unknown-alias",

		"git merge other":                   "git merge other",
		"git pull --ff-only":                "git pull --ff-only",
		"git rebase main":                   "git rebase main",
		"git stash pop":                     "git stash pop",
		"git stash apply stash@{1}":         "git stash apply stash@{1}",
		"git restore a.go":                  "git restore a.go",
		"git cherry-pick x":                 "git cherry-pick x",
		"git fetch":                         "git fetch",
		"GIT_EDITOR=true git rebase -i x":   "git rebase -i x",
		"/usr/bin/git merge x":              "git merge x",
		"true && (cd src; git merge x)":     "git merge x",
		"if ! git pull; then echo no; fi":   "git pull",
		"echo $(git merge x)":               "git merge x",
		"time git merge x &":                "git merge x",
		"xargs git merge":                   "git merge",
		"eval 'git merge x'":                "git merge x",
		"eval git merge x":                  "git merge x",
		"f() { git merge x; }; f":           "git merge x",
		"f() { git merge x; }; echo f":      "",
		"function f { f; git merge x; }; f": "git merge x",
		"bash <<EOF\ngit merge x\nEOF":      "git merge x",
		"bash -s <<'EOF'\ngit status\nEOF":  "",
		"cat <<EOF\ngit merge x\nEOF":       "",
		"find . -exec git add {} +":         "git add …",
		"find . -name x -execdir rm {} ';'": "",
		"echo git commit":                   "",
	} {
		if got := (Reader{}).ChangesGit(line, "/p", "/home/me"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Functions that call each other end.
func TestFunctionsThatCallEachOther(t *testing.T) {
	line := "f() { " + strings.Repeat("f; ", 1000) + "rm main.go; }; f"
	if got := (Reader{}).Writes(line, "/p", "/home/me"); !slices.Contains(got, "/p/main.go") {
		t.Errorf("%q", got)
	}
}
