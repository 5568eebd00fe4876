package confine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/schema/spec"
)

// Program is an agent program in its non-interactive form, with a separate home.
type Program struct {
	Runtime spec.Runtime
	Path    string   // of its command, absolute
	Show    []string // hidden paths that it needs to see
	// What the host's spec adds to every launch, without its secrets: those stay
	// outside a sandbox.
	Args      []string
	Variables map[string]string
	Endpoint  string      // with /v1
	Access    spec.Access // what requests to it must carry
	Secret    func(spec.Secret) (string, error)
	// Set returns how to start the program in a separate home, so that it uses
	// the server at url, which ends in /v1.
	Set func(url string) (Setting, error)
}

// Setting is a program's environment and files.
type Setting struct {
	Environment map[string]string
	Files       map[string][]byte // below its home, slash-separated
}

// Write writes the files to the home of b.
func (s Setting) Write(b sandbox.Box) error {
	home := filepath.Join(b.Scratch, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for name, text := range s.Files {
		to := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Environment returns the variables of the program; kept says that it runs in a
// sandbox.
func (p Program) Environment(s Setting, kept bool) (env []string) {
	for _, vars := range []map[string]string{map[bool]map[string]string{true: p.Runtime.Launch.Sandbox}[kept], p.Variables, s.Environment} {
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			env = append(env, name+"="+vars[name])
		}
	}
	return env
}

// Command returns the command that answers one prompt. In a sandbox it never
// asks for permission: no person is there to answer, and the sandbox sets the
// limits.
func (p Program) Command(prompt string, kept bool) []string {
	l := p.Runtime.Launch
	return append([]string{p.Path}, l.Line(l.Headless, p.Args, prompt, kept)...)
}
