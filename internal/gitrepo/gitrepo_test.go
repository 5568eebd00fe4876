package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// bench is a repository of a test and the environment of a person.
type bench struct {
	t              *testing.T
	env            []string
	dir, home, ran string
}

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{t: t, dir: filepath.Join(t.TempDir(), "the repository"), home: t.TempDir(), ran: t.TempDir()}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@example.org",
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("init", "-q", "-b", "main")
	b.write("a.md", "one\n")
	b.write(".gitattributes", "*.md diff=evil filter=evil merge=evil\n")
	b.git("add", "-A")
	b.git("commit", "-qm", "one")
	// What is signed has a program called that looks at the signature.
	commit := strings.Replace(b.git("cat-file", "commit", "HEAD")+"\n", "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1)
	b.write("../commit", commit)
	b.git("update-ref", "HEAD", b.git("hash-object", "-t", "commit", "-w", "../commit"))
	return b
}

// git is plain git, as the person runs it.
func (b bench) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// program is a program that leaves a mark; where that is "mine" it passes on
// what it is given.
func (b bench) program(mark string) string {
	b.t.Helper()
	path := filepath.Join(b.home, "mark-"+mark)
	text := "#!/bin/sh\n: >'" + filepath.Join(b.ran, mark) + "'\n"
	if mark == "mine" {
		text += "cat\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// marks are the names of the programs that ran since the last look.
func (b bench) marks() []string {
	b.t.Helper()
	files, err := os.ReadDir(b.ran)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, f.Name())
		if err := os.Remove(filepath.Join(b.ran, f.Name())); err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

// named are the settings by which a repository names a program, each with what
// else it takes to have that run. PROGRAM stands for it.
var named = []string{
	"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.alternateRefsCommand", "core.hooksPath", "core.virtualfilesystem",
	"pager.log", "pager.config", "pager.rev-parse", "sequence.editor", "alias.log", "alias.rev-parse", "alias.config",
	"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
	"diff.external", "diff.evil.command", "diff.evil.textconv", "interactive.diffFilter",
	"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver",
	"credential.helper", "credential.https://example.org.helper", "uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "remote.origin.proxy",
	"remote.origin.url", "url.ext::PROGRAM %S.insteadOf", "submodule.sub.update", "trailer.x.command", "trailer.x.cmd", "hook.x.command", "gc.recentObjectsHook",
	"init.templateDir", "mergetool.x.cmd", "difftool.x.cmd", "browser.x.cmd", "web.browser", "man.x.cmd", "sendemail.toCmd", "include.path",
}

// common makes git reach for what is named.
const common = `[log]
	showSignature = true
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[extensions]
	partialClone = origin
[remote "origin"]
	promisor = true
	partialCloneFilter = blob:none
[diff]
	tool = x
[pager]
	log = true
`

// config is a configuration that names program under key.
func config(bare bool, key, program string) string {
	section, name := key[:strings.IndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
	value := program
	switch key {
	case "submodule.sub.update", "alias.log", "alias.rev-parse", "alias.config":
		value = "!" + program
	case "remote.origin.url":
		value = "ext::" + program + " %S"
	case "include.path":
		value = program + ".inc"
	case "core.hooksPath", "init.templateDir":
		value = filepath.Dir(program)
	}
	if sub := strings.TrimPrefix(strings.TrimSuffix(key, "."+name), section+"."); sub != section {
		section += fmt.Sprintf(" %q", strings.ReplaceAll(sub, "PROGRAM", program))
	}
	if name == "insteadOf" {
		value = "/nowhere"
	}
	text := "[core]\n\trepositoryformatversion = 1\n\tbare = " + fmt.Sprint(bare) + "\n" + common
	if key != "remote.origin.url" {
		text += "[remote \"origin\"]\n\turl = /nowhere\n"
	}
	return text + fmt.Sprintf("[%s]\n\t%s = %q\n", section, name, value)
}

// looks are the looking commands that aisync runs, with what they are fed.
func looks() map[string]string {
	missing := strings.Repeat("1", 40)
	return map[string]string{
		"rev-parse --git-dir":                                                    "",
		"rev-parse --show-prefix":                                                "",
		"rev-parse --git-common-dir":                                             "",
		"rev-parse --verify -q --end-of-options HEAD^{commit}":                   "",
		"rev-parse --path-format=absolute --git-common-dir":                      "",
		"rev-list -n1 --all":                                                     "",
		"log -1 --format=%H -- a.md":                                             "",
		"log -1 --format=%H%G? -p -- a.md":                                       "",
		"log --all HEAD --raw -z --no-renames --format= -- .":                    "",
		"ls-tree -r -z --name-only HEAD -- .":                                    "",
		"diff-tree -r -p --name-only -z --no-renames --end-of-options HEAD HEAD": "",
		"check-attr -z --stdin text eol filter":                                  "a.md\x00",
		"check-ignore -z --stdin":                                                "a.md\x00b\x00",
		"config --list --show-scope --includes -z":                               "",
		"config --get core.autocrlf":                                             "",
		"config --path --get core.excludesFile":                                  "",
		"cat-file --batch":                                                       "HEAD:a.md\n" + missing + "\n",
		"for-each-ref --format=%(refname) %(contents:trailers)":                  "",
		"remote get-url -- origin":                                               "",
		"var GIT_COMMITTER_IDENT":                                                "",
	}
}

// words splits a command, of which a format is one word.
func words(command string) []string {
	if head, format, ok := strings.Cut(command, " --format=%(ref"); ok {
		return append(strings.Fields(head), "--format=%(ref"+format)
	}
	return strings.Fields(command)
}

func TestLookRunsNoProgramThatARepositoryNames(t *testing.T) {
	b := newBench(t)
	embedded := filepath.Join(b.dir, "sub")
	if err := os.CopyFS(embedded, os.DirFS(filepath.Join(b.dir, ".git"))); err != nil {
		t.Fatal(err)
	}
	b.write("sub/a.md", "one\n")
	for _, key := range named {
		program := b.program("program")
		if err := os.WriteFile(program+".inc", []byte("[core]\n\tfsmonitor = "+program+"\n\tpager = "+program+"\n[gpg]\n\tprogram = "+program+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		b.write(".git/config", config(false, key, program))
		b.write("sub/config", config(true, key, program))
		for command, in := range looks() {
			for _, dir := range []string{b.dir, embedded} {
				cmd := Look(t.Context(), b.env, Place{Dir: dir}, words(command)...)
				cmd.Stdin = strings.NewReader(in)
				out, err := cmd.CombinedOutput()
				if ran := b.marks(); len(ran) > 0 {
					t.Errorf("%s: git %s in %s ran %s (%v)\n%s", key, command, dir, ran, err, out)
				}
				if dir == embedded && err == nil && !strings.HasPrefix(command, "config --list") && !strings.HasPrefix(command, "var") {
					t.Errorf("%s: git %s took the folder %s for a repository:\n%s", key, command, dir, out)
				}
			}
		}
	}
}

// What the test above shows is worth nothing where plain git runs nothing either.
func TestPlainGitRunsWhatTheRepositoryNames(t *testing.T) {
	for key, command := range map[string]string{
		"core.fsmonitor": "ls-files -m", "gpg.program": "log -1", "diff.evil.textconv": "log -1 -p", "diff.external": "log -1 -p --ext-diff",
		"remote.origin.url": "cat-file -e " + strings.Repeat("1", 40), "filter.evil.clean": "diff", "alias.x": "x",
	} {
		b := newBench(t)
		program := b.program("program")
		text := config(false, key, program)
		if key == "alias.x" {
			text = strings.Replace(text, "x = \"", "x = \"!", 1)
		}
		b.write(".git/config", text)
		b.write("a.md", "two\n")
		cmd := exec.Command("git", strings.Fields(command)...)
		cmd.Dir, cmd.Env = b.dir, b.env
		out, _ := cmd.CombinedOutput()
		if len(b.marks()) == 0 {
			t.Errorf("%s: git %s ran nothing\n%s", key, command, out)
		}
		if args := strings.Fields(command); !Reads(args) {
			continue
		}
		looking := Look(t.Context(), b.env, Place{Dir: b.dir}, strings.Fields(command)...)
		out, _ = looking.CombinedOutput()
		if len(b.marks()) > 0 {
			t.Errorf("%s: looking with git %s ran it\n%s", key, command, out)
		}
	}
}

func TestLookRefusesWrites(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		nil, {"status"}, {"diff"}, {"config", "core.editor", "x"}, {"config", "-e"}, {"remote", "update"}, {"commit"}, {"checkout"}, {"x"}, {"symbolic-ref", "HEAD", "x"},
		{"log", "-p", "--ext-diff"}, {"log", "--textconv"}, {"log", "--show-signature"}, {"cat-file", "--textconv", "HEAD:a.md"}, {"cat-file", "--filters", "HEAD:a.md"}, {"log", "--output=x"}, {"log", "--outpu=x"}, {"diff-tree", "--output=x", "HEAD"}, {"diff-tree", "--ext-diff", "HEAD"},
		{"-c", "core.fsmonitor=x", "log"}, {"cat-file", "--filt", "HEAD:a.md"},
	} {
		if err := Look(t.Context(), b.env, Place{Dir: b.dir}, args...).Run(); err == nil || !strings.Contains(err.Error(), "not a read-only command") {
			t.Errorf("git %q: %v", args, err)
		}
	}
	used := map[string]bool{}
	for command := range looks() {
		used[words(command)[0]] = true
	}
	for command := range readers {
		if !used[command] {
			t.Errorf("git %s is allowed, and no call of it is tested", command)
		}
	}
}

// A hook, or the git that runs it, says where git works.
func TestHookEnvironmentIsIgnored(t *testing.T) {
	b := newBench(t)
	env := append(slices.Clone(b.env), "GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_COMMON_DIR=/nowhere", "GIT_OBJECT_DIRECTORY=/nowhere", "GIT_NAMESPACE=x",
		"GIT_CONFIG=/nowhere", "GIT_EXTERNAL_DIFF="+b.program("diff"), "GIT_PAGER="+b.program("pager"), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.x", "GIT_CONFIG_VALUE_0=kept")
	for _, cmd := range []*exec.Cmd{
		Look(t.Context(), env, Place{Dir: b.dir}, "rev-parse", "--show-toplevel"),
		Act(t.Context(), env, Place{Dir: b.dir}, nil, "rev-parse", "--show-toplevel"),
		Dial(t.Context(), env, Place{Dir: b.dir}, nil, "rev-parse", "--show-toplevel"),
	} {
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != b.dir {
			t.Errorf("%q, %v", out, err)
		}
	}
	c, err := ReadConfig(t.Context(), env, Place{Dir: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := c.Own("user.x"); v != "kept" {
		t.Errorf("what a person set in the environment is %q", v)
	}
	more := Act(t.Context(), env, Place{Dir: b.dir}, []Setting{{"user.a=b.c", "d"}}, "config", "--get-regexp", "^user")
	out, err := more.Output()
	if err != nil || !strings.Contains(string(out), "user.x kept") || !strings.Contains(string(out), "user.a=b.c d") {
		t.Errorf("%q, %v", out, err)
	}
	if ran := b.marks(); len(ran) > 0 {
		t.Errorf("%s ran", ran)
	}
}

// act runs git as Act has it, where the repository's programs are off.
func (b bench) act(dial bool, args ...string) (string, error) {
	b.t.Helper()
	c, err := ReadConfig(b.t.Context(), b.env, Place{Dir: b.dir})
	if err != nil {
		b.t.Fatal(err)
	}
	run := Act
	if dial {
		run = Dial
	}
	ctx, stop := context.WithTimeout(b.t.Context(), time.Minute)
	defer stop()
	cmd := run(ctx, b.env, Place{Dir: b.dir}, c.Programs(), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	return string(out) + said.String(), err
}

func TestActRunsOnlyPersonsPrograms(t *testing.T) {
	b := newBench(t)
	theirs := b.program("theirs")
	far := filepath.Join(t.TempDir(), "far.git")
	b.git("init", "-q", "--bare", far)
	b.git("config", "remote.far.url", far)
	for _, key := range named {
		switch key {
		case "remote.origin.url", "remote.origin.vcs", "init.templateDir", "url.ext::PROGRAM %S.insteadOf", "include.path":
			continue // these stop git, or are none
		case "core.hooksPath":
			if err := os.Mkdir(theirs+".d", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, hook := range []string{"post-checkout", "pre-commit", "post-commit", "pre-push", "reference-transaction", "prepare-commit-msg", "commit-msg"} {
				if err := os.Symlink(theirs, filepath.Join(theirs+".d", hook)); err != nil {
					t.Fatal(err)
				}
			}
			b.git("config", key, theirs+".d")
			continue
		}
		if b.git("config", strings.ReplaceAll(key, "origin", "far"), theirs); strings.HasPrefix(key, "alias.") {
			b.git("config", key, "!"+theirs)
		}
	}
	for key, value := range map[string]string{"filter.evil.required": "true", "filter.a=b.clean": theirs, "credential.helper": "!" + theirs, "commit.gpgSign": "true"} {
		b.git("config", key, value)
	}
	if err := os.WriteFile(filepath.Join(b.dir, ".gitattributes"), []byte("*.md filter=evil diff=evil merge=evil\n*.txt filter=a=b\n*.up filter=mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("b.up", "quiet\n")
	b.write("a.md", "two\n")
	b.write("c.txt", "text\n")
	mine, signer := b.program("mine"), b.program("signer")
	if err := os.WriteFile(signer, []byte("#!/bin/sh\n: >'"+filepath.Join(b.ran, "signer")+"'\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho signature\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"filter.mine.clean": mine, "gpg.program": signer} {
		b.git("config", "--global", key, value)
	}
	b.marks() // git config itself may have been an alias's
	for _, c := range []struct {
		dial bool
		args []string
		ran  string
	}{
		{false, []string{"config", "--local", "user.word", "x"}, ""},
		{false, []string{"add", "-A"}, "mine"},
		{false, []string{"status", "--short"}, ""},
		{false, []string{"diff", "--no-ext-diff", "--no-textconv", "HEAD"}, ""},
		{false, []string{"commit", "-q", "-S", "-m", "two"}, "signer"},
		{false, []string{"worktree", "add", "-q", "-b", "side", "../a tree"}, ""},
		{false, []string{"checkout", "-q", "-f", "HEAD~1"}, ""},
		{false, []string{"checkout", "-q", "-f", "--detach", "side"}, ""},
		{true, []string{"push", "-q", "--receive-pack=git-receive-pack", "far", "HEAD:refs/heads/x"}, ""},
	} {
		if c.args[0] == "checkout" || c.args[0] == "worktree" {
			b.marks()
		}
		out, err := b.act(c.dial, c.args...)
		if err != nil {
			t.Errorf("git %q: %v\n%s", c.args, err, out)
		}
		ran := b.marks()
		if slices.Contains(ran, "theirs") {
			t.Errorf("git %q ran the repository's program", c.args)
		}
		if c.ran != "" && !slices.Contains(ran, c.ran) {
			t.Errorf("git %q ran %q, want %s", c.args, ran, c.ran)
		}
	}
}

func TestProgramsYieldToPersons(t *testing.T) {
	c := ParseConfig([]byte(strings.Join([]string{
		"global", "credential.helper\nstore", "global", "filter.lfs.clean\ngit-lfs clean", "local", "filter.lfs.clean\nevil", "local", "filter.other.smudge\nevil", "worktree", "core.sshcommand\nevil",
		"local", "credential.https://x.helper\nevil", "local", "user.name\nme", "local", "filter.other.required\ntrue", "",
	}, "\x00")))
	want := []Setting{
		{"filter.lfs.clean", "git-lfs clean"}, {"filter.other.smudge", ""}, {"core.sshcommand", "ssh"}, {"filter.other.required", "false"}, {"credential.helper", ""}, {"credential.helper", "store"},
	}
	if got := c.Programs(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
