package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch"
	archives "aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// archiveLimits bound the contents of a release: ollama's has gigabytes of
// libraries.
var archiveLimits = archives.Limits{Files: 50_000, Bytes: 32 << 30}

// unpacking is one change of a release.
type unpacking struct {
	at   place
	c    reconcile.Change
	w    reconcile.WriteEnv
	name string
	dir  fsys.LogicalPath // of all its versions
}

// releaseApply makes c true. A version gets its name after all of it is on
// disk, and becomes the program by one exchange of a link. A kill leaves the
// former state, and folders whose names start with a dot, which the next call
// removes.
func releaseApply(ctx context.Context, at place, c reconcile.Change, w reconcile.WriteEnv) error {
	name := nameOf(c.Target.Resource.Address)
	u := unpacking{at, c, w, name, at.Home.Join(ReleaseFolder, name)}
	if err := u.sweep(); err != nil {
		return err
	}
	want, wanted := target(c)
	was := constraint(c.Before.Token).exact()
	if !wanted {
		return u.drop(was)
	}
	version := want.exact()
	if _, err := w.FS.MkdirAll(u.dir.Join("bin"), 0o755); err != nil {
		return err
	}
	a := archiveOf(c)
	if a.SHA256 != "" {
		if err := u.install(ctx, version, a); err != nil {
			return err
		}
	}
	program, err := u.program(version)
	if err != nil {
		return fmt.Errorf("version %s of %s: %w", version, name, err)
	}
	if err := u.point(version + "/" + program); err != nil {
		return err
	}
	if a.SHA256 != "" {
		if err := takeAway(w.FS, ReleaseArchive(at.Cache, a.SHA256)); err != nil {
			return err
		}
	}
	if l := c.Leaves[0].Last; was != "" && was != version && l != nil && l.Provenance == reconcile.Created {
		return u.clear(was) // a version from before aisync stays, to be put back
	}
	return nil
}

// install unpacks the archive a as a version.
func (u unpacking) install(ctx context.Context, version string, a Archive) error {
	packed, err := u.fetch(ctx, a)
	if err != nil {
		return err
	}
	from, err := u.w.FS.Physical(packed)
	if err != nil {
		return err
	}
	fresh := "." + version
	to := u.physical(fresh)
	err = archives.Unpack(to, from, ending(a.URL), archiveLimits)
	if err == nil {
		err = u.settle(fresh)
	}
	if err == nil {
		err = u.clear(version)
	}
	if err == nil {
		err = os.Rename(to, u.physical(version))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("unpack %s: %w", a.URL, err), os.RemoveAll(to))
	}
	return nil
}

// fetch downloads a into the cache, unless it is there, and returns its path.
func (u unpacking) fetch(ctx context.Context, a Archive) (fsys.LogicalPath, error) {
	p := ReleaseArchive(u.at.Cache, a.SHA256)
	switch digest, _, err := u.w.FS.Digest(p); {
	case err == nil && digest == "sha256:"+a.SHA256:
		return p, nil
	case err == nil: // its content does not match its name
		if err := takeAway(u.w.FS, p); err != nil {
			return "", err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if _, err := u.w.FS.MkdirAll(p.Dir(), 0o700); err != nil {
		return "", err
	}
	progress := func(done, total int64) {
		if u.w.Progress != nil {
			u.w.Progress(u.c.Target.Resource.Address, done, total)
		}
	}
	part := p + ".part"
	_, err := u.w.Fetch.Fetch(ctx, u.w.FS, u.name, []string{a.URL}, a.Size, a.SHA256, part, progress)
	switch {
	case errors.Is(err, fetch.ErrMismatch):
		return "", fmt.Errorf("%w; nothing was unpacked; %s", err, advice.UpdateArchive(u.name))
	case err != nil:
		return "", err
	}
	return p, u.w.FS.Move(part, p)
}

// program finds the program in a version: the file of that name nearest to the
// top. The path is relative to the version.
func (u unpacking) program(version string) (string, error) {
	top := u.physical(version)
	found, all := "", []string{}
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		all = append(all, rel)
		if path.Base(rel) == u.name && (found == "" || strings.Count(rel, "/") < strings.Count(found, "/")) {
			found = rel
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("the archive has no program %s, but %s; is it the right one?", u.name, strings.Join(all[:min(5, len(all))], ", "))
	}
	return found, err
}

// settle makes the program executable, which an archive packed on Windows does
// not record, gives everything below to the person, and syncs it.
func (u unpacking) settle(version string) error {
	program, err := u.program(version)
	if err != nil {
		return err
	}
	to := u.physical(version)
	if err := os.Chmod(filepath.Join(to, program), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(p string, d fs.DirEntry, err error) error {
		if err == nil && u.at.Chown {
			err = os.Lchown(p, u.at.UID, u.at.GID)
		}
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// point sets the link's target to a program.
func (u unpacking) point(to string) error {
	p, target := ReleaseProgram(u.at.Home, u.name), "../"+to
	expect := fsys.Expect{Absent: true}
	switch now, err := u.w.FS.Readlink(p); {
	case err == nil && now == target:
		return nil
	case err == nil:
		expect = fsys.Expect{Digest: fsys.LinkDigest(now)}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return u.w.FS.Symlink(p, target, expect, nil)
}

// drop removes a version, and the folders that are empty then.
func (u unpacking) drop(version string) error {
	if err := takeAway(u.w.FS, ReleaseProgram(u.at.Home, u.name)); err != nil {
		return err
	}
	if err := u.clear(version); err != nil {
		return err
	}
	for _, dir := range []fsys.LogicalPath{u.dir.Join("bin"), u.dir} {
		_ = u.w.FS.Rmdir(dir) // a folder that is not empty holds another version
	}
	return nil
}

// clear removes the folder of a version. Its name stands for the whole version
// or does not exist.
func (u unpacking) clear(version string) error {
	if version == "" {
		return nil
	}
	away := u.physical("." + version + ".dropped")
	if err := os.Rename(u.physical(version), away); err != nil {
		return notThere(err)
	}
	return os.RemoveAll(away)
}

// sweep removes what a killed apply left.
func (u unpacking) sweep() error {
	entries, err := u.w.FS.ReadDir(u.dir)
	if err != nil {
		return notThere(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			err = errors.Join(err, os.RemoveAll(u.physical(e.Name())))
		}
	}
	return err
}

// physical is the path of something below the folder of all versions.
func (u unpacking) physical(below string) string { return u.at.physical(u.dir.Join(below)) }

// ending is the suffix of an archive's name, as package archive knows it.
func ending(address string) string {
	name, _, _ := strings.Cut(path.Base(address), "?")
	i := slices.IndexFunc(archives.Endings, func(e string) bool { return strings.HasSuffix(name, "."+e) })
	if i < 0 {
		return ""
	}
	return archives.Endings[i]
}

// IsArchive reports whether an address has the suffix of an archive that can be
// unpacked.
func IsArchive(address string) bool { return ending(address) != "" }
