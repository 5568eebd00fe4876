// Package mcpserver turns what an MCP registry says of a server, its
// server.json, into an mcp entry of a spec: with an exact version, the arguments
// that it asks for, and references in place of secrets. It writes no spec and
// starts nothing. Call Registry.Get, then Server.Entry.
package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

// Server is what a registry says of one version of a server. Its texts are the
// publisher's: they can hold anything.
type Server struct {
	Name        string // NAMESPACE/NAME
	Title       string
	Description string
	Version     string
	Packages    []Package
	Remotes     []Transport

	Status        string // "active", "deprecated", "deleted"; "": the registry does not say
	StatusMessage string // the publisher's reason for it
}

// Package is one way to start a server.
type Package struct {
	RegistryType, RegistryBaseURL string
	Identifier, Version           string
	FileSHA256                    string
	RuntimeHint                   string
	Transport                     Transport
	RuntimeArguments              []Argument // of what starts the package, such as docker
	PackageArguments              []Argument
	EnvironmentVariables          []Argument
}

// Transport is how a server is spoken to: "stdio", "streamable-http", "sse".
type Transport struct {
	Type      string
	URL       string // with variables in {braces}
	Headers   []Argument
	Variables map[string]Input
}

// Argument is a word of a command line, a variable of the environment, or a
// header.
type Argument struct {
	Input
	Type       string // of a command line: "positional", "named"
	Name       string // of all but positional ones
	ValueHint  string // what a positional one is called; not on the command line
	IsRepeated bool
	Variables  map[string]Input // of the {braces} in Value
}

// Input is a value that a server asks for.
type Input struct {
	Description, Format  string
	Value                string // set by the publisher, not by the user
	Default, Placeholder string
	Choices              []string
	IsRequired, IsSecret bool
}

// Forms are the dates of the schemas that Parse reads, oldest first. Changes
// between them: https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/server-json/CHANGELOG.md.
var forms = []string{"2025-07-09", "2025-09-16", "2025-09-29", "2025-10-11", "2025-10-17", "2025-12-11"}

var (
	schemaName = regexp.MustCompile(`/schemas/([0-9]{4}-[0-9]{2}-[0-9]{2}|draft)/server\.schema\.json$|/(draft)/server\.schema\.json$`)

	// serverName is stricter than the schema at both ends of a part: no part is
	// a path's "..", or an option.
	serverName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
)

// ErrDeleted means that the publisher or the registry took a server back.
var ErrDeleted = errors.New("deleted from the registry")

// Parse reads a registry's answer about one server: a server.json alone, or
// beside what the registry says of it. It reads the forms of 2025-07-09 and
// later, and those before as far as they were published.
func Parse(b []byte) (Server, error) {
	var raw any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return Server{}, fmt.Errorf("server.json is not JSON: %w", err)
	}
	answer, ok := raw.(map[string]any)
	if !ok {
		return Server{}, errors.New("server.json is not an object")
	}
	inner, wrapped := answer["server"].(map[string]any)
	if !wrapped {
		inner = answer
	}
	if err := knownForm(inner["$schema"]); err != nil {
		return Server{}, err
	}
	status, message := statusOf(answer, inner)
	text, err := json.Marshal(modern(inner, false))
	if err != nil {
		return Server{}, err
	}
	var s Server
	if err := json.Unmarshal(text, &s); err != nil {
		return Server{}, fmt.Errorf("server.json has a field of another type: %w", err)
	}
	s.Status, s.StatusMessage = status, message
	return s, s.check()
}

// knownForm refuses a form that may mean something else than what this program
// would read into it.
func knownForm(schema any) error {
	if schema == nil {
		return nil
	}
	name, _ := schema.(string)
	newest := forms[len(forms)-1]
	m := schemaName.FindStringSubmatch(name)
	switch {
	case m == nil:
		return fmt.Errorf("server.json names %q, which is no schema of an MCP registry", termtext.Clip(termtext.Safe(name), 100))
	case m[1] == "draft" || m[2] == "draft" || slices.Contains(forms, m[1]):
		return nil
	case m[1] > newest:
		return advice.New(fmt.Errorf("server.json is in the form of %s, and this aisync reads those up to %s", m[1], newest), "a newer aisync may read it; until then: aisync add mcp NAME -- COMMAND")
	}
	return fmt.Errorf("server.json is in the form of %s, which was never published", m[1])
}

// official is where a registry keeps what it says of a server itself.
const official = "io.modelcontextprotocol.registry/official"

// statusOf returns the status of a server. Until 2025-09-29 it stood in
// server.json itself.
func statusOf(answer, server map[string]any) (status, message string) {
	meta, _ := answer["_meta"].(map[string]any)
	for _, in := range []any{meta[official], any(meta), any(server)} {
		if m, ok := in.(map[string]any); ok && status == "" {
			status, _ = m["status"].(string)
			message, _ = m["statusMessage"].(string)
		}
	}
	return status, message
}

// check refuses what no entry can be made of.
func (s Server) check() error {
	switch {
	case !serverName.MatchString(s.Name) || len(s.Name) > 200:
		return fmt.Errorf("server.json names its server %q, which is no NAMESPACE/NAME", termtext.Clip(termtext.Safe(s.Name), 100))
	case !exactVersion(s.Version):
		return fmt.Errorf("%s has the version %q, which is not an exact one", s.Name, termtext.Clip(termtext.Safe(s.Version), 100))
	case s.Status == "deleted":
		return because(fmt.Errorf("%s %s: %w", s.Name, s.Version, ErrDeleted), s.StatusMessage)
	case s.Status != "" && s.Status != "active" && s.Status != "deprecated":
		return fmt.Errorf("%s %s has the status %q, which this aisync does not know", s.Name, s.Version, termtext.Clip(termtext.Safe(s.Status), 100))
	case len(s.Packages)+len(s.Remotes) > 100:
		return fmt.Errorf("%s %s has more than 100 packages", s.Name, s.Version)
	}
	return nil
}

// because adds the publisher's reason to err.
func because(err error, reason string) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, termtext.Clip(termtext.OneLine(reason), 300))
}

// versionName is a version of a server, which need not have numbers.
var versionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_!~-]*$`)

// exactVersion reports whether v can be the one version of a server that an
// entry names.
func exactVersion(v string) bool {
	return versionName.MatchString(v) && v != "latest" && len(v) <= 255
}
