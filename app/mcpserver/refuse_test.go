package mcpserver

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestEntriesThatAreRefused(t *testing.T) {
	pkg := func(kind, id, version string) string {
		b, _ := json.Marshal(map[string]any{"registryType": kind, "identifier": id, "version": version, "transport": map[string]string{"type": "stdio"}})
		return packagesOf(string(b))
	}
	arg := func(more string) string {
		return packagesOf(npm(`,"packageArguments":[{"type":"positional","valueHint":"dir",` + more + `}]`))
	}
	dir := func(v ...string) Ask { return Ask{Values: map[string][]string{"dir": v}} }
	for name, c := range map[string]struct {
		body string
		ask  Ask
		want string
	}{
		"nothing":                      {body: `"title":"x"`, want: "names neither a package nor a remote"},
		"an unknown kind":              {body: pkg("brew", "notes", "1.0.0"), want: "brew package notes is of a kind that this aisync does not know"},
		"no kind":                      {body: pkg("", "notes", "1.0.0"), want: "does not say of which registry"},
		"cargo":                        {body: pkg("cargo", "acme-notes", "0.3.0"), want: "cargo install --locked acme-notes --version 0.3.0, then: aisync add mcp NAME -- PROGRAM"},
		"cargo, an option":             {body: pkg("cargo", "--config=x", "0.3.0"), want: "of a kind that this aisync does not know"},
		"go":                           {body: pkg("go", "github.com/acme/notes", "v1.0.0"), want: "go install github.com/acme/notes@v1.0.0, then"},
		"mcpb":                         {body: packagesOf(`{"registryType":"mcpb","identifier":"https://x.example/a.mcpb","fileSha256":"` + strings.Repeat("a", 64) + `",` + stdio + `}`), want: "compare its sha256 with aaaa"},
		"an option as a package":       {body: pkg("npm", "--registry=https://evil.example", "1.0.0"), want: "has a name that npm does not allow"},
		"a short option":               {body: pkg("pypi", "-x", "1.0.0"), want: "has a name that pypi does not allow"},
		"an option as an image":        {body: pkg("oci", "--privileged", "1.0.0"), want: "is no reference to an image"},
		"two words as an image":        {body: pkg("oci", "a:1 b", ""), want: "is no reference to an image"},
		"a path as a package":          {body: pkg("npm", "../evil", "1.0.0"), want: "has a name that npm does not allow"},
		"an address as a package":      {body: pkg("npm", "git+https://evil.example/x", "1.0.0"), want: "has a name that npm does not allow"},
		"extras of python":             {body: pkg("pypi", "a[b]", "1.0.0"), want: "has a name that pypi does not allow"},
		"the latest version":           {body: pkg("npm", "notes", "latest"), want: `the version "latest", which is not an exact one`},
		"no version":                   {body: pkg("pypi", "notes", ""), want: `the version "", which is not an exact one`},
		"a range":                      {body: pkg("npm", "notes", "^1.2.3"), want: "which is not an exact one"},
		"a part, which npx fills":      {body: pkg("npm", "notes", "1.2"), want: "which is not an exact one"},
		"any of python's":              {body: pkg("pypi", "notes", "1.*"), want: "which is not an exact one"},
		"a tag of npm":                 {body: pkg("npm", "notes", "next"), want: "which is not an exact one"},
		"an image without a tag":       {body: pkg("oci", "ghcr.io/acme/notes", ""), want: "moves, and its digest is not known"},
		"an image of the day":          {body: pkg("oci", "ghcr.io/acme/notes:latest", ""), want: "moves, and its digest is not known"},
		"no digest of an image":        {body: pkg("oci", "acme/notes:latest", ""), ask: Ask{Digest: func(string) (string, error) { return "sha256:x --privileged", nil }}, want: `its registry answers with "sha256:x --privileged"`},
		"a port is no tag":             {body: pkg("oci", "registry.example:5000/acme/notes", ""), want: "moves, and its digest is not known"},
		"a private registry":           {body: packagesOf(npm(`,"registryBaseUrl":"https://npm.evil.example"`)), want: "lies in the registry https://npm.evil.example"},
		"a digest that is none":        {body: packagesOf(npm(`,"fileSha256":"abc"`)), want: "has a sha256 that is none"},
		"a server to be started":       {body: packagesOf(`{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"streamable-http","url":"http://localhost:{port}/mcp"}}`), want: "start it yourself, then: aisync add mcp NAME --url URL"},
		"words for another starter":    {body: packagesOf(npm(`,"runtimeHint":"bunx","runtimeArguments":[{"type":"positional","value":"--bun"}]`)), want: `has arguments for "bunx"`},
		"another package for npx":      {body: packagesOf(npm(`,"runtimeArguments":[{"type":"positional","value":"launch-mcp"}]`)), want: `gives npx the argument "launch-mcp", with which it could start something else than @acme/notes@1.2.3 -> if you trust it, name the whole command: aisync add mcp NAME -- npx`},
		"another package by an option": {body: packagesOf(npm(`,"runtimeArguments":[{"type":"named","name":"--package","value":"evil"}]`)), want: `gives npx the argument "--package"`},
		"a package of that beginning":  {body: packagesOf(npm(`,"runtimeArguments":[{"type":"positional","value":"@acme/notes-evil"}]`)), want: `gives npx the argument "@acme/notes-evil"`},
		"code for node":                {body: packagesOf(npm(`,"runtimeArguments":[{"type":"positional","value":"--node-options=--require=./x.js"}]`)), want: "gives npx the argument"},
		"another image":                {body: packagesOf(oci("acme/notes:1", `,"runtimeArguments":[{"type":"named","name":"--rm"},{"type":"positional","value":"evil/image"}]`)), want: `gives docker the argument "evil/image"`},
		"another package":              {body: packagesOf(npm("")), ask: Ask{Package: "oci"}, want: "choose with --package: npm"},
		"a value that is missing":      {body: arg(`"isRequired":true,"description":"Path to access","placeholder":"/srv"`), want: "asks for dir (Path to access; such as /srv) -> give it: --arg dir=VALUE"},
		"a variable that is missing":   {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--db","value":"{kind}:x","variables":{"kind":{"isRequired":true,"choices":["a","b"]}}}]`)), want: "asks for kind (one of a, b) -> give it: --arg kind=VALUE"},
		"all that is missing":          {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","valueHint":"dir","isRequired":true}],"environmentVariables":[{"name":"USER_NAME","isRequired":true}]`)), want: "--env-from USER_NAME=VARIABLE\nio.github.acme/notes asks for dir -> give it: --arg dir=VALUE"},
		"one value too many":           {body: arg(`"isRequired":true`), ask: dir("a", "b"), want: "dir: it is given more than once"},
		"no such argument":             {body: arg(`"isRequired":true`), ask: Ask{Values: map[string][]string{"dri": {"a"}}}, want: `asks for no argument "dri"; did you mean "dir"?`},
		"none of the choices":          {body: arg(`"choices":["a","b"]`), ask: dir("c"), want: `dir: "c" is none of a, b`},
		"no number":                    {body: arg(`"format":"number"`), ask: dir("x"), want: `"x" is no number`},
		"no boolean":                   {body: arg(`"format":"boolean"`), ask: dir("yes"), want: `"yes" is neither true nor false`},
		"a line break":                 {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","value":"a\n--evil"}]`)), want: "holds a line break"},
		"a line break in a default":    {body: arg(`"isRequired":true,"default":"a\u0000b"`), want: "holds a line break"},
		"what is reversed":             {body: packagesOf(npm(`,"environmentVariables":[{"name":"A","value":"a\u202eb"}]`)), want: "holds a line break or another sign"},
		"a long value":                 {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","value":"` + strings.Repeat("x", 5000) + `"}]`)), want: "more than 4096 bytes"},
		"a value typed with a break":   {body: arg(`"isRequired":true`), ask: dir("a\nb"), want: "holds a line break"},
		"a flag with a line break":     {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--a\n--b"}]`)), want: "no command line can have"},
		"a flag of two words":          {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"-e X=1"}]`)), want: "no command line can have"},
		"an argument of no kind":       {body: packagesOf(npm(`,"packageArguments":[{"value":"x"}]`)), want: `of the unknown kind ""`},
		"an argument of nothing":       {body: packagesOf(npm(`,"packageArguments":[{"type":"positional"}]`)), want: "neither a value nor a name"},
		"a variable of no name":        {body: packagesOf(npm(`,"environmentVariables":[{"name":"A=B","value":"x"}]`)), want: "it is no name of a variable"},
		"a variable twice":             {body: packagesOf(npm(`,"environmentVariables":[{"name":"A","value":"x"},{"name":"A","value":"y"}]`)), want: "asks for this variable twice"},
		"a header of no name":          {body: remotes(`{"type":"sse","url":"https://x.example/","headers":[{"name":"X: a\r\nY","value":"x"}]}`), want: "it is no name of a header"},
		"a secret that is typed":       {body: arg(`"isSecret":true`), ask: dir("hunter2"), want: "dir is a secret, and a spec is made for git"},
		"a secret variable, typed":     {body: packagesOf(npm(`,"environmentVariables":[{"name":"PASS","isSecret":true,"isRequired":true}]`)), ask: Ask{Env: []spec.EnvVar{{Name: "PASS", Value: "hunter2"}}}, want: "PASS is a secret, and a spec is made for git -> name a variable that has it: --env-from PASS=VARIABLE"},
		"headers of a local server":    {body: packagesOf(npm("")), ask: Ask{Headers: []spec.EnvVar{{Name: "A", Value: "x"}}}, want: "only remote servers get headers"},
		"variables of a remote one":    {body: remotes(`{"type":"sse","url":"https://x.example/"}`), ask: Ask{Env: []spec.EnvVar{{Name: "A", Value: "x"}}}, want: "is a remote server, which gets no variables"},
		"a remote that is read along":  {body: remotes(`{"type":"sse","url":"http://x.example/sse"}`), want: "must be reached over https"},
		"a remote with a login":        {body: remotes(`{"type":"sse","url":"https://me:pw@x.example/sse"}`), want: "holds a login"},
		"a remote of no address":       {body: remotes(`{"type":"sse","url":"file:///etc/passwd"}`), want: "is no address of a server"},
		"a host that a value becomes":  {body: remotes(`{"type":"sse","url":"http://{h}/sse","variables":{"h":{"default":"x.example"}}}`), want: "must be reached over https"},
		"a remote of another kind":     {body: remotes(`{"type":"websocket","url":"wss://x.example/"}`), want: `spoken to by "websocket"`},
		"a dollar before a variable":   {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","value":"${x}","variables":{"x":{"isSecret":true}}}]`)), want: "no spec can express a $ before a variable"},
	} {
		e, err := entryOf(c.body, c.ask)
		if err == nil || !strings.Contains(said(err), c.want) {
			t.Errorf("%s:\n got %s, %s\nwant %s", name, shown(e), said(err), c.want)
		}
		if text := said(err); strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\x00\x1b\r\u202e") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: the error shows what it must not: %q", name, text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := `"name":"a.b/c","description":"x","version":"1.0.0"`
	schema := func(s string) string {
		return `{"$schema":"https://static.modelcontextprotocol.io/schemas/` + s + `/server.schema.json",` + good + `}`
	}
	official := func(status string) string {
		return `{"server":{` + good + `},"_meta":{"io.modelcontextprotocol.registry/official":` + status + `}}`
	}
	for text, want := range map[string]string{
		``:                           "is not JSON",
		`[]`:                         "is not an object",
		`{}`:                         "which is no NAMESPACE/NAME",
		schema("2027-01-31"):         "in the form of 2027-01-31, and this aisync reads those up to 2025-12-11",
		schema("2025-08-01"):         "never published",
		`{"$schema":"x",` + good[:1]: "is not JSON",
		`{"$schema":"https://evil.example/x.json",` + good + `}`:           "no schema of an MCP registry",
		`{"$schema":7,` + good + `}`:                                       "no schema of an MCP registry",
		`{"name":"../..","version":"1.0.0"}`:                               "no NAMESPACE/NAME",
		`{"name":"a/../../b","version":"1.0.0"}`:                           "no NAMESPACE/NAME",
		`{"name":"a/-x","version":"1.0.0"}`:                                "no NAMESPACE/NAME",
		`{"name":"a/b\n","version":"1.0.0"}`:                               "no NAMESPACE/NAME",
		`{"name":"a/b","version":"latest"}`:                                "not an exact one",
		`{"name":"a/b","version":">=1"}`:                                   "not an exact one",
		`{"name":"a/b","version":"../1"}`:                                  "not an exact one",
		`{"name":"a/b","version":1}`:                                       "a field of another type",
		`{"name":"a/b","version":"1","packages":{}}`:                       "a field of another type",
		official(`{"status":"deleted","statusMessage":"It was malware."}`): "a.b/c 1.0.0: deleted from the registry: It was malware.",
		official(`{"status":"quarantined"}`):                               `the status "quarantined", which this aisync does not know`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse([]byte(official(`{"status":"deleted"}`))); !errors.Is(err, ErrDeleted) {
		t.Errorf("%v is not ErrDeleted", err)
	}
}
