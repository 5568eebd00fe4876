// Package gitrepo builds every command of git that aisync runs. Look only reads,
// and runs no program that a repository or its configuration names. Act changes
// a repository after a yes: the person's own configuration counts, the programs
// of the repository's never run, nor do hooks. Dial is Act over the network. It
// reads no environment: callers hand theirs over. Start reading at Look.
package gitrepo

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Place is where git works. A path that is "" is git's own choice.
type Place struct {
	Dir       string // the folder that git runs in
	GitDir    string // the repository; "": the one around Dir, unless that is a bare one
	WorkTree  string
	IndexFile string
}

// Setting is one value of git's configuration.
type Setting struct{ Key, Value string }

// off is the configuration of both ways: nothing runs by itself. A bare
// repository that lies among the files of a project is none.
// https://git-scm.com/docs/git-config, safe.bareRepository: git 2.38
var off = []Setting{
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

// blind is what Look adds: of the programs that have one name, none is named.
// Those with a name for each driver (diff.*, filter.*, merge.*, alias.*, …) are
// reached by none of the readers.
var blind = []Setting{
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

// readers are the commands of git that only read, with the options that each
// runs with. What is not listed is refused: git diff and git status, for one,
// run filters on what lies in the work tree.
var readers = map[string][]string{
	"cat-file":     nil,
	"check-attr":   nil,
	"check-ignore": nil,
	"config":       nil,
	"for-each-ref": nil,
	"log":          {"--no-show-signature", "--no-ext-diff", "--no-textconv"},
	"ls-tree":      nil,
	"remote":       nil,
	"rev-list":     nil,
	"rev-parse":    nil,
	"var":          nil,
}

// Look returns git with args, which only reads. It runs no other program,
// dials nothing, takes no lock and asks nobody. Starting it fails where args is
// no command that only reads.
func Look(ctx context.Context, env []string, at Place, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, nil), at, append(slices.Clone(off), blind...), nil)
	if !Reads(args) {
		cmd.Err = fmt.Errorf("git %s is no command that only reads", strings.Join(args[:min(len(args), 2)], " "))
		return cmd
	}
	cmd.Args = append(append(append(cmd.Args, args[0]), readers[args[0]]...), args[1:]...)
	// An empty GIT_ASKPASS and GIT_PROXY_COMMAND keep what the configuration names
	// from being run. GIT_NO_LAZY_FETCH is git 2.44's.
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
	case "log":
		return !slices.ContainsFunc(args[1:], func(a string) bool {
			return strings.HasPrefix(a, "--ext-diff") || strings.HasPrefix(a, "--textconv") || strings.HasPrefix(a, "--show-sig") || strings.HasPrefix(a, "--output")
		})
	}
	return reader
}

// Act returns git with args, which may change the repository at a place. More
// are settings over the configuration: (*Config).Programs, and what the caller
// wants besides. It dials nothing.
func Act(ctx context.Context, env []string, at Place, more []Setting, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, nil), at, off, more)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_ASKPASS=")
	return cmd
}

// Dial is Act for a command that talks to another repository, with the person's
// own insteadOf, credentials, ssh and proxy.
func Dial(ctx context.Context, env []string, at Place, more []Setting, args ...string) *exec.Cmd {
	cmd := command(ctx, inherited(env, transport), at, off, more)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh")
	return cmd
}

// For returns git with args at dir for a caller that has one way to run
// programs: Look where args only reads, else Act. Starting it fails where the
// configuration of the repository cannot be read.
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

// command is git without a command: set are settings of this package's own,
// more those that hold a name of the repository's, which may hold any byte.
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

// configuration are the variables of git that say how it reads, and that a
// person may have set for that.
var configuration = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
	"GIT_ATTR_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_LFS_",
}

// transport are those that say how it reaches other repositories.
var transport = []string{
	"GIT_SSH", "GIT_ASKPASS", "GIT_PROXY_", "GIT_SSL_", "GIT_HTTP_", "GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_REDACT_COOKIES",
}

// inherited is env with no variables of git but the person's own, so that git
// does not work for the repository whose hook runs us, nor with its index.
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

// Outside is env for a program that is not git, without what would make a git
// that it starts work for the repository whose hook runs us.
func Outside(env []string) []string {
	places := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
	}
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(places, name)
	})
}

// With is env with settings after those that it holds.
// https://git-scm.com/docs/git-config, GIT_CONFIG_COUNT: git 2.31
func With(env []string, more ...Setting) []string {
	if len(more) == 0 {
		return env
	}
	n := 0
	env = slices.DeleteFunc(env, func(pair string) bool {
		count, ok := strings.CutPrefix(pair, "GIT_CONFIG_COUNT=")
		if ok {
			n, _ = strconv.Atoi(count) // what is no number git refuses; here it counts as none
		}
		return ok
	})
	for _, s := range more {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.Value))
		if strings.EqualFold(s.Key, "core.gitproxy") { // of which git takes the first
			env = append(env, "GIT_PROXY_COMMAND=")
		}
		n++
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}
