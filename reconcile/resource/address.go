// Package resource composes what declarations ask of each target. It knows no
// plan, and writes nothing. Start reading at Declaration, then call Compose;
// where one place of a machine has several addresses, call FindPlaces as well.
package resource

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Address names one resource: "kind:name", such as file:~/.codex/config.toml.
// The name of a path starts with ~/ or / in host scope and is relative in
// project scope.
type Address string

// Kind returns the part before the first colon.
func (a Address) Kind() string { k, _, _ := strings.Cut(string(a), ":"); return k }

// Name returns the part after the first colon.
func (a Address) Name() string { _, n, _ := strings.Cut(string(a), ":"); return n }

// InProject reports whether a names something by a path of the project.
func (a Address) InProject() bool {
	n := a.Name()
	return a.IsPath() && !strings.HasPrefix(n, "/") && !strings.HasPrefix(n, "~")
}

// Path resolves the name of a path kind; home is what ~ stands for.
func (a Address) Path(home fsys.LogicalPath) fsys.LogicalPath {
	n := a.Name()
	if n == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(n, "~/"); ok {
		return home.Join(rest)
	}
	return fsys.LogicalPath(path.Clean(n))
}

// Match reports whether a is what a --target or --exclude pattern means: the
// address itself, or a shell pattern in which * also crosses slashes at the end.
func (a Address) Match(pattern string) bool {
	if string(a) == pattern {
		return true
	}
	if p, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(string(a), p) && !strings.ContainsAny(p, "*?[") {
		return true
	}
	ok, err := path.Match(pattern, string(a))
	return err == nil && ok
}

// ParseAddress checks the form of an address that a person typed.
func ParseAddress(s string) (Address, error) {
	kind, name, ok := strings.Cut(s, ":")
	if !ok || kind == "" || name == "" {
		return "", fmt.Errorf("%q is not an address: want kind:name, such as file:~/.claude/settings.json or model:tiny", s)
	}
	return Address(s), nil
}

// IsPath reports whether the name of a is a path.
func (a Address) IsPath() bool { return isPathKind(a.Kind()) }

// isPathKind lists the kinds whose names are paths and so share one name space.
func isPathKind(kind string) bool {
	switch kind {
	case "file", "link", "dir":
		return true
	}
	return false
}

// Owner is who declared something: "host", or "project:" and the project's
// folder. Only an owner's own declarations are ever pruned on its behalf.
type Owner string

// HostOwner owns what a host's spec declares.
const HostOwner Owner = "host"

// ProjectOwner owns what the spec of the project in dir declares.
func ProjectOwner(dir string) Owner { return Owner("project:" + dir) }

// TasksOwner stands for the task files and runs of the project in dir: what a
// person approved of them is recorded on its behalf. It declares nothing, and answers
// nothing for ProjectOwner.
func TasksOwner(dir string) Owner { return Owner("tasks:" + dir) }

// ProjectDir returns the folder of a project owner, "" for the host.
func (o Owner) ProjectDir() string {
	dir, _ := strings.CutPrefix(string(o), "project:")
	if o == HostOwner {
		return ""
	}
	return dir
}

// Position is a place in a file that a person can open.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

func (p Position) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}
