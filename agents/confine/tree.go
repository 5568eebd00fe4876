// Package confine makes the sandboxes of unattended work, for tasks and for
// workers of runs alike: that of a git work tree, and what an agent program needs
// in one to reach its model. It starts nothing and judges nothing. Call Tree;
// for a program Setting.Write, Program.Command and OpenGate as well.
package confine

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/worktree"
)

// Scratch is the suffix of the scratch folder of a work tree, which lies beside it.
const Scratch = ".scratch"

// Tree returns the sandbox of what works in the work tree at dir of repo: b, with
// the work tree, its scratch folder, which Tree makes and which must not exist,
// and git's folder. That is readable except its settings: the addresses of remotes
// may hold tokens. Of b it takes the way, the home, the network, and which paths
// are shown and hidden. The work tree itself may be made later.
func Tree(ctx context.Context, repo worktree.Repo, dir string, b sandbox.Box) (sandbox.Box, error) {
	b.Tree, b.Scratch, b.Shield = dir, dir+Scratch, []string{filepath.Join(dir, ".git")}
	b.Show = append(slices.Clone(b.Show), repo.Common())
	if err := os.Mkdir(b.Scratch, 0o700); err != nil {
		return b, err
	}
	settings, err := repo.Plain(ctx)
	if err != nil {
		return b, err
	}
	plain := filepath.Join(b.Scratch, "git-config")
	b.Instead = []sandbox.Stand{{File: plain, At: filepath.Join(repo.Common(), "config")}}
	return b, os.WriteFile(plain, []byte(settings), 0o600)
}
