package effects

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"aisync.dev/aisync/reconcile"
)

// hooksPath is the setting by which git runs hooks of a project.
const hooksPath = reconcile.Address("gitconfig:core.hooksPath")

// ownHooks is the folder of the project's hooks.
const ownHooks = "githooks"

// gitHooks are the executable files of the folders from which git will run
// hooks: git runs them, or a hook may. The wrappers of the plan itself, which
// run those of ownHooks, do not count.
func (t *tree) gitHooks(plan *reconcile.Plan, hooked bool) []Effect {
	folders := t.hookFolders(plan)
	if hooked {
		folders = append(folders, ownHooks)
	}
	var out []Effect
	for _, dir := range folders {
		names, all := t.glob(path.Join(dir, "**"))
		if !all {
			e := Effect{Program: "git", Class: Runs, Text: "runs every file in " + dir + ", too many files to look at all of them", File: dir, whole: true, asks: []reconcile.Address{hooksPath}}
			out = append(out, t.finished(e, nil))
		}
		for _, name := range names {
			if a, ours := t.after[name]; dir != ownHooks && ours && t.outcome(a).err == nil {
				continue
			}
			_, exec, err := t.read(name)
			if errors.Is(err, fs.ErrNotExist) || err == nil && !exec {
				continue
			}
			e := Effect{Program: "git", Class: Runs, Text: "runs " + name, File: name, whole: true, named: []string{name}, asks: []reconcile.Address{hooksPath}}
			out = append(out, t.finished(e, nil))
		}
	}
	return out
}

// hookFolders are the project's folders from which git will run hooks because
// of plan, ownHooks first; none if the plan does not say.
func (t *tree) hookFolders(plan *reconcile.Plan) []string {
	if plan == nil {
		return nil
	}
	var out []string
	for _, c := range plan.Changes {
		if c.Target.Resource.Address != hooksPath {
			continue
		}
		for _, l := range c.Leaves {
			var dir string
			if l.Want == nil || json.Unmarshal(l.Want.Body.Redacted(), &dir) != nil {
				continue
			}
			out = append(out, ownHooks)
			if rel, err := filepath.Rel(t.root, dir); filepath.IsAbs(dir) && err == nil {
				dir = filepath.ToSlash(rel)
			}
			if dir = path.Clean(dir); dir != ownHooks {
				out = append(out, dir)
			}
		}
	}
	return out
}
