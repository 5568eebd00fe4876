package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/fakemcp"
	"aisync.dev/aisync/internal/fakemcpregistry"
)

// mcpRegistryKey is where a script's own registry is kept.
type mcpRegistryKey struct{}

// mcpRegistryCommand is a registry of MCP servers of the script's own, which
// aisync asks from the first use on:
//
//	mcpregistry publish FILE...              server.json files, each the newest of its server
//	mcpregistry mark NAME STATUS [MESSAGE]   active, deprecated, deleted
//	mcpregistry instead page|big|loop|away   every answer is HTML, 10 MB, a list without an end, a redirect; nothing: as before
//	mcpregistry asked                        fails if nothing was since the last time
func mcpRegistryCommand(ts *testscript.TestScript, neg bool, args []string) {
	r, ok := ts.Value(mcpRegistryKey{}).(*fakemcpregistry.Registry)
	if !ok || len(args) == 0 || neg && args[0] != "asked" {
		ts.Fatalf("usage: mcpregistry publish|mark|instead|asked")
	}
	ts.Setenv("AISYNC_MCP_REGISTRY", r.URL)
	switch rest := append(args[1:], "", ""); args[0] {
	case "publish":
		for _, file := range args[1:] {
			ts.Check(r.Publish([]byte(ts.ReadFile(file))))
		}
	case "mark":
		r.Mark(rest[0], rest[1], rest[2])
	case "instead":
		r.Instead(map[string]http.HandlerFunc{
			"page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><body>Welcome</body></html>") },
			"big":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%q", strings.Repeat("x", 10<<20)) },
			"loop": func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"servers":[],"metadata":{"nextCursor":"again"}}`)
			},
			"away": func(w http.ResponseWriter, q *http.Request) {
				http.Redirect(w, q, "https://elsewhere.example.org"+q.URL.Path, http.StatusFound)
			},
		}[rest[0]])
	case "asked":
		if asked := r.Asked(); (len(asked) > 0) == neg {
			ts.Fatalf("the registry was asked for %v", asked)
		}
	default:
		ts.Fatalf("no such thing as mcpregistry %s", args[0])
	}
}

// fakeNpx is npx for a script: its server has one tool, named after the package,
// and says on stderr how it was started.
func fakeNpx() {
	fmt.Fprintln(os.Stderr, "npx", strings.Join(os.Args[1:], " "))
	if err := fakemcp.Serve(os.Stdin, os.Stdout, "notes", "write_note"); err != nil {
		os.Exit(1)
	}
}

// evilServers is the address of a registry whose publishers write evil wherever
// they can.
func evilServers(t *testing.T) string {
	t.Helper()
	r := fakemcpregistry.New()
	t.Cleanup(r.Close)
	type object = map[string]any
	input := object{"description": evil, "default": evil, "placeholder": evil, "choices": []string{evil}, "format": evil, "isRequired": true}
	with := func(more object) object {
		maps.Copy(more, input)
		return more
	}
	stdio := object{"type": "stdio"}
	server := object{"name": "a.b/c", "version": "1.0.0", "title": evil, "description": evil, "remotes": []object{
		{"type": "sse", "url": "https://a.example/" + evil}, {"type": evil, "url": evil}, {"type": "streamable-http", "url": "https://a.example/", "headers": []object{with(object{"name": evil}), with(object{"name": "X"})}},
	}, "packages": []object{
		{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": stdio, "runtimeHint": evil, "runtimeArguments": []object{with(object{"type": evil}), {"type": "positional", "value": evil}},
			"packageArguments":     []object{with(object{"type": "positional", "valueHint": evil}), with(object{"type": "named", "name": evil}), {"type": "positional", "value": "{" + evil + "}"}, {"type": "positional", "value": "{x}", "variables": object{"x": input}}},
			"environmentVariables": []object{with(object{"name": evil}), with(object{"name": "A"}), {"name": "B", "value": evil}}},
		{"registryType": evil, "identifier": evil, "version": evil, "transport": object{"type": evil}}, {"registryType": "npm", "identifier": evil, "version": evil, "registryBaseUrl": evil, "transport": stdio},
		{"registryType": "oci", "identifier": evil, "transport": stdio}, {"registryType": "mcpb", "identifier": evil, "transport": stdio, "fileSha256": evil}, {"registryType": "cargo", "identifier": evil, "version": evil, "transport": stdio},
	}}
	for _, name := range []string{"a.b/c", "a.b/d", evil} {
		server["name"] = name
		b, err := json.Marshal(server)
		must(t, err)
		must(t, r.Publish(b))
	}
	r.Mark("a.b/c", "deprecated", evil)
	r.Mark("a.b/d", "deleted", evil)
	return r.URL
}
