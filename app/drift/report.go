package drift

import (
	"fmt"
	"path"

	"aisync.dev/aisync/app/stack/place"
)

func (f Difference) Place() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// At is where a report for a program points to: a file, relative to the
// repository, and a line of it, 0 for none. What is no file of the project is
// pointed to where it is asked for; ok is false where nothing can be.
func (v *Report) At(f Difference) (file string, line int, ok bool) {
	if f.Address.InProject() {
		return path.Join(v.Prefix, f.File), f.Line, true
	}
	for _, o := range f.Origin {
		if path.Base(o.File) == place.SpecFile {
			return path.Join(v.Prefix, place.SpecFile), o.Line, true
		}
	}
	return "", 0, false
}
