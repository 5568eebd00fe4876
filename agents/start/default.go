package start

import (
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Default returns the runtime to start when the person names none, and where
// that default comes from: the first of
//
//   - the file projectFile of the project
//   - the project's spec
//   - the host's spec
//   - the file userFile of the home
//   - the first program that is installed, on a host without a spec
//   - the catalog
//
// read is launch.Default: it returns "" for a file that is not there.
func Default(s *spec.Spec, projectFile, userFile string, read func(file string) (string, error)) (word, where string, err error) {
	if word, err = read(projectFile); word != "" || err != nil {
		return word, projectFile, err
	}
	if s.Project != nil && s.Project.Default != "" {
		return s.Project.Default, s.Project.File, nil
	}
	if s.Host != nil && !s.Host.Builtin && s.Host.Default != "" {
		return s.Host.Default, "host " + s.Host.Name, nil
	}
	if word, err = read(userFile); word != "" || err != nil {
		return word, userFile, err
	}
	if s.Host != nil && s.Host.Default != "" {
		return s.Host.Default, "the programs that are installed", nil
	}
	return catalog.Preferred().ID, "the default", nil
}
