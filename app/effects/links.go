package effects

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/reconcile"
)

// maxLinks bounds the links that a path follows, as kernels do.
const maxLinks = 40

// resolve follows the links in name, planned ones included. A path that leads
// out of the project, or in a circle, stays as it is.
func (t *tree) resolve(name string) string {
	done, left := "", strings.Split(name, "/")
	for n := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "" {
				return name
			}
			if done = path.Dir(done); done == "." {
				done = ""
			}
			continue
		}
		at := path.Join(done, part)
		target, ok := t.links[at]
		if !ok {
			live, err := os.Readlink(filepath.Join(t.root, filepath.FromSlash(at)))
			target, ok = filepath.ToSlash(live), err == nil
		}
		if !ok {
			done = at
			continue
		}
		if n++; n > maxLinks {
			return name
		}
		if path.IsAbs(target) {
			inside := t.within("../" + strings.Repeat("../", strings.Count(t.root, "/")) + target)
			if inside == "" {
				return name
			}
			done, target = "", inside
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return done
}

// aliased returns the names that match pattern and lead through a link to a
// file that the plan makes, or through a planned link to an existing file.
func (t *tree) aliased(pattern string) []string {
	if len(t.after)+len(t.links) == 0 || !strings.ContainsAny(pattern, "*?[{") {
		return nil
	}
	fixed, _ := doublestar.SplitPattern(pattern)
	var out []string
	through := func(alias, real string) {
		var found []string
		if _, ours := t.links[alias]; ours {
			found = t.walked(real).found
		}
		for name := range t.real {
			found = append(found, name)
		}
		for _, name := range found {
			if rest, ok := strings.CutPrefix(name, real+"/"); ok {
				if ok, _ := doublestar.Match(pattern, path.Join(alias, rest)); ok {
					out = append(out, path.Join(alias, rest))
				}
			}
		}
	}
	for alias := range t.links {
		through(alias, t.resolve(alias))
	}
	if fixed == "." {
		return out
	}
	var folders []string
	for at := fixed; at != "."; at = path.Dir(at) {
		folders = append(folders, at)
	}
	for _, name := range slices.Concat(folders, t.walked(fixed).links) {
		if info, err := os.Lstat(filepath.Join(t.root, filepath.FromSlash(name))); err == nil && info.Mode()&os.ModeSymlink != 0 {
			through(name, t.resolve(name))
		}
	}
	return out
}

// linked adds to e what the plan writes under another name, or links to, to
// bring e about.
func (t *tree) linked(e *Effect) {
	real := t.resolve(e.File)
	if name := t.real[real]; name != "" && name != e.File {
		e.named = append(e.named, name)
	}
	for alias := range t.links {
		if e.File == alias || strings.HasPrefix(e.File, alias+"/") {
			e.asks = append(e.asks, reconcile.Address("link:"+alias))
		}
	}
	slices.Sort(e.asks)
}
