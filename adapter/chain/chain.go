// Package chain has the wrappers by which git runs the hooks that were active
// before, and then a project's own. It writes nothing; package adapter declares
// them. Call Names.
package chain

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/gitrepo"
)

// clientHooks are the hooks that programs install: each has a wrapper, so that
// one installed later runs too. reference-transaction, post-index-change and
// others that git calls at every step have one only if they are in use.
// https://git-scm.com/docs/githooks
var clientHooks = []string{
	"applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
	"pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "sendemail-validate",
}

// Script is each wrapper: it goes by the name that it is called by.
//
//go:embed chain.sh
var Script []byte

// Names returns the hooks that have a wrapper: those that programs install, those
// that were active, and the project's.
func Names(theirs, ours []string) []string {
	names := slices.DeleteFunc(slices.Concat(clientHooks, theirs, ours), func(name string) bool { return strings.Contains(name, "/") })
	slices.Sort(names)
	return slices.Compact(names)
}

// Outside says why a project's git hooks are not wired, and what to do if it is
// a part of a larger repository.
func Outside(dir string) string {
	const why = "this folder is not the root of a git repository"
	for top := filepath.Dir(dir); top != dir && top != filepath.Dir(top); top = filepath.Dir(top) {
		if gitrepo.IsTop(top) {
			rel, err := filepath.Rel(top, filepath.Join(dir, "githooks"))
			if err != nil {
				return why
			}
			return why + ", but of a part of one; to run them for all of it: git config core.hooksPath " + filepath.ToSlash(rel)
		}
	}
	return why
}
