// Package gitcommit commits the files that a command wrote in a project, and nothing
// else. It pushes nothing and runs no hook of the repository. Call Look before the
// command writes, then Commit.
package gitcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/internal/quantity"
)

// Repo is the git repository of a project, before a command writes there.
type Repo struct {
	dir     string
	prefix  string // of dir in its work tree, with a slash at the end; "" at its top
	env     []string
	disable []gitrepo.Setting // the programs of the repository
}

// Look returns the repository of dir, where a command is about to write files, paths
// below dir. It is an error that a commit could not be made of them alone: that there
// is no repository or no branch, that git is in the middle of something, or that one
// of files is not as the last commit has it. It changes nothing.
func Look(ctx context.Context, env []string, dir string, files []string) (*Repo, error) {
	r := &Repo{dir: dir, env: env}
	config, err := gitrepo.ReadConfig(ctx, env, gitrepo.Place{Dir: dir})
	if err != nil {
		return nil, err
	}
	r.disable = config.Programs()
	where, err := r.git(ctx, "rev-parse", "--show-prefix", "--absolute-git-dir")
	if err != nil {
		return nil, errors.New("no git repository is there")
	}
	lines := strings.Split(where, "\n")
	if len(lines) < 2 {
		return nil, errors.New("no git repository is there")
	}
	r.prefix = lines[0]
	if doing := inProgress(lines[1]); doing != "" {
		return nil, fmt.Errorf("%s is in progress there", doing)
	}
	if _, err := r.git(ctx, "symbolic-ref", "-q", "HEAD"); err != nil {
		return nil, errors.New("no branch is checked out there")
	}
	mine, err := r.changed(ctx, files)
	if err != nil {
		return nil, err
	}
	if len(mine) > 0 {
		verb := "has changes that are"
		if len(mine) > 1 {
			verb = "have changes that are"
		}
		return nil, advice.New(fmt.Errorf("%s %s not committed", list(mine), verb), "commit them, then the rest")
	}
	return r, nil
}

// inProgress names what git is in the middle of, by the files in its folder.
func inProgress(gitDir string) string {
	for _, p := range []struct{ file, what string }{
		{"MERGE_HEAD", "a merge"}, {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, p.file)); err == nil {
			return p.what
		}
	}
	return ""
}

// list names files, of many the first.
func list(files []string) string {
	if n := len(files); n > 3 {
		return fmt.Sprintf("%s and %s", strings.Join(files[:2], ", "), quantity.Count(n-2, "more file"))
	}
	return strings.Join(files, ", ")
}

// Commit commits those of files, paths below the project, that differ from the last
// commit and that git does not ignore. What the person has staged stays staged. It
// returns the new commit, shortened, or "" where no file differs. After an error the
// index is as it was.
func (r *Repo) Commit(ctx context.Context, files []string, message string) (string, error) {
	files, err := r.changed(ctx, files)
	if err != nil || len(files) == 0 {
		return "", err
	}
	if message == "" {
		message = subject(files)
	}
	if _, err := r.git(ctx, append([]string{"add", "--all", "--"}, files...)...); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, append([]string{"commit", "--quiet", "--only", "--no-verify", "--message", message, "--"}, files...)...); err != nil {
		_, _ = r.git(context.WithoutCancel(ctx), append([]string{"reset", "--quiet", "--"}, files...)...) // the first error counts
		return "", err
	}
	return r.git(ctx, "rev-parse", "--short", "HEAD")
}

// subject is the message of a commit of files.
func subject(files []string) string {
	files = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "aisync.lock" && len(files) > 1 })
	if len(files) == 1 && len(files[0]) <= 55 {
		return "aisync: update " + files[0]
	}
	return "aisync: update " + quantity.Count(len(files), "file")
}

// changed returns those of files that differ from the last commit, in the index or in
// the work tree, or that git does not have. It leaves out those that git ignores.
func (r *Repo) changed(ctx context.Context, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	out, err := r.git(ctx, append([]string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all", "--"}, files...)...)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range strings.Split(out, "\x00") {
		if len(entry) > 3 {
			found = append(found, strings.TrimPrefix(entry[3:], r.prefix))
		}
	}
	return found, nil
}

// git runs git in the project, and returns what it prints without the last line end.
// Paths are no patterns.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	cmd := gitrepo.Act(ctx, r.env, gitrepo.Place{Dir: r.dir}, r.disable, append([]string{"--literal-pathspecs"}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			err = errors.New(strings.ReplaceAll(text, "\n", "; "))
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
