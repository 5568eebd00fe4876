package policy

import (
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestSourcesAllowWhatLiesBelow(t *testing.T) {
	for _, c := range []struct {
		entry, url string
		allowed    bool
	}{
		{"acme/", "git::https://github.com/acme/rules.git?ref=v1", true},
		{"acme/rules", "git::https://github.com/acme/rules.git", true},
		{"gh:acme/rules", "git::https://github.com/acme/rules.git//skills?ref=v1", true},
		{"github.com/acme", "git::https://github.com/acme/rules.git", true},
		{"acme/rules", "git::https://github.com/acme/rules-of-others.git", false},
		{"acme/", "git::https://github.com/acme-evil/rules.git", false},
		{"acme/rules//a", "git::https://github.com/acme/rules.git//a/b", true},
		{"acme/rules//a", "git::https://github.com/acme/rules.git//b", false},
		{"https://git.acme.example", "git::https://git.acme.example/x/y.git", true},
		{"https://git.acme.example", "git::https://git.acme.example.evil.com/x/y.git", false},
		{"https://git.acme.example", "git::https://git.acme.example@evil.com/x/y.git", false},
		{"https://git.acme.example", "git::https://git.acme.example:443@evil.com/x/y.git", false},
		{"https://git.acme.example/team/", "git::https://git.acme.example/team/../evil/y.git", false},
		{"https://git.acme.example/team/", "git::https://git.acme.example/team/%2e%2e/evil/y.git", false},
		{"https://git.acme.example", "git::http://git.acme.example/x/y.git", false},
		{"https://GIT.acme.example", "git::https://git.Acme.example/x/y.git", true},
		{"git@git.acme.example:team/", "git::ssh://git@git.acme.example/team/y.git", true},
		{"oci://reg.acme.example/team/", "oci://reg.acme.example/team/rules:v1", true},
		{"oci://reg.acme.example/team/rules:v1", "oci://reg.acme.example/team/rules@sha256:00", true},
		{"oci://reg.acme.example/team/", "oci://reg.acme.example:5000/team/rules:v1", false},
		{"~/rules", "~/rules/a", true},
		{"~/rules", "~/rules/../b", false},
		{"~/rules", "/home/me/rules", false},
		{"other/", "./own", true},
		{"other/", "own/folder", true},
		{"other/", "../own", false},
		{"..", "../own", true},
	} {
		l := []spec.Limits{{By: "the spec", Sources: &spec.Allowed{List: []spec.Named{{Value: c.entry}}}}}
		if why, _ := Source(l, c.url); (why == "") != c.allowed {
			t.Errorf("%s and %s: got %q, want allowed %v", c.entry, c.url, why, c.allowed)
		}
	}
}

func TestServersAllowWhatTheyBegin(t *testing.T) {
	run := func(words string) spec.MCPServer {
		f := strings.Fields(words)
		return spec.MCPServer{Name: "x", Command: f[0], Args: f[1:]}
	}
	at := func(url string) spec.MCPServer { return spec.MCPServer{Name: "x", URL: url} }
	for _, c := range []struct {
		entry   string
		server  spec.MCPServer
		allowed bool
	}{
		{"npx -y @acme/*", run("npx -y @acme/notes@1.0.0 --stdio"), true},
		{"npx -y @acme/*", run("npx -y @evil/notes"), false},
		{"npx -y @acme/*", run("npx"), false},
		{"npx -y @acme/*", run("npx --package @evil/x -y @acme/notes"), false},
		{"notes", run("notes --all"), true},
		{"notes", run("/tmp/notes"), false},
		{"*", run("anything at all"), true},
		{"*", at("https://x.example"), false},
		{"https://mcp.acme.example/", at("https://mcp.acme.example/v1"), true},
		{"https://mcp.acme.example/v1", at("https://mcp.acme.example/v10"), false},
		{"https://mcp.acme.example", at("https://mcp.acme.example.evil.com/"), false},
		{"https://mcp.acme.example", at("https://mcp.acme.example@evil.com/"), false},
		{"https://mcp.acme.example", at("https://mcp.acme.example:8443/"), false},
		{"https://mcp.acme.example/a", at("https://mcp.acme.example/a/../b"), false},
		{"https://mcp.acme.example", at("https://${HOST}/"), false},
		{"https://mcp.acme.example", run("https://mcp.acme.example"), false},
	} {
		l := []spec.Limits{{By: "the spec", MCP: &spec.Allowed{List: []spec.Named{{Value: c.entry}}}}}
		if why, _ := Server(l, c.server); (why == "") != c.allowed {
			t.Errorf("%s and %v: got %q, want allowed %v", c.entry, c.server, why, c.allowed)
		}
	}
}

func TestPoliciesOnlyTighten(t *testing.T) {
	list := func(values ...string) *spec.Allowed {
		a := &spec.Allowed{Pos: spec.Position{File: "x.cue", Line: 1, Col: 1}}
		for _, v := range values {
			a.List = append(a.List, spec.Named{Value: v})
		}
		return a
	}
	for _, c := range []struct {
		name   string
		limits []spec.Limits
		want   string
	}{
		{"a part of it", []spec.Limits{{By: "the spec", Sources: list("acme/rules")}, {By: "base b", Sources: list("acme/", "x/")}}, ""},
		{"none of it", []spec.Limits{{By: "the spec", MCP: list()}, {By: "base b", MCP: list("npx")}}, ""},
		{"more", []spec.Limits{{By: "the spec", Sources: list("acme/rules", "other/")}, {By: "base b", Sources: list("acme/")}}, `policy.sources.1: "other/" is not allowed by the policy of base b`},
		{"wider", []spec.Limits{{By: "the spec", MCP: list("npx")}, {By: "base b", MCP: list("npx -y @acme/*")}}, `policy.mcp.0: "npx" is not allowed`},
		{"hooks where there are none", []spec.Limits{{By: "the spec", Hooks: list("acme/")}, {By: "base b", Hooks: list()}}, `"acme/" is not allowed by the policy of base b (x.cue:1:1), which allows no hooks of bundles`},
		{"a base of a base", []spec.Limits{{By: "the spec"}, {By: "base b", Runtimes: list("codex")}, {By: "base c", Runtimes: list("claude")}}, `"codex" is not allowed by the policy of base c`},
		{"a project's, partly", []spec.Limits{{By: "the spec", Sources: list("acme/")}, {By: Project, Sources: list("acme/rules", "partner/")}}, ""},
		{"a project's, not at all", []spec.Limits{{By: "the spec", Sources: list("acme/")}, {By: Project, Sources: list("partner/")}}, "project.policy.sources: the policies of the project and of the spec (x.cue:1:1) leave nothing: one allows partner/, the other acme/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, p := range Check(c.limits, nil, nil) {
				got += p.Error() + "\n"
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
