package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema/spec"
)

// shown is an entry in one line.
func shown(e Entry) string {
	s := e.Server
	out := []string{s.Name + ":"}
	if s.SSE {
		out = append(out, "sse")
	}
	if s.Command != "" {
		out = append(out, fmt.Sprintf("%q", append([]string{s.Command}, s.Args...)))
	}
	out = append(out, s.URL)
	for _, v := range slices.Concat(s.Env, s.Headers) {
		value := v.Value
		if v.Secret != nil {
			value = "{env " + v.Secret.Env + "}"
		}
		out = append(out, v.Name+"="+value)
	}
	return strings.Join(strings.Fields(strings.Join(out, " ")), " ")
}

// said is an error with its advice, or "" for none.
func said(err error) string {
	if err == nil {
		return ""
	}
	var out []string
	for _, e := range advice.Split(err) {
		out = append(out, e.Error()+" -> "+advice.Of(e))
	}
	return strings.Join(out, "\n")
}

// entryOf is the entry of a server.json that has these packages and remotes.
func entryOf(body string, ask Ask) (Entry, error) {
	s, err := Parse([]byte(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.acme/notes","description":"Notes.","version":"1.0.0",` + body + `}`))
	if err != nil {
		return Entry{}, err
	}
	return s.Entry(ask)
}

const stdio = `"transport":{"type":"stdio"}`

func packagesOf(list ...string) string { return `"packages":[` + strings.Join(list, ",") + `]` }
func remotes(list ...string) string    { return `"remotes":[` + strings.Join(list, ",") + `]` }
func npm(more string) string {
	return `{"registryType":"npm","identifier":"@acme/notes","version":"1.2.3",` + stdio + more + `}`
}
func oci(id, more string) string {
	return `{"registryType":"oci","identifier":"` + id + `",` + stdio + more + `}`
}

func TestEntries(t *testing.T) {
	const digest = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce"
	values := func(pairs ...string) (a Ask) {
		a.Values = map[string][]string{}
		for _, p := range pairs {
			name, value, _ := strings.Cut(p, "=")
			a.Values[name] = append(a.Values[name], value)
		}
		return a
	}
	for name, c := range map[string]struct {
		body string
		ask  Ask
		want string
		note string // a part of one of the notes
	}{
		"npm":           {body: packagesOf(npm("")), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: "io.github.acme/notes 1.0.0: npm package @acme/notes@1.2.3"},
		"npm, its hint": {body: packagesOf(npm(`,"runtimeHint":"npx","registryBaseUrl":"https://registry.npmjs.org/","runtimeArguments":[{"type":"positional","value":"-y"},{"type":"positional","value":"--quiet"},{"type":"positional","value":"@acme/notes@latest"}]`)), want: `notes: ["npx" "-y" "--quiet" "@acme/notes@1.2.3"]`},
		"pypi":          {body: packagesOf(`{"registryType":"pypi","identifier":"acme-notes","version":"0.5.0rc1",` + stdio + `}`), want: `notes: ["uvx" "acme-notes==0.5.0rc1"]`},
		"nuget":         {body: packagesOf(`{"registryType":"nuget","registryBaseUrl":"https://api.nuget.org/v3/index.json","identifier":"Acme.Notes","version":"0.4.0-beta",` + stdio + `}`), want: `notes: ["dnx" "Acme.Notes@0.4.0-beta" "--yes"]`},
		"nuget, with arguments": {body: packagesOf(`{"registryType":"nuget","identifier":"Acme.Notes","version":"1.0",` + stdio + `,"packageArguments":[{"type":"positional","value":"mcp"},{"type":"positional","value":"start"}]}`),
			want: `notes: ["dnx" "Acme.Notes@1.0" "--yes" "--" "mcp" "start"]`},
		"oci by its tag":             {body: packagesOf(oci("ghcr.io/acme/notes:v1.2.3", "")), want: `notes: ["docker" "run" "-i" "--rm" "ghcr.io/acme/notes:v1.2.3"]`},
		"oci by its digest":          {body: packagesOf(oci("docker.io/acme/notes:latest@sha256:"+digest, "")), want: `notes: ["docker" "run" "-i" "--rm" "docker.io/acme/notes:latest@sha256:` + digest + `"]`},
		"oci, one word":              {body: packagesOf(oci("notes:1.0", `,"registryBaseUrl":"https://ghcr.io"`)), want: `notes: ["docker" "run" "-i" "--rm" "ghcr.io/notes:1.0"]`},
		"oci, its tag moves":         {body: packagesOf(oci("ghcr.io/acme/notes", "")), ask: Ask{Digest: func(image string) (string, error) { return "sha256:" + digest, nil }}, want: `notes: ["docker" "run" "-i" "--rm" "ghcr.io/acme/notes@sha256:` + digest + `"]`, note: "it is pinned to what it names now"},
		"oci, its tag apart":         {body: packagesOf(oci("acme/notes", `,"version":"1.0.2","registryBaseUrl":"https://ghcr.io"`)), want: `notes: ["docker" "run" "-i" "--rm" "ghcr.io/acme/notes:1.0.2"]`},
		"oci gets variables by name": {body: packagesOf(oci("acme/notes:1", `,"environmentVariables":[{"name":"LEVEL","value":"info"},{"name":"TOKEN","isSecret":true,"isRequired":true}]`)), want: `notes: ["docker" "run" "-i" "--rm" "-e" "LEVEL" "-e" "TOKEN" "acme/notes:1"] LEVEL=info TOKEN={env TOKEN}`, note: "export TOKEN where"},
		"oci, its whole command": {body: packagesOf(oci("ghcr.io/acme/notes:1.0", `,"runtimeArguments":[{"type":"positional","value":"run","isRequired":true},{"type":"named","name":"-i","value":"true","format":"boolean","description":"Interactive"},{"type":"named","name":"--rm","value":"true","format":"boolean"},
			{"type":"named","name":"-e","value":"TOKEN={key}","variables":{"key":{"isRequired":true,"isSecret":true}}},{"type":"positional","value":"-v"},{"type":"positional","value":"/a:/b"},{"type":"positional","valueHint":"image_name","value":"ghcr.io/acme/notes"}]`)),
			want: `notes: ["docker" "run" "-i" "--rm" "-v" "/a:/b" "-e" "TOKEN" "ghcr.io/acme/notes:1.0"] TOKEN={env TOKEN}`},
		"uvx, its python":                         {body: packagesOf(`{"registryType":"pypi","identifier":"acme-notes","version":"1.0",` + stdio + `,"runtimeArguments":[{"type":"named","name":"--python","value":"3.12"}]}`), want: `notes: ["uvx" "--python" "3.12" "acme-notes==1.0"]`},
		"a true flag":                             {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--write","format":"boolean","value":"true"},{"type":"named","name":"--color","format":"boolean","value":"false"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--write" "--color=false"]`},
		"a sha256 is not checked":                 {body: packagesOf(npm(`,"fileSha256":"` + digest + `"`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: "which npx does not check: it is not kept"},
		"the second package":                      {body: packagesOf(`{"registryType":"mcpb","identifier":"https://x.example/a.mcpb",`+stdio+`}`, npm("")), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`},
		"another package":                         {body: packagesOf(npm(""), oci("acme/notes:1", "")), ask: Ask{Package: "oci"}, want: `notes: ["docker" "run" "-i" "--rm" "acme/notes:1"]`, note: "also be had by --package npm"},
		"a package before a remote":               {body: packagesOf(npm("")) + "," + remotes(`{"type":"streamable-http","url":"https://acme.example/mcp"}`), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: "--package http"},
		"a remote":                                {body: remotes(`{"type":"sse","url":"https://acme.example/sse"}`, `{"type":"streamable-http","url":"https://acme.example/mcp"}`), want: `notes: https://acme.example/mcp`, note: "--package sse"},
		"a remote of the older kind":              {body: remotes(`{"type":"sse","url":"https://acme.example/sse"}`), want: `notes: sse https://acme.example/sse`},
		"a remote on this machine":                {body: remotes(`{"type":"streamable-http","url":"http://127.0.0.1:8080/mcp"}`), want: `notes: http://127.0.0.1:8080/mcp`},
		"a header with a secret in it":            {body: remotes(`{"type":"streamable-http","url":"https://acme.example/mcp","headers":[{"name":"Authorization","value":"Bearer {api-key}","variables":{"api-key":{"isSecret":true,"isRequired":true}}},{"name":"X-API-Key","isSecret":true,"isRequired":true}]}`), want: `notes: https://acme.example/mcp Authorization=Bearer ${API_KEY} X-API-Key={env X_API_KEY}`, note: "export X_API_KEY"},
		"a header that a person gives":            {body: remotes(`{"type":"streamable-http","url":"https://acme.example/mcp","headers":[{"name":"X-Region","isRequired":true,"choices":["eu","us"]}]}`), ask: Ask{Headers: []spec.EnvVar{{Name: "x-region", Value: "eu"}, {Name: "X-More", Value: "1"}}}, want: `notes: https://acme.example/mcp X-Region=eu X-More=1`},
		"a variable in an address":                {body: remotes(`{"type":"streamable-http","url":"https://{tenant}.acme.example/{region}/mcp","variables":{"tenant":{"isRequired":true},"region":{"default":"eu"}}}`), ask: values("tenant=me"), want: `notes: https://me.acme.example/eu/mcp`, note: "region is its default, eu"},
		"an address that is a variable":           {body: remotes(`{"type":"streamable-http","url":"{baseUrl}/mcp","variables":{"baseUrl":{"isRequired":true}}}`), ask: values("baseUrl=${ACME}"), want: `notes: ${ACME}/mcp`},
		"an argument":                             {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","valueHint":"dir","isRequired":true,"format":"filepath"}]`)), ask: values("dir=./a b;$(x)"), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "./a b;$(x)"]`},
		"an argument again and again":             {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","valueHint":"dir","isRequired":true,"isRepeated":true}]`)), ask: values("dir=/a", "dir=/b"), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "/a" "/b"]`},
		"a default":                               {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--host","isRequired":true,"default":"localhost"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--host" "localhost"]`, note: "--host is its default, localhost; to change it: --arg host=VALUE"},
		"a flag without its dashes":               {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--port","format":"number","description":"Port"}]`)), ask: values("port=8080"), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--port" "8080"]`},
		"an optional argument":                    {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--port","format":"number","description":"Port","placeholder":"8080"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: "not set: --port (Port; a number; such as 8080); to set it: --arg port=VALUE"},
		"a switch":                                {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--stdio"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--stdio"]`},
		"a switch that is asked about":            {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--debug","description":"More words"}]`)), ask: values("--debug="), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--debug"]`},
		"a secret on the command line":            {body: packagesOf(npm(`,"packageArguments":[{"type":"named","name":"--api-token","isRequired":true,"isSecret":true}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "--api-token" "${API_TOKEN}"]`, note: "export API_TOKEN"},
		"variables in a value, again and again":   {body: packagesOf(oci("acme/notes:1", `,"runtimeArguments":[{"type":"named","name":"--mount","value":"type=bind,src={source},dst={target}","isRequired":true,"isRepeated":true,"variables":{"source":{"isRequired":true,"format":"filepath"},"target":{"default":"/project"}}}]`)), ask: values("source=/a", "source=/b", "target=/x"), want: `notes: ["docker" "run" "-i" "--rm" "--mount=type=bind,src=/a,dst=/x" "--mount=type=bind,src=/b,dst=/x" "acme/notes:1"]`},
		"an optional value with a variable":       {body: packagesOf(oci("acme/notes:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"{data}:/data","variables":{"data":{"description":"Folder"}}}],"environmentVariables":[{"name":"A","value":"x{y}","variables":{"y":{}}}]`)), want: `notes: ["docker" "run" "-i" "--rm" "acme/notes:1"]`, note: "not set: data (Folder); to set it: --arg data=VALUE"},
		"and with its value":                      {body: packagesOf(oci("acme/notes:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"{data}:/data","variables":{"data":{}}}]`)), ask: values("data=/d"), want: `notes: ["docker" "run" "-i" "--rm" "-v=/d:/data" "acme/notes:1"]`},
		"braces without a variable stay":          {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","value":"{stays} as {x}","variables":{"x":{"value":"set"}}}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "{stays} as set"]`},
		"a publisher names no variable of mine":   {body: packagesOf(npm(`,"packageArguments":[{"type":"positional","value":"${HOME}"}],"environmentVariables":[{"name":"A","default":"${AWS_SECRET_ACCESS_KEY}","isRequired":true},{"name":"B","value":"$${X}"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3" "$${HOME}"] A=$${AWS_SECRET_ACCESS_KEY} B=$$${X}`},
		"a variable from the person's own":        {body: packagesOf(npm(`,"environmentVariables":[{"name":"TOKEN","isSecret":true,"isRequired":true}]`)), ask: Ask{Env: []spec.EnvVar{{Name: "TOKEN", Secret: &spec.Secret{Env: "MINE"}}, {Name: "MORE", Value: "1"}}}, want: `notes: ["npx" "-y" "@acme/notes@1.2.3"] TOKEN={env MINE} MORE=1`},
		"an optional secret":                      {body: packagesOf(npm(`,"environmentVariables":[{"name":"TOKEN","isSecret":true}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: "not set: TOKEN; to set it: --env-from TOKEN=VARIABLE"},
		"a hidden text stays on one line":         {body: packagesOf(npm(`,"environmentVariables":[{"name":"A","description":"two\n\u001b[31mlines"}]`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`, note: `two \x1b[31mlines`},
		"a hint of no other starter is no matter": {body: packagesOf(npm(`,"runtimeHint":"node"`)), want: `notes: ["npx" "-y" "@acme/notes@1.2.3"]`},
	} {
		e, err := entryOf(c.body, c.ask)
		if err != nil || shown(e) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, shown(e), err, c.want)
		}
		if !slices.ContainsFunc(e.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
			t.Errorf("%s: no note has %q: %q", name, c.note, e.Notes)
		}
	}
}
