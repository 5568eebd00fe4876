package project

import (
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/internal/unixpath"
)

// ContextOf returns the live context file of an agent; "" is the primary. It
// turns an id that is no valid file name into one.
func ContextOf(root, id string) string {
	if id == "" {
		return path.Join(root, Singleton)
	}
	return path.Join(root, Contexts, identity.FileName(id)+".org")
}

// Caller returns the id of the agent that the environment names, "" for the
// primary. An id wins over a path: a helper with an id may have inherited the
// path of the agent that started it. A path that is not a context file is an
// error.
func Caller(root string, getenv func(string) string) (id string, err error) {
	id = strings.TrimSpace(getenv(identity.VarID))
	set := getenv(identity.VarContext)
	if set == "" {
		return id, nil
	}
	file := set
	if !path.IsAbs(file) {
		file = path.Join(root, file)
	}
	file = path.Clean(file)
	base, isOrg := strings.CutSuffix(path.Base(file), ".org")
	switch {
	case isOrg && one(path.Join(root, Contexts), path.Dir(file)):
	case file == path.Join(root, Singleton):
		base = ""
	default:
		return "", fmt.Errorf("%s=%s does not name a file of %s; it is what ai sets: unset it, or set %s alone",
			identity.VarContext, set, path.Join(root, Contexts), identity.VarID)
	}
	if id != "" {
		return id, nil
	}
	return base, nil
}

// one reports whether two paths are the same folder; it resolves links in the
// second.
func one(want, dir string) bool {
	if want == dir {
		return true
	}
	real, err := unixpath.EvalSymlinks(dir)
	return err == nil && real == want
}
