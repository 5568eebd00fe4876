package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// release unpacks the archive of a release, of a known sha256, into a folder of
// that version and digest; a link says which of them is the program now:
//
//	releases/llama-server/b6123-1a2b3c4d5e6f/…             what was in the archive
//	releases/llama-server/bin/llama-server → ../b6123-…/…  what the services run
//
// A name is that of the program. What is there is read from the link.
var release = manager{
	name: "release", rooted: true, folder: ReleaseFolder,
	list: func(_ context.Context, at place, names []string) (map[string]installed, error) {
		found := map[string]installed{}
		for _, name := range names {
			is, err := releaseOf(at, name)
			if err != nil {
				return nil, err
			}
			found[name] = is
		}
		return found, nil
	},
	own:       releaseApply,
	preflight: releasePreflight,
}

// ReleaseFolder is where releases are unpacked, below the home.
const ReleaseFolder = ".local/share/aisync/releases"

// Archive is the archive of a release. Without SHA256 and Size it cannot be
// installed.
type Archive struct {
	URL    string
	SHA256 string
	Size   int64
}

// ReleaseProgram is the path of a release's program.
func ReleaseProgram(home fsys.LogicalPath, name string) fsys.LogicalPath {
	return home.Join(ReleaseFolder, name, "bin", name)
}

// ReleaseArchive is the path of a downloaded archive in a cache.
func ReleaseArchive(cache fsys.LogicalPath, sha256 string) fsys.LogicalPath {
	return cache.Join("releases", sha256)
}

// releaseVersion names the folder of a version and digest: another archive of
// the same version gets another folder.
func releaseVersion(version string, a Archive) string {
	if a.SHA256 == "" {
		return versions.Plain(version)
	}
	return versions.Plain(version) + "-" + a.SHA256[:12]
}

// releaseOf reads the link to the program, and its target. A program that is
// missing or not executable does not count.
func releaseOf(at place, name string) (installed, error) {
	p := ReleaseProgram(at.Home, name)
	target, err := at.FS.Readlink(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return installed{}, nil
	case fsys.Conclusive(err):
		return installed{blocked: fmt.Sprintf("%s is not a link made by aisync; move it away", p)}, nil
	case err != nil:
		return installed{}, err
	}
	version, _, ok := strings.Cut(strings.TrimPrefix(target, "../"), "/")
	if !ok || !versionForm.MatchString(version) {
		return installed{blocked: fmt.Sprintf("%s links to %s, outside aisync's releases; move it away", p, target)}, nil
	}
	info, err := at.FS.Lstat(p.Dir().Join(target))
	switch {
	case err != nil && !fsys.Conclusive(err):
		return installed{}, err
	case err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0:
		return installed{}, nil
	}
	return installed{version: version}, nil
}

// archiveOf is the archive that c wants to unpack; zero if it wants none, or if
// only the version is known.
func archiveOf(c reconcile.Change) Archive { return requestOf(c).archive }

// requestOf is what c makes true; the zero request of a change that asks for
// nothing, or for what was there before.
func requestOf(c reconcile.Change) request {
	if len(c.Leaves) == 0 || c.Leaves[0].Want == nil || c.Leaves[0].Action == reconcile.PutBack {
		return request{}
	}
	w, _ := c.Leaves[0].Want.Body.(request)
	return w
}

// explain says what is fetched, and what identifies it.
func (a Archive) explain() []reconcile.Line {
	switch {
	case a.URL == "":
		return nil
	case a.SHA256 == "":
		return []reconcile.Line{
			{Op: ' ', Text: "from " + a.URL},
			{Op: ' ', Text: "no sha256 is known: the first download is trusted and pinned"},
		}
	}
	return []reconcile.Line{{Op: ' ', Text: "from " + a.URL}, {Op: ' ', Text: "sha256 " + a.SHA256}}
}

// releasePreflight asks whether the archives are available, before any change.
func releasePreflight(ctx context.Context, at place, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	for _, c := range batch {
		a, name := archiveOf(c), nameOf(c.Target.Resource.Address)
		p := reconcile.Problem{Address: c.Target.Resource.Address}
		if _, err := at.FS.Lstat(ReleaseArchive(at.Cache, a.SHA256)); c.Leaves[0].Want == nil || a.SHA256 != "" && err == nil {
			continue // nothing has to be fetched
		}
		switch {
		case a.SHA256 == "":
			p.Err = errNotPinned
			p.Hint = advice.LockItself
		case at.Offline:
			p.Err = fmt.Errorf("install %s: %w", name, reconcile.ErrOffline)
		case at.Reach != nil:
			p.Err = at.Reach(ctx, name, []string{a.URL}, a.Size, a.SHA256)
			p.Hint = advice.UpdateArchive(name)
		}
		if p.Err != nil {
			problems = append(problems, p)
		}
	}
	return problems
}

var errNotPinned = errors.New("the content of its archive is unknown: neither the spec nor aisync.lock has a sha256")
