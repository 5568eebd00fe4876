package render

import (
	_ "embed"
	"strings"
)

// Programs without a list of hooks load modules, which run them: a title, hooks.js, and
// what registers it with the program.
var (
	//go:embed hooks.js
	runsHooks string
	//go:embed opencode.js
	opencodeModule string
	//go:embed pi.js
	piModule string
	//go:embed cline.js
	clineModule string
)

// moduleTimeout is the default time limit of a hook, in seconds.
const moduleTimeout = 60

// IsModule reports whether hooks of a shape are one file that only aisync writes.
func IsModule(shape string) bool { return modules[shape] != nil }

// modules are the texts of the shapes that are modules.
var modules = map[string]*string{ShapePlugin: &opencodeModule, ShapePi: &piModule, ShapeCline: &clineModule}

// ModuleHook is one hook of a module.
type ModuleHook struct {
	Event   string   `json:"event"` // the program's name
	On      string   `json:"on"`    // the bundle's
	Tools   []string `json:"tools"` // the program's names; none: all
	Command string   `json:"command"`
	Timeout int      `json:"timeout"` // seconds
}

// NewModuleHook converts h, for the bundles' event on, for a module.
func NewModuleHook(on string, h Hook) ModuleHook {
	m := ModuleHook{Event: h.Event, On: on, Tools: []string{}, Command: h.Command, Timeout: h.Timeout}
	if h.Matcher != "" {
		m.Tools = strings.Split(h.Matcher, "|")
	}
	if m.Timeout == 0 {
		m.Timeout = moduleTimeout
	}
	return m
}

// Module is the file of a shape that runs hooks.
func Module(shape string, hooks []ModuleHook) []byte {
	title, registers, _ := strings.Cut(*modules[shape], "\n")
	var list strings.Builder
	for _, h := range hooks {
		list.WriteString("  ")
		list.Write(JSON(h))
		list.WriteString(",\n")
	}
	runs := strings.Replace(runsHooks, "const hooks = []", "const hooks = [\n"+list.String()+"]", 1)
	return []byte(title + "\n" + runs + registers)
}
