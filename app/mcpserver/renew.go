package mcpserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema/spec"
)

// Renewal is what changes in an entry of a spec that takes another version.
type Renewal struct {
	From   string   // the field from, with the version of the new one
	Words  []string // pairs: an argument, and the one in its place; of a package that is installed, its versions
	Before string   // the package or address, for people
	After  string
}

// Renew returns what changes in m, which was made of the version old, so that it is of
// the version now. The error says why only a person can do it: now asks for other
// arguments, variables or headers than old, or is not had in the same way.
func Renew(m spec.MCPServer, from Source, old, now Server) (Renewal, error) {
	from.Version, from.SHA256 = now.Version, ""
	again := func(why string) error {
		return advice.New(fmt.Errorf("%s %s %s than %s", now.Name, now.Version, why, old.Version),
			fmt.Sprintf("aisync remove mcp %s, then: aisync add mcp %s@%s", m.Name, now.Name, now.Version))
	}
	for _, p := range old.Packages {
		was, err := p.starter()
		installed := m.Install != nil && p.RegistryType == m.Install.Via && p.Identifier == m.Install.Package && p.Version == m.Install.Version
		if err != nil || was.moves || !installed && !slices.Contains(m.Args, was.pinned) {
			continue
		}
		for _, q := range now.Packages {
			is, err := q.starter()
			if err != nil || is.moves || q.RegistryType != p.RegistryType || untagged(q) != untagged(p) {
				continue
			}
			if !reflect.DeepEqual(asks(p), asks(q)) {
				return Renewal{}, again("asks for other arguments or variables")
			}
			from.SHA256 = q.FileSHA256
			out := Renewal{From: from.String(), Words: []string{was.pinned, is.pinned}, Before: was.pinned, After: is.pinned}
			if installed {
				out.Words = []string{p.Version, q.Version}
			}
			return out, nil
		}
	}
	for _, r := range old.Remotes {
		if m.URL == "" || r.URL != m.URL && len(r.Variables) == 0 {
			continue
		}
		if slices.ContainsFunc(now.Remotes, func(o Transport) bool { return reflect.DeepEqual(r, o) }) {
			return Renewal{From: from.String(), Before: r.URL, After: r.URL}, nil
		}
	}
	return Renewal{}, again("is had in another way")
}

// asks is what of p decides the words of a command line and the variables.
func asks(p Package) Package {
	p.Identifier, p.Version, p.FileSHA256 = "", "", ""
	return p
}

// untagged is the name of a package without the version that an image has in it.
func untagged(p Package) string {
	name, _, _ := strings.Cut(p.Identifier, "@")
	if p.RegistryType != "oci" {
		return p.Identifier
	}
	return imageTag.ReplaceAllString(name, "")
}
