package schema

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

// serversOf loads a project with the fields of one server, named a.
func serversOf(t *testing.T, fields string) ([]spec.MCPServer, error) {
	t.Helper()
	dir := unpack(t, &txtar.Archive{Files: []txtar.File{{Name: "aisync.cue", Data: []byte("package aisync\nproject: {name: \"p\", mcp: a: {" + fields + "}}\n")}}})
	s, err := Load(context.Background(), Options{ProjectDir: dir, Cwd: dir, Scope: ProjectOnly})
	if err != nil {
		return nil, err
	}
	return s.Project.MCP, nil
}

func TestServersOfASpec(t *testing.T) {
	for fields, want := range map[string]spec.MCPServer{
		`command: "c", type: "stdio", enabled: true`:                                           {Command: "c"},
		`command: "c", cwd: "tools", enabled: false, runtimes: ["claude"]`:                     {Command: "c", Cwd: "tools", Disabled: true, Runtimes: []string{"claude"}},
		`command: "c", timeout: {start: 20, call: 1.5}`:                                        {Command: "c", Start: 20 * time.Second, Call: 1500 * time.Millisecond},
		`command: "c", tools: {allow: ["a"], deny: ["b"]}`:                                     {Command: "c", Allow: []string{"a"}, Deny: []string{"b"}},
		`from: "https://r.example//io.github.acme/notes@1.0.0-rc.1", command: "c"`:             {From: "https://r.example//io.github.acme/notes@1.0.0-rc.1", Command: "c"},
		`command: "c", tools: allow: []`:                                                       {Command: "c", Allow: []string{}},
		`url: "https://h", type: "sse", oauth: {clientId: "i", scopes: ["s"]}`:                 {URL: "https://h", SSE: true, ClientID: "i", Scopes: []string{"s"}},
		`url: "${BASE}/mcp", headers: {X_KEY: "k ${A}", Y: "${B}", Z: {env: "C"}, L: "$${D}"}`: {URL: "${BASE}/mcp", Headers: []spec.EnvVar{{Name: "L", Value: "$${D}"}, {Name: "X_KEY", Value: "k ${A}"}, {Name: "Y", Secret: &spec.Secret{Env: "B"}}, {Name: "Z", Secret: &spec.Secret{Env: "C"}}}},
	} {
		want.Name = "a"
		got, err := serversOf(t, fields)
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		if diff := cmp.Diff([]spec.MCPServer{want}, got, cmpopts.IgnoreTypes(spec.Position{})); diff != "" {
			t.Errorf("%s:\n%s", fields, diff)
		}
	}
}

func TestServersThatASpecCannotHave(t *testing.T) {
	for fields, want := range map[string]string{
		`command: "c", install: {via: "npm", package: "@a/b", version: "1.0.0"}`:  `install is for the servers of a host: the files of a project are the same on every machine; write it under hosts, or start it with command: "npx", args: ["-y", "@a/b@1.0.0", …]`,
		`command: "c", install: {via: "pip", package: "a", version: "1.0.0"}`:     "via",
		`command: "c", install: {via: "npm", package: "--x", version: "1.0.0"}`:   "the name of a package",
		`command: "c", install: {via: "npm", package: "a", version: "^1"}`:        "an exact version",
		`command: "/c", install: {via: "npm", package: "a", version: "1.0.0"}`:    "command is no name of a program there",
		`url: "https://h", install: {via: "npm", package: "a", version: "1.0.0"}`: "install is of a local server",
		`command: "c", type: "http"`:                   `"http" is the type of a remote server`,
		`url: "https://h", type: "stdio"`:              `"stdio" is the type of a local server`,
		`url: "https://h", cwd: "x"`:                   "cwd is the folder of a local server",
		`command: "c", oauth: scopes: ["s"]`:           "oauth is the login of a remote server",
		`command: "c", runtimes: []`:                   "no runtime gets this server",
		`command: "c", runtimes: ["claud"]`:            `unknown runtime "claud"`,
		`command: "c", from: "io.github.acme/notes"`:   "a server of a registry with its version",
		`command: "c", from: "../x@1 --y"`:             "a server of a registry with its version",
		`command: "c", timeout: 5`:                     "timeout",
		`command: "c", timeout: start: -1`:             "a number of seconds",
		`command: "c", type: "ws"`:                     `"ws"`,
		`url: "ftp://h"`:                               "an http:// or https:// URL",
		`url: "https://h", headers: "X KEY": "1"`:      "X KEY",
		`command: "c", timeouts: start: 5`:             `did you mean "timeout"`,
		`command: "c", tools: {only: ["a"]}`:           "only",
		`command: "c", env: A: "1", headers: {B: "2"}`: "headers belong to a remote server",
	} {
		if _, err := serversOf(t, fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", fields, err, want)
		}
	}
}
