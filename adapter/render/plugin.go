package render

import (
	"bytes"
	_ "embed"
	"strings"
)

// Programs without a list of hooks load modules, which run them.
var (
	//go:embed opencode.js
	opencodeModule []byte
	//go:embed pi.js
	piModule []byte
)

// moduleTimeout is the default time limit of a hook, in seconds.
const moduleTimeout = 60

// IsModule reports whether hooks of a shape are one file that only aisync writes.
func IsModule(shape string) bool { return shape == ShapePlugin || shape == ShapePi }

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
	text := opencodeModule
	if shape == ShapePi {
		text = piModule
	}
	var list bytes.Buffer
	for _, h := range hooks {
		list.WriteString("  ")
		list.Write(JSON(h))
		list.WriteString(",\n")
	}
	return bytes.Replace(text, []byte("const hooks = []"), []byte("const hooks = [\n"+list.String()+"]"), 1)
}
