package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/schema/spec"
)

func TestObeysIsRead(t *testing.T) {
	s, err := hostSpec(t, `package aisync

hosts: me: {}
catalog: runtimes: mine: project: obeys: [
	{
		files: [".mine/*.json", ".mine/**/x.json"]
		format: "json"
		reads: ["/theme", "/deny", "/ui", "/sandbox", "/context", "/trust", "/mcp"]
		safe: ["/theme", "/deny/*", "/ui/**"]
		safeValues: [{key: "/sandbox", values: ["true"]}]
		paths: ["/context/*"]
		restricts: ["/deny/*", "/sandbox"]
		ignored: [{key: "/trust", why: "it counts in the user's file only", values: ["all"]}]
		effects: [{key: "/mcp/*", class: "runs", says: "starts the MCP server {1}: {value}", values: ["s*"]}]
		source: "https://mine.example/settings"
	},
	{files: ["plugin.js"], format: "code", effects: [{key: "", class: "runs", says: "loads {file} as code"}]},
]
`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []spec.Obeyed{
		{
			Files: []string{".mine/*.json", ".mine/**/x.json"}, Format: "json",
			Reads: []string{"/theme", "/deny", "/ui", "/sandbox", "/context", "/trust", "/mcp"},
			Safe:  []string{"/theme", "/deny/*", "/ui/**"}, SafeValues: []spec.SafeValues{{Key: "/sandbox", Values: []string{"true"}}},
			Paths: []string{"/context/*"}, Restricts: []string{"/deny/*", "/sandbox"},
			Ignored: []spec.Ignored{{Key: "/trust", Why: "it counts in the user's file only", Values: []string{"all"}}},
			Effects: []spec.EffectRule{{Key: "/mcp/*", Class: "runs", Says: "starts the MCP server {1}: {value}", Values: []string{"s*"}}},
			Source:  "https://mine.example/settings",
		},
		{Files: []string{"plugin.js"}, Format: "code", Effects: []spec.EffectRule{{Class: "runs", Says: "loads {file} as code"}}},
	}
	if diff := cmp.Diff(want, s.Catalog.Runtimes[0].Project.Obeys); diff != "" {
		t.Error(diff)
	}
}
