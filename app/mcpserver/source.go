package mcpserver

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/mcpregistry"
	"aisync.dev/aisync/internal/termtext"
)

// Source is where an entry comes from, as its field from has it:
// [REGISTRY//]NAMESPACE/NAME[@VERSION][#sha256:DIGEST].
type Source struct {
	Registry string // its address; "" is the one that is asked without another
	Name     string
	Version  string // "" is the newest
	SHA256   string // of the package's file, as the registry had it when an earlier aisync added the server
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsSource reports whether text, the name of a server on a command line, names
// one of a registry: names in a spec hold no slash.
func IsSource(text string) bool { return strings.Contains(text, "/") }

// ParseSource reads a source as it is typed, or as String writes it.
func ParseSource(text string) (Source, error) {
	var s Source
	rest := text
	if strings.Contains(rest, "://") {
		i := strings.LastIndex(rest, "//")
		if s.Registry = rest[:i]; strings.HasSuffix(s.Registry, ":") {
			return Source{}, badSource(text)
		}
		rest = rest[i+2:]
	}
	rest, s.SHA256, _ = strings.Cut(rest, "#sha256:")
	s.Name, s.Version, _ = strings.Cut(rest, "@")
	if s.Version == "latest" {
		s.Version = ""
	}
	wrong := !serverName.MatchString(s.Name) || len(s.Name) > 200 ||
		s.Version != "" && !exactVersion(s.Version) || strings.HasSuffix(rest, "@") ||
		s.SHA256 != "" && !digest.MatchString(s.SHA256) || strings.HasSuffix(text, "#sha256:")
	if wrong {
		return Source{}, badSource(text)
	}
	return s, s.checkRegistry()
}

func badSource(text string) error {
	return advice.New(fmt.Errorf("%q is no server of a registry", termtext.Clip(termtext.Safe(text), 200)), "name it as the registry does, NAMESPACE/NAME or NAMESPACE/NAME@VERSION: io.github.modelcontextprotocol/filesystem")
}

func (s Source) checkRegistry() error {
	if s.Registry == "" {
		return nil
	}
	u, err := url.Parse(s.Registry)
	if err != nil {
		return fmt.Errorf("the address of the MCP registry is no URL: %q", termtext.Safe(s.Registry))
	}
	return mcpregistry.Check(u)
}

// String returns s as the field from has it.
func (s Source) String() string {
	out := s.Name
	if s.Registry != "" {
		out = s.Registry + "//" + out
	}
	if s.Version != "" {
		out += "@" + s.Version
	}
	if s.SHA256 != "" {
		out += "#sha256:" + s.SHA256
	}
	return out
}
