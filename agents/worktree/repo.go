package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/gitrepo"
)

// Open opens the repository whose top folder is dir. It fails if dir is not the
// top of a work tree, if there is no commit yet, or if git has no name for the
// committer. It writes nothing.
func Open(ctx context.Context, dir string) (Repo, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Repo{}, err
	}
	r := Repo{Dir: dir}
	// The person's git decides whether to trust the folder, and names the
	// committer.
	common, err := r.personsGit(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return r, fmt.Errorf("%s is not in a git repository, which tasks need; run: git init", dir)
		}
		return r, err
	}
	if r.common, err = filepath.EvalSymlinks(common); err != nil {
		return r, err
	}
	if bare, err := r.personsGit(ctx, "rev-parse", "--is-bare-repository"); err != nil || bare == "true" {
		return r, errors.Join(fmt.Errorf("%s is a bare repository: tasks need a work tree, which holds the queue", dir), err)
	}
	top, err := r.personsGit(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return r, err
	}
	if top != dir {
		return r, &NotTop{dir, top}
	}
	if err := r.hasCommit(ctx); err != nil {
		return r, err
	}
	if r.excludes, err = r.personsGit(ctx, "config", "--path", "--get", "core.excludesFile"); err != nil {
		if dirs, err := os.UserConfigDir(); err == nil { // git's default
			r.excludes = filepath.Join(dirs, "git", "ignore")
		}
	}
	c, err := r.config(ctx)
	if err != nil {
		return r, err
	}
	if sign, ok := c.Own("commit.gpgsign"); ok {
		r.signs = slices.Contains([]string{"true", "yes", "on", "1", ""}, strings.ToLower(sign))
	}
	return r, r.who(ctx)
}

// hasCommit returns an error if there is no commit yet. It asks the refs and this
// HEAD: rev-list --all fails where the HEAD of another work tree is half made, which
// a killed git leaves and completeTree mends.
func (r Repo) hasCommit(ctx context.Context) error {
	some, err := r.personsGit(ctx, "for-each-ref", "--count=1", "--format=%(refname)")
	if err == nil && some == "" {
		some, _ = r.Head(ctx)
	}
	if err != nil || some == "" {
		return errors.Join(fmt.Errorf("%s has no commit yet: make the first one", r.Dir), err)
	}
	return nil
}

// NotTop reports that a folder is not the top of its repository.
type NotTop struct{ Dir, Top string }

func (e *NotTop) Error() string {
	return fmt.Sprintf("%s is not the top of its repository, where the paths of tasks begin: use --repo %s", e.Dir, e.Top)
}

// personsGit runs the person's git, with its trust in the folder.
func (r Repo) personsGit(ctx context.Context, args ...string) (string, error) {
	out, err := execute(ctx, gitrepo.Look(ctx, os.Environ(), gitrepo.Place{Dir: r.Dir}, args...), call{}, args)
	return strings.TrimSuffix(out, "\n"), err
}

// who finds the committer's name.
func (r *Repo) who(ctx context.Context) error {
	for variable, name := range map[string]string{"GIT_AUTHOR_IDENT": "AUTHOR", "GIT_COMMITTER_IDENT": "COMMITTER"} {
		cmd := gitrepo.Look(ctx, os.Environ(), gitrepo.Place{Dir: r.Dir}, "var", variable)
		cmd.Env = gitrepo.With(cmd.Env, gitrepo.Setting{Key: "user.useConfigOnly", Value: "true"})
		ident, err := execute(ctx, cmd, call{}, []string{"var"})
		open, shut := strings.LastIndexByte(ident, '<'), strings.LastIndexByte(ident, '>')
		if err != nil || open < 1 || shut < open {
			unknown := errors.New(`git does not know who commits: git config --global user.name "…"; git config --global user.email "…"`)
			if said := new(Error); err == nil || errors.As(err, &said) {
				return unknown // git's message is longer
			}
			return errors.Join(unknown, err)
		}
		r.identity = append(r.identity, "GIT_"+name+"_NAME="+strings.TrimSpace(ident[:open]), "GIT_"+name+"_EMAIL="+ident[open+1:shut])
	}
	return nil
}

// Base resolves a branch, tag or commit, or for "" the default branch: the one
// that origin names, else main or master, else the only branch.
func (r Repo) Base(ctx context.Context, name string) (base, commit string, err error) {
	if name != "" {
		if strings.HasPrefix(name, "-") {
			return "", "", fmt.Errorf("base %q: unknown branch, tag or commit", name)
		}
		commit, err := r.commit(ctx, name)
		if err != nil {
			return "", "", fmt.Errorf("base %q: unknown branch, tag or commit of %s", name, r.Dir)
		}
		return name, commit, nil
	}
	var names []string
	if head, err := r.git(ctx, call{}, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		branch := strings.TrimPrefix(strings.TrimSpace(head), "refs/remotes/origin/")
		names = append(names, "refs/heads/"+branch, "refs/remotes/origin/"+branch)
	}
	for _, ref := range append(names, "refs/heads/main", "refs/heads/master") {
		if commit, err := r.commit(ctx, ref); err == nil {
			return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/remotes/"), commit, nil
		}
	}
	all, err := r.git(ctx, call{}, "for-each-ref", "--format=%(refname)", "refs/heads")
	if err != nil {
		return "", "", err
	}
	branches := strings.Fields(all)
	if len(branches) == 1 {
		commit, err := r.commit(ctx, branches[0])
		return strings.TrimPrefix(branches[0], "refs/heads/"), commit, err
	}
	return "", "", fmt.Errorf("no default branch in %s: origin names none, and there is no main or master; name one with --base BRANCH", r.Dir)
}

// InTheWay returns the branch that prevents those of a task,
// chiffon/<id>/<time>, "" if there is none: git keeps branches as files, and a
// file cannot also be a folder.
func (r Repo) InTheWay(ctx context.Context, branch string) string {
	for at, c := range branch {
		if c != '/' {
			continue
		}
		if _, err := r.commit(ctx, "refs/heads/"+branch[:at]); err == nil {
			return branch[:at]
		}
	}
	return ""
}

// Reach returns an error if the repository does not know a remote by that name.
// Addresses and paths are not checked.
func (r Repo) Reach(ctx context.Context, remote string) error {
	if strings.ContainsAny(remote, ":/") {
		return nil
	}
	if _, err := r.personsGit(ctx, "remote", "get-url", "--", remote); err != nil {
		return fmt.Errorf("%s has no remote %q to push to; see: git remote -v", r.Dir, remote)
	}
	return nil
}

// RemoteURLs returns the URLs of a remote as git rewrites them: the one that is
// pushed to, then the one that is fetched from. An address or a path is returned
// unchanged.
func (r Repo) RemoteURLs(ctx context.Context, remote string) ([]string, error) {
	if strings.ContainsAny(remote, ":/") {
		return []string{remote}, nil
	}
	push, err := r.personsGit(ctx, "remote", "get-url", "--push", "--", remote)
	if err != nil {
		return nil, fmt.Errorf("%s has no remote %q; see: git remote -v", r.Dir, remote)
	}
	fetch, err := r.personsGit(ctx, "remote", "get-url", "--", remote)
	first, _, _ := strings.Cut(push, "\n")
	return slices.Compact([]string{first, fetch}), err
}

func (r Repo) commit(ctx context.Context, name string) (string, error) {
	out, err := r.git(ctx, call{}, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(out), err
}

// Common returns git's folder of the repository.
func (r Repo) Common() string { return r.common }

// Ignores reports whether git ignores a path below the person's work tree.
func (r Repo) Ignores(ctx context.Context, path string) bool {
	_, err := r.personsGit(ctx, "check-ignore", "--quiet", "--", path)
	return err == nil
}

// Plain returns the settings that git needs to read the repository, as a
// configuration file.
func (r Repo) Plain(ctx context.Context) (string, error) {
	c, err := r.config(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range c.Entries {
		section, key, _ := strings.Cut(e.Key, ".")
		if name, value := e.Key, e.Value; e.Scope == "local" && (name == "core.repositoryformatversion" || section == "extensions" && !strings.Contains(key, ".") && name != "extensions.worktreeconfig") {
			fmt.Fprintf(&b, "[%s]\n\t%s = %q\n", section, key, value)
		}
	}
	return b.String(), nil
}

// Push sends a branch to a remote, with the person's ssh, proxy and credentials.
// Programs in the repository's configuration and hooks do not run, and nothing
// at the remote is overwritten.
func (r Repo) Push(ctx context.Context, remote, branch string) error {
	if strings.HasPrefix(remote, "-") {
		return fmt.Errorf("invalid remote name %q", remote)
	}
	c, err := r.config(ctx)
	if err != nil {
		return err
	}
	off := c.Programs()
	// Of two remote.*.receivepack settings git takes the first: only the option
	// overrides it.
	args := []string{"push", "--quiet", "--no-verify", "--receive-pack=git-receive-pack", remote, "refs/heads/" + branch + ":refs/heads/" + branch}
	_, err = execute(ctx, gitrepo.Dial(ctx, os.Environ(), gitrepo.Place{Dir: r.Dir}, off, args...), call{}, args)
	for _, s := range off {
		if err != nil && (s.Key == "core.sshcommand" || s.Key == "credential.helper") {
			return fmt.Errorf("%w; the %s of %s is not used, because a repository's programs do not run: git config --global %s VALUE sets yours", err, s.Key, r.Dir, s.Key)
		}
	}
	return err
}
