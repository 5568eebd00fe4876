package mcpserver

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/ssrf"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Ask is what a person said of a server that is to be added.
type Ask struct {
	Package string              // "npm", "pypi", "oci", "nuget", "http", "sse"; "": the first that an entry can have
	Values  map[string][]string // of arguments and of variables in them, in the form of a spec
	Env     []spec.EnvVar
	Headers []spec.EnvVar

	// Digest returns what the tag of an image names now, sha256:…. Without it an
	// image whose tag moves is refused.
	Digest func(image string) (string, error)
}

// Entry is a server as a spec has it.
type Entry struct {
	Server spec.MCPServer // its Name is the last part of the registry's
	Notes  []string       // what was chosen, and what can still be set

	pack *Package // that Server starts; nil: a remote
	own  []string // the arguments of pack
}

// way is one way to reach a server: a package that is started, or a remote.
type way struct {
	kind string // as in Ask.Package
	what string // for people
	make func(*filling) (spec.MCPServer, string, error)
}

// Entry returns s as ask wants it. The first package whose starter aisync knows
// counts, and without one the first remote. The error names all that is missing
// or wrong.
func (s Server) Entry(ask Ask) (Entry, error) {
	ways, reasons := s.ways()
	if ask.Package != "" {
		i := slices.IndexFunc(ways, func(w way) bool { return w.kind == ask.Package })
		if i < 0 {
			return Entry{}, s.noWay(ask.Package, ways, reasons)
		}
		ways = append([]way{ways[i]}, slices.Delete(slices.Clone(ways), i, i+1)...)
	}
	if len(ways) == 0 {
		return Entry{}, s.noWay("", nil, reasons)
	}
	f := &filling{server: s.Name, ask: ask, used: map[string]bool{}}
	server, _, err := ways[0].make(f)
	if err := errors.Join(append(f.wrong, err, f.unused())...); err != nil {
		return Entry{}, err
	}
	_, server.Name, _ = strings.Cut(s.Name, "/")
	return Entry{Server: server, Notes: s.notes(ways, f), pack: f.chosen, own: f.own}, nil
}

// notes tells what was chosen.
func (s Server) notes(ways []way, f *filling) []string {
	out := []string{fmt.Sprintf("%s %s: %s", s.Name, s.Version, ways[0].what)}
	if s.Status == "deprecated" {
		out = append(out, because(fmt.Errorf("%s is deprecated", s.Name), s.StatusMessage).Error())
	}
	if len(ways) > 1 {
		var others []string
		for _, w := range ways[1:] {
			others = append(others, w.kind)
		}
		out = append(out, "it can also be had by --package "+strings.Join(slices.Compact(others), ", "))
	}
	return append(out, f.notes...)
}

// ways returns what an entry can be made of, and why the rest cannot be.
func (s Server) ways() (ways []way, reasons []error) {
	for _, p := range s.Packages {
		st, err := p.starter()
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		ways = append(ways, way{p.RegistryType, fmt.Sprintf("%s package %s", p.RegistryType, st.pinned), func(f *filling) (spec.MCPServer, string, error) {
			server := st.server(p, f)
			if p.FileSHA256 != "" {
				f.note("the registry has a sha256 of the package's file, which %s does not check: it is not kept", st.command)
			}
			return server, p.FileSHA256, nil
		}})
	}
	for _, want := range []string{"streamable-http", "sse"} { // sse is the older protocol
		for _, r := range s.Remotes {
			if r.Type != want {
				continue
			}
			kind := map[bool]string{true: "sse", false: "http"}[want == "sse"]
			ways = append(ways, way{kind, "remote server at " + termtext.Safe(r.URL), func(f *filling) (spec.MCPServer, string, error) {
				server, err := r.server(f)
				return server, "", err
			}})
		}
	}
	for _, r := range s.Remotes {
		if r.Type != "streamable-http" && r.Type != "sse" {
			reasons = append(reasons, fmt.Errorf("its remote is spoken to by %q, which this aisync does not know", termtext.Clip(termtext.Safe(r.Type), 50)))
		}
	}
	return ways, reasons
}

// Offer is one way to have a server.
type Offer struct {
	Package string  `json:"package"` // as --package takes it
	What    string  `json:"what"`
	SHA256  string  `json:"sha256,omitempty"` // of the package's file
	Asks    []Asked `json:"asks"`
}

// Offers returns the ways to have s, and why the rest of what the registry has
// is none.
func (s Server) Offers() ([]Offer, []error) {
	ways, reasons := s.ways()
	out := []Offer{}
	for _, w := range ways {
		f := &filling{server: s.Name, used: map[string]bool{}, asked: []Asked{}}
		_, sha256, _ := w.make(f) // nothing is given, so that it fails is no matter
		out = append(out, Offer{w.kind, w.what, sha256, f.asked})
	}
	return out, reasons
}

// noWay is the error for a server of which no entry can be made as wanted.
func (s Server) noWay(wanted string, ways []way, reasons []error) error {
	var kinds []string
	for _, w := range ways {
		kinds = append(kinds, w.kind)
	}
	switch {
	case wanted != "" && len(kinds) > 0:
		return advice.New(fmt.Errorf("%s %s has no package %q that aisync can set up", s.Name, s.Version, termtext.Safe(wanted)), "choose with --package: "+strings.Join(slices.Compact(kinds), ", "))
	case len(reasons) == 0:
		return fmt.Errorf("%s %s names neither a package nor a remote server", s.Name, s.Version)
	}
	var out []error
	for _, r := range reasons {
		out = append(out, fmt.Errorf("%s %s: %w", s.Name, s.Version, r))
	}
	return errors.Join(out...)
}

// server is a remote as a spec has it.
func (t Transport) server(f *filling) (spec.MCPServer, error) {
	at, ok := f.fill(t.URL, t.Variables, "the address", 0)
	s := spec.MCPServer{URL: at, SSE: t.Type == "sse"}
	s.Headers = f.named(t.Headers, f.ask.Headers, "header", headerName)
	if len(f.ask.Env) > 0 {
		f.fail("--env", "%s is a remote server, which gets no variables", f.server)
	}
	if !ok {
		return s, nil // what is missing is named already
	}
	return s, checkURL(at)
}

// checkURL refuses an address to which secrets should not be sent.
func checkURL(at string) error {
	if strings.HasPrefix(at, "${") {
		return nil // a variable of the person's own
	}
	u, err := url.Parse(strings.ReplaceAll(at, "${", "{"))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%q is no address of a server", termtext.Clip(termtext.Safe(at), 200))
	case u.User != nil:
		return fmt.Errorf("the address of the server holds a login")
	case u.Scheme == "http" && !ssrf.Here(u.Hostname()):
		return fmt.Errorf("%s is not encrypted: a server on another machine must be reached over https", termtext.Clip(termtext.Safe(at), 200))
	}
	return nil
}
