package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Install returns e, an entry of a, in the form of a host: with its npm package
// to be installed, and the program that npx would start as its command. An entry
// that aisync cannot install stays as it is, with a note. What npm's registry says
// is kept with a.
func (r Registry) Install(ctx context.Context, a *Answer, e Entry) (Entry, error) {
	if e.pack == nil {
		return e, nil
	}
	stays := func(why string) (Entry, error) {
		e.Notes = append(e.Notes, fmt.Sprintf("%s, so %s fetches it at its first start", why, e.Server.Command))
		return e, nil
	}
	p := e.pack
	if p.RegistryType != "npm" {
		return stays("aisync installs servers from npm alone")
	}
	if !packages.ValidName(p.Identifier) {
		return stays("aisync does not install a package of such a name")
	}
	release, err := r.release(ctx, a, p.Identifier, p.Version)
	switch {
	case errors.Is(err, packages.ErrNoNPM):
		return stays("npm is not in PATH")
	case err != nil:
		return Entry{}, err
	}
	program := release.Program(p.Identifier)
	if program == "" {
		return stays(fmt.Sprintf("%s has no program that is the server's", p.Identifier))
	}
	if !programName.MatchString(program) {
		return Entry{}, fmt.Errorf("the program of %s has the name %q, which no program can have", p.Identifier, termtext.Clip(termtext.Safe(program), 100))
	}
	if release.Deprecated != "" {
		e.Notes = append(e.Notes, because(fmt.Errorf("npm: %s %s is deprecated", p.Identifier, p.Version), release.Deprecated).Error())
	}
	e.Notes = append(e.Notes, "aisync apply installs the package, whose program is "+program)
	e.Server.Install = &spec.Install{Via: "npm", Package: p.Identifier, Version: p.Version}
	e.Server.Command, e.Server.Args = program, e.own
	return e, nil
}

// Renews returns an error if the version that to moves m to, as a says, is not to
// be had from npm, or has no program that m names.
func (r Registry) Renews(ctx context.Context, a *Answer, m spec.MCPServer, to Renewal) error {
	release, err := r.release(ctx, a, m.Install.Package, to.Words[1])
	if err == nil && release.Programs[m.Command] == "" {
		return advice.New(fmt.Errorf("%s has no program %s", to.After, m.Command), fmt.Sprintf("aisync remove mcp %s, then: aisync add mcp %s@%s", m.Name, a.Name, a.Version))
	}
	return err
}

// release returns what npm's registry says of one version of a package; offline,
// what it said before.
func (r Registry) release(ctx context.Context, a *Answer, name, version string) (out packages.Release, err error) {
	at := r.place("npm "+name, version)
	if out, err = r.NPM(ctx, name, version); err == nil {
		text, err := json.Marshal(out)
		if a.also == nil {
			a.also = map[string][]byte{}
		}
		a.also[at] = text
		return out, err
	}
	if !errors.Is(err, reconcile.ErrOffline) {
		return out, err
	}
	text, err := regular.Read(at, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("the package %s %s was not fetched before: %w", name, version, reconcile.ErrOffline)
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}
