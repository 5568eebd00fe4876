package drift

import (
	"fmt"
	"path"
	"path/filepath"

	"aisync.dev/aisync/app/stack/place"
)

// Place returns the file of d, with the first line that differs where one is known.
func (d Difference) Place() string {
	if d.Line > 0 {
		return fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return d.File
}

// At returns the file, relative to the repository, and the line, 0 for none, at
// which a report for a program shows d. A resource that is no file of the project
// is shown where the project's spec asks for it; ok is false where it does not.
func (r *Report) At(d Difference) (file string, line int, ok bool) {
	if d.Address.InProject() {
		return path.Join(r.Prefix, d.File), d.Line, true
	}
	for _, o := range d.Origin {
		if path.Base(o.File) == place.SpecFile {
			return path.Join(r.Prefix, nestedSpec(r.cwd, r.dir, o.File)), o.Line, true
		}
	}
	return "", 0, false
}

// From says that r was made in dir, whose places are shown as seen from cwd.
func (r *Report) From(cwd, dir string) {
	r.cwd, r.dir = dir, dir
	if rel, err := filepath.Rel(cwd, dir); err == nil && filepath.IsLocal(rel) {
		dir = rel
	}
	r.Prefix = filepath.ToSlash(dir) + "/"
}

// nestedSpec returns a spec, as named from cwd, as a path below the project: that
// of a folder, or the root's.
func nestedSpec(cwd, project, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(cwd, file)
	}
	if rel, err := filepath.Rel(project, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return place.SpecFile
}
