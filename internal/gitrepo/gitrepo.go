// Package gitrepo builds all git commands of aisync. Look only reads, and runs
// no program of a repository or its configuration. Act changes a repository
// after a confirmation, with the person's configuration, but never the
// repository's programs or hooks. Dial is Act over the network. The package
// reads no environment; callers pass theirs. Call Look, Act or Dial.
package gitrepo

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Place is where git works. An empty path is git's choice.
type Place struct {
	Dir       string // the folder in which git runs
	GitDir    string // the repository; "": the one around Dir, unless that is bare
	WorkTree  string
	IndexFile string
}

// Setting is one value of git's configuration.
type Setting struct{ Key, Value string }

// baseSettings are settings of all commands: nothing runs automatically, and a bare
// repository among a project's files is ignored.
// https://git-scm.com/docs/git-config, safe.bareRepository: git 2.38
var baseSettings = []Setting{
	{"safe.bareRepository", "explicit"},
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"sequence.editor", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"submodule.recurse", "false"},
	{"protocol.ext.allow", "never"},
	{"credential.interactive", "false"},
	{"advice.detachedHead", "false"},
}

// lookSettings are further settings of Look: they clear the single-name programs. The
// readers never use programs with a name per driver (diff.*, filter.*, merge.*,
// alias.*, …).
var lookSettings = []Setting{
	{"log.showSignature", "false"},
	{"protocol.allow", "never"},
	{"core.askPass", ""},
	{"core.sshCommand", "false"},
	{"core.alternateRefsCommand", "false"},
	{"credential.helper", ""},
	{"diff.external", ""},
	{"interactive.diffFilter", ""},
	{"gpg.program", "false"},
	{"gpg.openpgp.program", "false"},
	{"gpg.x509.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.ssh.defaultKeyCommand", "false"},
	{"uploadpack.packObjectsHook", "false"},
}

// readers are the git commands that only read, with their options. All others
// are refused: git diff and git status, for example, run filters on the work
// tree; git diff-tree compares two commits.
var readers = map[string][]string{
	"cat-file":     nil,
	"check-attr":   nil,
	"check-ignore": nil,
	"config":       nil,
	"diff-tree":    {"--no-ext-diff", "--no-textconv"},
	"for-each-ref": nil,
	"log":          {"--no-show-signature", "--no-ext-diff", "--no-textconv"},
	"ls-tree":      nil,
	"remote":       nil,
	"rev-list":     nil,
	"rev-parse":    nil,
	"var":          nil,
}

// Look returns git with args, a command that only reads. It runs no other
// program, dials nothing, takes no lock and never prompts. Starting it fails if
// args can do more than read.
func Look(ctx context.Context, env []string, at Place, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, nil), at, append(slices.Clone(baseSettings), lookSettings...), nil)
	if !Reads(args) {
		cmd.Err = fmt.Errorf("git %s is not a read-only command", strings.Join(args[:min(len(args), 2)], " "))
		return cmd
	}
	cmd.Args = append(append(append(cmd.Args, args[0]), readers[args[0]]...), args[1:]...)
	// An empty GIT_ASKPASS and GIT_PROXY_COMMAND disable the configured
	// programs. GIT_NO_LAZY_FETCH needs git 2.44.
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ASKPASS=", "GIT_PROXY_COMMAND=")
	return cmd
}

// Reads reports whether git with args only reads.
func Reads(args []string) bool {
	if len(args) == 0 {
		return false
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool { return slices.Contains(names, a) })
	}
	_, reader := readers[args[0]]
	switch args[0] {
	case "cat-file":
		return !slices.ContainsFunc(args[1:], func(a string) bool { return strings.HasPrefix(a, "--t") || strings.HasPrefix(a, "--fi") }) // --textconv, --filters
	case "config":
		return has("--list", "--get", "--get-all")
	case "remote":
		return len(args) > 1 && args[1] == "get-url"
	case "log", "diff-tree":
		return !slices.ContainsFunc(args[1:], func(a string) bool {
			return strings.HasPrefix(a, "--ext") || strings.HasPrefix(a, "--text") || strings.HasPrefix(a, "--show-sig") || strings.HasPrefix(a, "--ou")
		})
	}
	return reader
}

// Act returns git with args, which may change the repository at a place. more
// overrides the configuration: (*Config).Programs, and the caller's settings. It
// dials nothing.
func Act(ctx context.Context, env []string, at Place, more []Setting, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, nil), at, baseSettings, more)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_ASKPASS=")
	return cmd
}

// Dial is Act for a command that connects to another repository, with the
// person's insteadOf, credentials, ssh and proxy.
func Dial(ctx context.Context, env []string, at Place, more []Setting, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, transport), at, baseSettings, more)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh")
	return cmd
}

// DialAsking is Dial for a person at a terminal, where git, ssh and credential
// helpers may ask for a name, a password or a host key.
func DialAsking(ctx context.Context, env []string, at Place, more []Setting, args ...string) *exec.Cmd {
	set := slices.DeleteFunc(slices.Clone(baseSettings), func(s Setting) bool { return s.Key == "credential.interactive" })
	cmd := command(ctx, inherited(env, transport), at, set, more)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_TERMINAL_PROMPT=1")
	return cmd
}

// For returns git with args at dir for a caller with a single way to run
// programs: Look if args only reads, else Act. Starting it fails if the
// configuration of the repository is unreadable.
func For(ctx context.Context, env []string, dir string, args ...string) *exec.Cmd {
	at := Place{Dir: dir}
	if Reads(args) {
		return Look(ctx, env, at, args...)
	}
	c, err := ReadConfig(ctx, env, at)
	if err != nil {
		cmd := Act(ctx, env, at, nil, args...)
		cmd.Err = err
		return cmd
	}
	return Act(ctx, env, at, c.Programs(), args...)
}

// command returns git without a command: set are settings of this package, more
// may contain names from the repository, with any bytes.
func command(ctx context.Context, env []string, at Place, set, more []Setting) *exec.Cmd {
	args := []string{"--no-pager"}
	for _, s := range set {
		args = append(args, "-c", s.Key+"="+s.Value)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = at.Dir
	cmd.Env = append(With(env, more...), "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "LC_ALL=C")
	for _, v := range []Setting{{"GIT_DIR", at.GitDir}, {"GIT_WORK_TREE", at.WorkTree}, {"GIT_INDEX_FILE", at.IndexFile}} {
		if v.Value != "" {
			cmd.Env = append(cmd.Env, v.Key+"="+v.Value)
		}
	}
	return cmd
}

// configuration are git's variables for its configuration, which a person may
// have set.
var configuration = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
	"GIT_ATTR_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_LFS_",
}

// transport are git's variables for reaching other repositories.
var transport = []string{
	"GIT_SSH", "GIT_ASKPASS", "GIT_PROXY_", "GIT_SSL_", "GIT_HTTP_", "GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_REDACT_COOKIES",
}

// inherited returns env with only the person's git variables, so that git does
// not work on the repository whose hook runs us, or with its index.
func inherited(env, more []string) []string {
	keep := slices.Concat(configuration, more)
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		if name == "LC_ALL" {
			return true
		}
		return strings.HasPrefix(name, "GIT_") && !slices.ContainsFunc(keep, func(k string) bool {
			return name == k || strings.HasSuffix(k, "_") && strings.HasPrefix(name, k) || k == "GIT_SSH" && strings.HasPrefix(name, k) || k == "GIT_TRACE" && strings.HasPrefix(name, k)
		})
	})
}

// Outside returns env for a program other than git, without the variables that
// would make git work on the repository whose hook runs us.
func Outside(env []string) []string {
	places := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
	}
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(places, name)
	})
}

// With returns env with additional settings.
// https://git-scm.com/docs/git-config, GIT_CONFIG_COUNT: git 2.31
func With(env []string, more ...Setting) []string {
	if len(more) == 0 {
		return env
	}
	n := 0
	env = slices.DeleteFunc(env, func(pair string) bool {
		count, ok := strings.CutPrefix(pair, "GIT_CONFIG_COUNT=")
		if ok {
			n, _ = strconv.Atoi(count) // git refuses an invalid number; here it counts as 0
		}
		return ok
	})
	for _, s := range more {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.Value))
		if strings.EqualFold(s.Key, "core.gitproxy") { // git uses the first one
			env = append(env, "GIT_PROXY_COMMAND=")
		}
		n++
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}
