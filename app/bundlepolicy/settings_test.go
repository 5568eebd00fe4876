package bundlepolicy

import (
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/policy"
	"aisync.dev/aisync/schema/spec"
)

// limits are those of a host's spec, or of a project.
func limits(by string, mcp, hooks []string) spec.Limits {
	list := func(names []string) *spec.Allowed {
		if names == nil {
			return nil
		}
		a := &spec.Allowed{Pos: spec.Position{File: "base.cue", Line: 3, Col: 4}}
		for _, n := range names {
			a.List = append(a.List, spec.Named{Value: n})
		}
		return a
	}
	return spec.Limits{By: by, MCP: list(mcp), Hooks: list(hooks)}
}

func settings(runtime, text string) []spec.Settings {
	return []spec.Settings{{Runtime: runtime, JSON: []byte(text), Pos: spec.Position{File: "aisync.cue", Line: 7, Col: 2}, Leaves: map[string]spec.Position{
		"/mcpServers/evil": {File: "aisync.cue", Line: 9, Col: 3}, "/hooks": {File: "aisync.cue", Line: 10, Col: 3},
	}}}
}

const (
	evil      = `{"mcpServers": {"evil": {"command": "sh", "args": ["-c", "true"]}, "good": {"command": "npx", "args": ["-y", "@acme/notes"]}}}`
	evilList  = `{"mcp": {"evil": {"type": "local", "command": ["sh", "-c", "true"]}}}`
	evilURL   = `{"mcpServers": {"evil": {"httpUrl": "https://evil.example/mcp"}}}`
	withHooks = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`
)

func TestSettingsAreHeldToPolicies(t *testing.T) {
	base := func(mcp, hooks []string) []spec.Limits { return []spec.Limits{limits("base acme", mcp, hooks)} }
	acme := []string{"npx -y @acme/*", "https://mcp.acme.example/"}
	for name, c := range map[string]struct {
		limits  []spec.Limits
		host    []spec.Settings
		project []spec.Settings
		local   []spec.Settings
		says    string // "": nothing
	}{
		"a server of a host":                          {limits: base(acme, nil), host: settings("gemini", evil), says: `aisync.cue:9:3: hosts.h.settings.gemini: server "evil", which runs sh -c true, is not allowed: the policy of base acme (base.cue:3:4) allows npx`},
		"a server of a project, by its address":       {limits: base(acme, nil), project: settings("gemini", evilURL), says: `project.settings.gemini: server "evil", which is at https://evil.example/mcp, is not allowed`},
		"a command that is a list":                    {limits: base(acme, nil), project: settings("opencode", evilList), says: `server "evil", which runs sh -c true, is not allowed`},
		"a command behind an address that is allowed": {limits: base(acme, nil), project: settings("gemini", `{"mcpServers": {"evil": {"url": "https://mcp.acme.example/", "command": "sh", "args": ["-c", "true"]}}}`), says: `server "evil", which runs sh -c true, is not allowed`},
		"an address behind another":                   {limits: base(acme, nil), project: settings("gemini", `{"mcpServers": {"evil": {"url": "https://mcp.acme.example/", "httpUrl": "https://evil.example/"}}}`), says: "is at https://evil.example/, is not allowed"},
		"a server of an unknown form":                 {limits: base(acme, nil), project: settings("gemini", `{"mcpServers": {"evil": {"run": "sh"}}}`), says: `server "evil"`},
		"goose's words for what is allowed":           {limits: base(acme, nil), host: settings("goose", `{"extensions": {"notes": {"type": "stdio", "cmd": "npx", "args": ["-y", "@acme/notes"]}}}`)},
		"a server of the person's layer":              {limits: base(acme, nil), local: settings("gemini", evil), says: "is not allowed"},
		"hooks of a project":                          {limits: base(nil, []string{"acme/"}), project: settings("claude", withHooks), says: "aisync.cue:10:3: project.settings.claude: a hook in the project's settings of claude is not allowed: the policy of base acme (base.cue:3:4) allows acme/; take it out; a hook of a bundle"},
		"hooks of a project, where none are wanted":   {limits: base(nil, []string{}), project: settings("claude", withHooks), says: "allows no hooks of bundles"},
		"hooks of the host's own spec":                {limits: base(nil, []string{}), host: settings("claude", withHooks)},
		"hooks that the project's own policy has":     {limits: []spec.Limits{limits(policy.Project, nil, []string{"acme/"})}, project: settings("claude", withHooks)},
		"other settings":                              {limits: base(acme, []string{}), project: settings("gemini", `{"general": {"vimMode": true}, "hooks": {}, "mcpServers": {}}`)},
		"no policy":                                   {project: settings("claude", withHooks), host: settings("gemini", evil)},
	} {
		t.Run(name, func(t *testing.T) {
			h := &spec.Host{Name: "h", Settings: c.host}
			p := &spec.Project{Settings: c.project, Local: &spec.Project{Settings: c.local}}
			err := Settings(c.limits, h, p, catalog.Runtimes())
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), `"good"`) {
				t.Errorf("refuses a server that is allowed: %v", err)
			}
		})
	}
	if err := Settings(base(acme, []string{}), nil, nil, catalog.Runtimes()); err != nil {
		t.Error(err)
	}
}
