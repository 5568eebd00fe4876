package adapter

import (
	"path/filepath"
	"slices"

	"aisync.dev/aisync/adapter/chain"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/reconcile"
)

// Chained is the project's folder from which git runs the formerly active hooks
// beside those of githooks/.
const Chained = ".aisync/githooks"

// Hooks is the state of a project's git hooks on this machine.
type Hooks struct {
	Active bool     // hooks from outside the project run now
	Names  []string // their names; those installed later run if their name is in chain.Names
	Shared bool     // another work tree of the repository, which shares this configuration, has the chain
	Notes  []string // for the plan, if git hooks are wanted
}

// wireHooks points git to the hooks of githooks/, which files holds, or, if
// others are active, to wrappers that run both. The wrappers belong to this
// machine: git does not carry them.
func (b *builder) wireHooks(h Hooks, files []reconcile.Address, ours []string, origin []reconcile.Position) {
	for _, text := range h.Notes {
		b.note(true, origin, "%s", text)
	}
	if h.Shared {
		return // it belongs to that work tree, and goes with it
	}
	value, asker := "githooks", "git hooks"
	if h.Active {
		// Absolute: a linked work tree shares the value and has no such folder.
		value = filepath.Join(b.owner.ProjectDir(), filepath.FromSlash(Chained))
		add := func(name string, body reconcile.Body) {
			at := fileAt(Chained + "/" + name)
			b.leaf(at, "", reconcile.Leaf{Body: body, Origin: origin}, asker)
			b.targets[at].Local = true
			files = append(files, at)
		}
		for _, name := range chain.Names(h.Names, ours) {
			add(name, file.Whole(chain.Script, 0o755))
		}
		add(".gitignore", file.Whole([]byte("*\n"), 0o644))
	}
	const key = "gitconfig:core.hooksPath"
	b.leaf(key, "", reconcile.Leaf{Body: gitconfig.Value(value), Origin: origin}, asker)
	slices.Sort(files)
	b.targets[key].DependsOn, b.targets[key].Local = slices.Compact(files), true
}
