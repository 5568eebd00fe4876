package gather

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// vscodeServers is the file of VS Code, which no runtime of the catalog is.
// https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
const vscodeServers = ".vscode/mcp.json"

// serverForm is how a file writes servers. A form without a shape is that of
// rulesync's and ruler's sources, which know several ways.
func serverForm(runtime, from string, home bool) spec.MCPFile {
	if from == vscodeServers {
		return spec.MCPFile{SecretEnv: "${env:NAME}", Workspace: "${workspaceFolder}", Fields: map[string]string{"cwd": "cwd"}}
	}
	rt, _ := catalog.With(spec.Catalog{}).Runtime(runtime)
	f := rt.Project.MCP
	if home || f == nil {
		f = rt.User.MCP
	}
	if f == nil {
		return spec.MCPFile{Fields: map[string]string{"cwd": "cwd", "allow": "enabledTools", "deny": "disabledTools"}}
	}
	return *f
}

const variable = `([A-Za-z_][A-Za-z0-9_]*)`

// How programs refer to variables: the one or two groups are a name, the group
// def a default.
var (
	braces      = regexp.MustCompile(`\$\{` + variable + `\}`)
	claudeForm  = regexp.MustCompile(`\$\{` + variable + `(?P<def>:-[^{}]*)?\}`)
	bareForm    = regexp.MustCompile(`\$\{` + variable + `\}|\$` + variable)
	envForm     = regexp.MustCompile(`\$\{env:` + variable + `\}|\$\{(` + reference.Workspace + `)\}`)
	opencode    = regexp.MustCompile(`\{env:` + variable + `\}`)
	anyForm     = regexp.MustCompile(`\$\{(?:env:)?` + variable + `(?P<def>:-[^{}]*)?\}|\{env:` + variable + `\}`)
	filledIn    = regexp.MustCompile(`\$\{[^{}]*\}`)
	inOpencode  = regexp.MustCompile(`\{(?:env|file):[^{}]*\}`)
	fileOfValue = regexp.MustCompile(`^\{file:([^{}]+)\}$`)
)

// referenceForm is the form of references in a file; nil if it has none.
func referenceForm(f spec.MCPFile) *regexp.Regexp {
	switch {
	case f.SecretEnv == "${env:NAME}":
		return envForm
	case f.Shape == "":
		return anyForm
	case f.Shape == render.ShapeClaude:
		return claudeForm
	case f.Shape == render.ShapeGemini || f.Shape == render.ShapeCopilot:
		return bareForm
	case f.SecretEnv == "${NAME}":
		return braces
	case f.SecretEnv != "":
		return opencode
	}
	return nil
}

// textInSpec is a text of a file in a spec. foreign is what in it only the
// program fills in, such as ${input:name}; "" for nothing.
func textInSpec(f spec.MCPFile, text string) (out, foreign string) {
	form := referenceForm(f)
	if form == nil {
		return reference.Escape(text), ""
	}
	var b strings.Builder
	literal := func(t string) {
		switch {
		case foreign != "":
		case form == opencode:
			foreign = inOpencode.FindString(t)
		case form == envForm || form == anyForm:
			foreign = filledIn.FindString(t)
		}
		b.WriteString(reference.Escape(t))
	}
	def := form.SubexpIndex("def")
	for text != "" {
		at := form.FindStringSubmatchIndex(text)
		if at == nil {
			literal(text)
			break
		}
		literal(text[:at[0]])
		b.WriteString("${")
		for i := 1; 2*i < len(at); i++ {
			if at[2*i] >= 0 && i != def {
				b.WriteString(text[at[2*i]:at[2*i+1]])
			}
		}
		if def > 0 && at[2*def] >= 0 {
			b.WriteString(text[at[2*def]:at[2*def+1]])
		}
		b.WriteString("}")
		text = text[at[1]:]
	}
	return b.String(), foreign
}

// sameInFile reports whether a spec with s would leave o, the server in a file
// of form f, as it is. It is true for a file that aisync does not write.
func sameInFile(f spec.MCPFile, s spec.MCPServer, o object) bool {
	if f.Shape == "" {
		return true
	}
	want, _, err := render.Server(f, s)
	raw, jsonErr := json.Marshal(o)
	var there, wanted map[string]json.RawMessage
	if err != nil || jsonErr != nil || json.Unmarshal(render.AsServer(f, raw), &there) != nil || json.Unmarshal(want, &wanted) != nil {
		return false
	}
	for name, v := range there {
		switch w, ok := wanted[name]; {
		case ok && !merge.Equal(v, w), !ok && slices.Contains(render.ServerFields(f), name):
			return false
		}
	}
	for name := range wanted {
		if _, ok := there[name]; !ok {
			return false
		}
	}
	return true
}

// duration reads a number of units; ok is false for anything else.
func duration(v any, unit time.Duration) (d time.Duration, ok bool) {
	b, err := json.Marshal(v)
	var n float64
	if err != nil || json.Unmarshal(b, &n) != nil || n <= 0 || n*float64(unit) > float64(24*time.Hour) {
		return 0, false
	}
	return time.Duration(n*float64(unit)/float64(time.Millisecond)+0.5) * time.Millisecond, true
}
