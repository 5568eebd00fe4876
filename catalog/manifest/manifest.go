// Package manifest reads and writes runtimes/ID.toml, the short form in which a
// bundle source describes runtimes: their command, and the places of their
// instructions, rules and skills. It opens no file. Call Parse.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Manifest holds the fields of the form. Launchers and installers of such
// sources read the same names, so none may be renamed.
type Manifest struct {
	ID                      string   `toml:"id"`
	DisplayName             string   `toml:"display_name"`
	Command                 string   `toml:"command"`
	Args                    []string `toml:"args"`
	RequiresNetwork         bool     `toml:"requires_network"`
	ProjectInstructionFiles []string `toml:"project_instruction_files"`
	GlobalInstallRoot       string   `toml:"global_install_root"`
	ProjectInstallDir       string   `toml:"project_install_dir"`
	SupportsHooks           string   `toml:"supports_hooks"` // "native", "wrapper", "manual"
	SupportsMCP             bool     `toml:"supports_mcp"`
	SupportsSubagents       bool     `toml:"supports_subagents"`
}

// fields are the names in order.
var fields = []string{
	"id", "display_name", "command", "args", "requires_network", "project_instruction_files", "global_install_root",
	"project_install_dir", "supports_hooks", "supports_mcp", "supports_subagents",
}

// Problem is an error in a manifest, and its place.
type Problem struct {
	Pos  spec.Position
	Text string
	Hint string
}

func (p *Problem) Error() string {
	text := p.Pos.String() + ": " + p.Text
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Parse parses the manifest of file, which positions name. Every error is a
// *Problem, or several joined.
func Parse(file string, text []byte) (spec.Runtime, error) {
	var m Manifest
	dec := toml.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return spec.Runtime{}, explain(file, err)
	}
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, &Problem{line(file, text, field), field + ": " + fmt.Sprintf(format, args...), ""})
	}
	if want := strings.TrimSuffix(path.Base(file), ".toml"); !name.MatchString(m.ID) {
		wrong("id", "want a name of lower-case letters, digits, dots and hyphens, got %q", m.ID)
	} else if m.ID != want {
		wrong("id", "is %q, but the file name says %q: they must match", m.ID, want)
	}
	if strings.ContainsAny(m.Command, " \t\n") {
		wrong("command", "want a program, got %q; its arguments go into args", m.Command)
	}
	if m.SupportsHooks != "" && !slices.Contains([]string{"native", "wrapper", "manual"}, m.SupportsHooks) {
		wrong("supports_hooks", "want one of native|wrapper|manual, got %q", m.SupportsHooks)
	}
	if r := m.GlobalInstallRoot; r != "" && (!strings.HasPrefix(r, "~/") || climbs(r)) {
		wrong("global_install_root", "want a folder below ~/ without .., got %q", r)
	}
	if d := m.ProjectInstallDir; d != "" && !inProject(d) {
		wrong("project_install_dir", "want a folder in the project without .., got %q", d)
	}
	for _, f := range m.ProjectInstructionFiles {
		if !inProject(f) {
			wrong("project_instruction_files", "want files in the project without .., got %q", f)
		}
	}
	r := m.Runtime()
	r.Pos = line(file, text, "id")
	return r, errors.Join(errs...)
}

func inProject(p string) bool {
	return p != "" && !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !climbs(p)
}

func climbs(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// explain turns go-toml's errors into Problems.
func explain(file string, err error) error {
	var strict *toml.StrictMissingError
	var decode *toml.DecodeError
	at := func(e *toml.DecodeError) spec.Position {
		row, col := e.Position()
		return spec.Position{File: file, Line: row, Col: col}
	}
	switch {
	case errors.As(err, &strict):
		var errs []error
		for _, e := range strict.Errors {
			errs = append(errs, &Problem{at(&e), strings.Join(e.Key(), ".") + ": field not allowed", "allowed: " + strings.Join(fields, ", ")})
		}
		return errors.Join(errs...)
	case errors.As(err, &decode):
		return &Problem{at(decode), strings.TrimPrefix(decode.Error(), "toml: "), ""}
	}
	return &Problem{spec.Position{File: file}, strings.TrimPrefix(err.Error(), "toml: "), ""}
}

// line returns the position of a field in a valid manifest.
func line(file string, text []byte, field string) spec.Position {
	n := 0
	for l := range bytes.Lines(text) {
		n++
		key, _, ok := bytes.Cut(l, []byte("="))
		if ok && string(bytes.TrimSpace(key)) == field {
			return spec.Position{File: file, Line: n, Col: 1}
		}
	}
	return spec.Position{File: file}
}

// Runtime returns the catalog entry for m. Its rules stand in a block of its
// first instruction file; those that do not hold always are files in a separate
// folder, which the block names. Its skills lie beside them.
func (m Manifest) Runtime() spec.Runtime {
	r := spec.Runtime{
		ID: m.ID, DisplayName: m.DisplayName, Command: m.Command, Network: m.RequiresNetwork,
		Hooks: m.SupportsHooks, MCPSupport: m.SupportsMCP, Subagents: m.SupportsSubagents,
		Launch: spec.Launch{Args: m.Args},
	}
	first := "AGENTS.md"
	if len(m.ProjectInstructionFiles) > 0 {
		first = m.ProjectInstructionFiles[0]
		r.Project.Instructions = m.ProjectInstructionFiles
	}
	fill := func(s *spec.Scope, dir, index string) {
		if dir == "" {
			return
		}
		s.Dir, s.RulesKept, s.Skills = dir, dir+"/rules", dir+"/skills"
		s.RulesBlock = index
		if len(s.Instructions) == 0 {
			s.Instructions = []string{index}
		}
	}
	fill(&r.Project, strings.TrimSuffix(m.ProjectInstallDir, "/"), first)
	root := strings.TrimSuffix(m.GlobalInstallRoot, "/")
	fill(&r.User, root, root+"/"+path.Base(first))
	return catalog.Completed(r)
}

// Of returns the manifest of r: the fields that the form has.
func Of(r spec.Runtime) Manifest {
	return Manifest{
		ID: r.ID, DisplayName: r.DisplayName, Command: r.Command, Args: r.Launch.Args, RequiresNetwork: r.Network,
		ProjectInstructionFiles: r.Project.Instructions, GlobalInstallRoot: r.User.Dir, ProjectInstallDir: r.Project.Dir,
		SupportsHooks: r.Hooks, SupportsMCP: r.MCPSupport, SupportsSubagents: r.Subagents,
	}
}

// Format writes m, a line a field, without empty ones.
func (m Manifest) Format() []byte {
	var b bytes.Buffer
	for i, v := range []any{
		m.ID, m.DisplayName, m.Command, m.Args, m.RequiresNetwork, m.ProjectInstructionFiles, m.GlobalInstallRoot,
		m.ProjectInstallDir, m.SupportsHooks, m.SupportsMCP, m.SupportsSubagents,
	} {
		switch v := v.(type) {
		case string:
			if v != "" {
				fmt.Fprintf(&b, "%s = %s\n", fields[i], quoted(v))
			}
		case []string:
			if len(v) > 0 {
				list := make([]string, len(v))
				for j, s := range v {
					list[j] = quoted(s)
				}
				fmt.Fprintf(&b, "%s = [%s]\n", fields[i], strings.Join(list, ", "))
			}
		case bool:
			fmt.Fprintf(&b, "%s = %t\n", fields[i], v)
		}
	}
	return b.Bytes()
}

// quoted returns a JSON string, which is also a TOML string.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings always encode
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`)
}
