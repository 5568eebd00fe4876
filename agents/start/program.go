// Package start decides how agents start on a machine: which runtime, with which
// command line and environment, which programs can do a task, and why the others
// cannot. It combines adapter/start with the purpose of a launch. It never
// prints, asks or starts a program. Call Machine.Program.
package start

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	adapter "aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Machine supplies the facts about this machine that a start depends on.
type Machine struct {
	Look    func(program string) (path string, err error) // the error is launch.ErrMissing where PATH has none
	Exists  func(path string) bool
	Expand  func(path string) string              // the physical path of ~/…
	Absent  func(*spec.Host, spec.Service) string // why a service that aisync runs does not answer; "": it does
	Offline error                                 // why there is no network; nil: there is one

	Home, State string                            // the person's home, and aisync's folder of state, where keys are
	Secret      func(spec.Secret) (string, error) // reads one
}

func (m *Machine) has(program string) bool {
	_, err := m.Look(program)
	return err == nil
}

// adapter returns the facts about the host h that a start depends on; nil h is a
// machine without a host spec.
func (m *Machine) adapter(h *spec.Host, known catalog.Index) *adapter.Host {
	if h == nil {
		h = &spec.Host{}
	}
	return &adapter.Host{Spec: h, Runtimes: known.Runtimes(), Models: known.Models(), Has: m.has, Absent: func(s spec.Service) string { return m.Absent(h, s) },
		Home: m.Home, State: m.State, Values: m.Secret}
}

// Program returns how to start the program of the chosen runtime in the project
// root. It fails where the program has no server to talk to, or needs a network
// that is missing.
func (m *Machine) Program(root string, c launch.Choice, h *spec.Host, known catalog.Index) (launch.Program, error) {
	how, err := m.adapter(h, known).Launch(c.Runtime.ID, c.Service, c.Model)
	if err != nil {
		return launch.Program{}, err
	}
	if how.Config != "" {
		if config := m.Expand(how.Config); m.Exists(config) {
			how.Point(config)
		}
	}
	p := launch.Program{Runtime: *how.Driver, Args: how.Args, Environment: how.Environment, Secrets: how.Secrets, Model: how.Model, Service: how.Service}
	for _, name := range slices.Sorted(maps.Keys(how.Driver.Launch.Reads)) {
		if m.Exists(filepath.Join(root, name)) {
			p.Args = append(p.Args, how.Driver.Launch.Reads[name]...)
		}
	}
	if m.Offline != nil {
		if c.Runtime.Network && how.Service.Name == "" {
			return p, fmt.Errorf("%s needs a network: %w", c.Runtime.ID, m.Offline)
		}
		maps.Copy(p.Environment, c.Runtime.Launch.Offline)
	}
	return p, nil
}

// Locals returns the runtimes whose programs are installed and talk to a service of
// h other than not: the one for models first, then those of the spec in its order.
func (m *Machine) Locals(root string, h *spec.Host, known catalog.Index, not string) []launch.Choice {
	if h == nil {
		return nil
	}
	ids := []string{catalog.ForModels().ID}
	for _, use := range h.Runtimes {
		if use.ID != ids[0] {
			ids = append(ids, use.ID)
		}
	}
	var out []launch.Choice
	for _, id := range ids {
		rt, ok := known.Runtime(id)
		if !ok {
			continue
		}
		c := launch.Choice{Runtime: rt, Label: rt.ID}
		p, err := m.Program(root, c, h, known)
		if err == nil && p.Service.Name != "" && p.Service.Name != not && m.has(p.Runtime.Command) {
			out = append(out, c)
		}
	}
	return out
}

// Installed returns why the program of rt cannot start, and how to install it
// where it is missing; nil where it can start.
func (m *Machine) Installed(rt spec.Runtime) (hint string, err error) {
	if _, err := m.Look(rt.Command); !errors.Is(err, launch.ErrMissing) {
		return "", err
	}
	hint = "name it in the host's spec: runtimes: " + rt.ID + ": {install: {via: …}}, and run: aisync apply"
	if name := rt.Packages["npm"]; name != "" {
		hint = "npm install -g " + name + ", or " + hint
	}
	return hint, fmt.Errorf("%s is %w: no program %s in PATH", rt.ID, launch.ErrMissing, rt.Command)
}

// Row is one value of --runtime.
type Row struct {
	Name      string `json:"name"`
	Is        string `json:"is"` // its meaning, in words
	Installed bool   `json:"installed"`
	Default   bool   `json:"default"`
}

// Rows lists what a person may name: runtimes, then services and models of h.
// standard is the default.
func (m *Machine) Rows(h *spec.Host, known catalog.Index, standard string) []Row {
	rows := []Row{}
	for _, rt := range known.Runtimes() {
		row := Row{Name: rt.ID, Is: rt.DisplayName, Default: rt.ID == standard, Installed: rt.Command != "" && m.has(rt.Command)}
		if rt.Local {
			_, err := m.Program("", launch.Choice{Runtime: rt}, h, known)
			row.Installed = err == nil
		}
		rows = append(rows, row)
	}
	for _, served := range launch.Models(h) {
		rows = append(rows, Row{Name: served.Name, Is: served.Is, Installed: true, Default: served.Name == standard})
	}
	return rows
}

// Passed reports whether a program in tmux gets the environment variable name:
// the tmux server has the environment in which it was started. homes are the
// variables that move the programs' folders.
func Passed(name string, homes ...string) bool {
	return name == "PATH" || name == "HOME" || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "AISYNC_") || slices.Contains(homes, name)
}
