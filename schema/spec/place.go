package spec

import (
	"path"
	"slices"
	"strings"
)

// Place is a folder of a project that has bundles for itself.
type Place struct {
	Folder  string // clean, with slashes, below Project.Dir
	Bundles []BundleRef
	Teams   []BundleRef
	Pos     Position
}

// Nesting is a pattern of folders that may hold a spec which extends the
// project's.
type Nesting struct {
	Pattern string
	Found   int // nested specs there
	Pos     Position
}

// SourcesOf returns the sources that ref may mean.
func (p *Project) SourcesOf(ref BundleRef) []Source {
	if !slices.ContainsFunc(p.Sources, func(s Source) bool { return s.Place != "" && s.Place != ref.Place }) {
		return p.Sources
	}
	return slices.DeleteFunc(slices.Clone(p.Sources), func(s Source) bool { return s.Place != "" && s.Place != ref.Place })
}

// Folders returns the folders of p that have bundles for themselves.
func (p *Project) Folders() []string {
	var out []string
	for _, at := range p.Places {
		out = append(out, at.Folder)
	}
	return out
}

// Layers are p and the person's own layer of it; none for nil.
func (p *Project) Layers() []*Project {
	switch {
	case p == nil:
		return nil
	case p.Local == nil:
		return []*Project{p}
	}
	return []*Project{p, p.Local}
}

// References returns the bundles and teams of p, those of its folders last.
func (p *Project) References() (bundles, teams []BundleRef) {
	bundles, teams = slices.Clone(p.Bundles), slices.Clone(p.Teams)
	for _, at := range p.Places {
		bundles, teams = append(bundles, at.Bundles...), append(teams, at.Teams...)
	}
	return bundles, teams
}

// Remote reports whether a source at url must be fetched: a git or archive
// source. Everything else is a folder, read in place.
func Remote(url string) bool {
	if strings.Contains(url, "::") || strings.Contains(url, "://") || strings.HasPrefix(url, "git@") {
		return true
	}
	return LocalArchive(url)
}

// LocalArchive reports whether url is the path of an archive, with or without a
// //FOLDER in it.
func LocalArchive(url string) bool {
	if strings.Contains(url, "::") || strings.Contains(url, "://") {
		return false
	}
	name, _, _ := strings.Cut(url, "//")
	for _, ext := range []string{".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".tar.zst", ".tzst", ".tar", ".zip"} {
		if strings.HasSuffix(strings.ToLower(name), ext) {
			return true
		}
	}
	return false
}

// LocalPath is the address of a folder or a local archive that starts at dir, or, with
// ~/, at home: an absolute path, in an archive with its //FOLDER.
func LocalPath(url, dir, home string) string {
	name, folder := url, ""
	if i := strings.Index(url, "//"); i >= 0 && LocalArchive(url) {
		name, folder = url[:i], url[i:]
	}
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		name = path.Join(home, name[1:])
	case !path.IsAbs(name):
		name = path.Join(dir, name)
	}
	return path.Clean(name) + folder
}

// RuntimesHere returns the runtimes that p names, and those that the person's own
// layer of it adds.
func (p *Project) RuntimesHere() []Named {
	if p.Local == nil {
		return p.Runtimes
	}
	return slices.Concat(p.Runtimes, p.Local.Runtimes)
}

// Uses reports whether a runtime is one of RuntimesHere.
func (p *Project) Uses(runtime string) bool {
	return slices.ContainsFunc(p.RuntimesHere(), func(n Named) bool { return n.Value == runtime })
}
