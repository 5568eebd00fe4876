package schema

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

const contract = "../golden/contract"

// unpack lays a txtar below a new folder.
func unpack(t testing.TB, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range a.Files {
		p := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hostSpec loads one host's file.
func hostSpec(t *testing.T, text string, o Options) (*spec.Spec, error) {
	t.Helper()
	o.HostDir = unpack(t, &txtar.Archive{Files: []txtar.File{{Name: "spec.cue", Data: []byte(text)}}})
	o.Cwd = o.HostDir
	return Load(context.Background(), o)
}

func contractOptions(t testing.TB) Options {
	root, err := filepath.Abs(contract)
	if err != nil {
		t.Fatal(err)
	}
	return Options{HostDir: filepath.Join(root, "host"), HostName: "velox", ProjectDir: filepath.Join(root, "project"), Cwd: root}
}

func TestContractSpecLoads(t *testing.T) {
	o := contractOptions(t)
	s, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	loopback := func(s spec.Service) spec.Service { s.Scope, s.Listen = "user", "loopback"; return s }
	wantHost := &spec.Host{
		Name: "velox", Dir: o.HostDir, Match: spec.Match{Hostname: "velox"},
		Runtimes: []spec.RuntimeUse{
			{ID: "claude", Install: &spec.Install{Via: "npm"}}, {ID: "codex"},
			{ID: "local-openai", CLI: "opencode"}, {ID: "opencode", Install: &spec.Install{Via: "npm", Version: "1.18.33"}},
		},
		Default: "claude", Roots: []string{"~/code", "~/projects"}, Trust: spec.Flag{On: true},
		Packages: []spec.Named{{Value: "tmux"}, {Value: "git"}},
		Bundles:  []spec.HostBundle{{Name: "core", Source: "../rulesets", Parts: []string{"rules", "skills", "hooks"}}},
		MCP:      []spec.MCPServer{{Name: "fetch", Command: "uvx", Args: []string{"mcp-server-fetch"}, Env: []spec.EnvVar{{Name: "LOG_LEVEL", Value: "warn"}}}},
		Store:    spec.Named{Value: "~/.local/share/llm/models"},
		Models:   []spec.ModelUse{{ID: "qwen3-8b", Quant: "Q4_K_M"}, {ID: "qwen3-coder-30b", Quant: "auto"}, {ID: "tiny"}},
		Services: []spec.Service{
			loopback(spec.Service{Name: "coder", Kind: "llama-server", Model: "qwen3-coder-30b", Port: 8081, Context: 32768, Enabled: true}),
			{Name: "lan", Kind: "external", URL: "http://127.0.0.1:18081/v1", Model: "qwen3-coder", APIs: []string{"chat", "responses", "messages"}},
			loopback(spec.Service{Name: "ollama", Kind: "ollama", Port: 11434, Models: []string{"tiny"}, Enabled: true}),
			loopback(spec.Service{Name: "quick", Kind: "llama-server", Model: "qwen3-8b", Port: 8082}),
		},
		Endpoint: spec.Named{Value: "coder"},
		Settings: []spec.Settings{{Runtime: "claude", JSON: []byte(`{"permissions":{"allow":["Bash(make test)"]}}`)}},
		Policy:   spec.Policy{Drift: "report"},
	}
	wantProject := &spec.Project{
		Name: "org-drill", Dir: o.ProjectDir, File: filepath.Join(o.ProjectDir, ProjectFile),
		Runtimes: []spec.Named{{Value: "claude"}, {Value: "opencode"}, {Value: "local-openai"}}, Default: "claude",
		Sources: []spec.Source{{Name: "rulesets", URL: "../rulesets", Dir: o.ProjectDir}},
		Bundles: []spec.BundleRef{{Source: "rulesets", Name: "elisp"}, {Source: "rulesets", Name: "python"}},
		Teams:   []spec.BundleRef{{Source: "rulesets", Name: "deepsat"}},
		MCP:     []spec.MCPServer{{Name: "notes", Command: "python3", Args: []string{"tools/notes_mcp.py"}}},
		Agents: spec.Agents{
			Sessions: spec.Flag{On: true}, Ledger: spec.Flag{On: true}, Tasks: spec.Flag{On: true}, Runs: spec.Flag{On: true},
			Queues: []string{"orchestrator-core", "guardrails"},
		},
	}
	ignore := cmp.Options{cmpopts.IgnoreTypes(spec.Position{}), cmpopts.IgnoreFields(spec.Settings{}, "Leaves")}
	if diff := cmp.Diff(wantHost, s.Host, ignore); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantProject, s.Project, ignore); diff != "" {
		t.Error(diff)
	}
	wantModel := []spec.Model{{ID: "tiny", License: "MIT", Context: 2048, Quants: []spec.Quant{{Name: "F32", Files: []spec.ModelFile{{
		Path: "tiny.gguf", Size: 483136, SHA256: "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd",
		Sources: []string{"http://127.0.0.1:18080/tiny.gguf"},
	}}}}}}
	if diff := cmp.Diff(wantModel, s.Catalog.Models, ignore); diff != "" {
		t.Error(diff)
	}
}

func TestLoadSetsPositions(t *testing.T) {
	s, err := Load(context.Background(), contractOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	settings := s.Host.Settings[0]
	for _, c := range []struct {
		what string
		got  spec.Position
		want string
	}{
		{"host", s.Host.Pos, "host/velox.cue:4:8"},
		{"runtime", s.Host.Runtimes[0].Pos, "host/velox.cue:8:3"},
		{"package", s.Host.Packages[1].Pos, "host/velox.cue:17:21"},
		{"bundle", s.Host.Bundles[0].Pos, "host/velox.cue:20:3"},
		{"endpoint", s.Host.Endpoint.Pos, "host/velox.cue:38:12"},
		{"settings", settings.Pos, "host/velox.cue:40:12"},
		{"an array of settings", settings.Leaves["/permissions/allow"], "host/velox.cue:40:35"},
		{"an element of it", settings.Leaves["/permissions/allow/0"], "host/velox.cue:40:43"},
		{"own model", s.Catalog.Models[0].Pos, "host/velox.cue:45:18"},
		{"source", s.Project.Sources[0].Pos, "project/aisync.cue:8:12"},
		{"bundle of the project", s.Project.Bundles[1].Pos, "project/aisync.cue:9:31"},
		{"ledger", s.Project.Agents.Ledger.Pos, "project/aisync.cue:16:13"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

// dialled is a registry that reports calls.
func dialled(t *testing.T) <-chan struct{} {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	calls := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls <- struct{}{}
			conn.Close()
		}
	}()
	t.Setenv("CUE_REGISTRY", l.Addr().String()+"+insecure")
	return calls
}

func TestImportsComeFromBinary(t *testing.T) {
	calls := dialled(t)
	for name, c := range map[string]struct{ text, want string }{
		"schema":   {"package aisync\nimport \"aisync.dev/schema\"\nhosts: a: schema.#Host & {roots: [\"~/x\"]}", ""},
		"catalog":  {"package aisync\nimport \"aisync.dev/catalog\"\nhosts: a: {models: \"qwen3-8b\": quant: [for q, _ in catalog.models[\"qwen3-8b\"].quants {q}][0]}", ""},
		"CUE's":    {"package aisync\nimport (\n\"strings\"\n\"list\"\n)\nhosts: a: roots: list.Concat([[strings.Join([\"~\", \"x\"], \"/\")]])", ""},
		"unknown":  {"package aisync\n\nimport \"example.com/x\"\n\nhosts: a: x.#A", `spec.cue:3:8: import "example.com/x": no such package in this version of aisync, and nothing is fetched; a spec may import CUE's own packages, aisync.dev/schema and aisync.dev/catalog`},
		"mistyped": {"package aisync\nimport \"aisync.dev/shema\"\nhosts: a: shema.#A", `spec.cue:2:8: import "aisync.dev/shema": no such package in this version of aisync, and nothing is fetched; did you mean "aisync.dev/schema"?`},
		"local":    {"package aisync\nimport \"nope/foo\"\nhosts: a: foo.#A", `spec.cue:2:8: builtin package "nope/foo" undefined; a spec may import CUE's own packages, aisync.dev/schema and aisync.dev/catalog`},
	} {
		_, err := hostSpec(t, c.text, Options{HostName: "a"})
		if got := errorText(err); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	select {
	case <-calls:
		t.Error("the registry was called")
	default:
	}
}

// The file that init writes for editors makes CUE check a spec by itself; what
// aisync says about it stays the same, word for word.
func TestEditorFileKeepsErrors(t *testing.T) {
	const text = "package aisync\nhosts: a: {services: x: {kind: \"ollama\", port: 80}, stoer: \"~/x\", trust: 1}\n"
	_, alone := hostSpec(t, text, Options{HostName: "a"})
	dir := unpack(t, &txtar.Archive{Files: []txtar.File{{Name: "spec.cue", Data: []byte(text)}, {Name: EditorFile, Data: []byte(EditorText)}}})
	_, beside := Load(context.Background(), Options{HostDir: dir, HostName: "a", Cwd: dir})
	if got, want := errorText(beside), errorText(alone); got != want || len(strings.Split(want, "\n")) != 3 {
		t.Errorf("\ngot\n%s\nwant\n%s", got, want)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestModuleAroundSpecIsIgnored(t *testing.T) {
	const host = "package aisync\nhosts: a: default: \"claude\"\nhosts: a: runtimes: claude: {}\n"
	for name, module := range map[string]string{
		"none":             "",
		"ours":             string(Files()["module.cue"]),
		"the repository's": "module: \"example.com/infra@v0\"\nlanguage: version: \"v0.9.0\"\ndeps: \"example.com/gone@v0\": v: \"v0.1.0\"\n",
		"broken":           "module: {",
	} {
		a := &txtar.Archive{Files: []txtar.File{{Name: "hosts/a.cue", Data: []byte(host)}}}
		if module != "" {
			a.Files = append(a.Files, txtar.File{Name: "cue.mod/module.cue", Data: []byte(module)})
		}
		dir := unpack(t, a)
		s, err := Load(context.Background(), Options{HostDir: filepath.Join(dir, "hosts")})
		if err != nil || s.Host.Default != "claude" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHostByNameOrMatch(t *testing.T) {
	const both = "package aisync\nhosts: {\n\tbig: match: memoryGiB: >=100\n\tlaptop: match: {cpu: \"i7\", memoryGiB: <100}\n}\n"
	pearl, _ := hosts.Recorded("pearl")
	velox, _ := hosts.Recorded("velox")
	for name, c := range map[string]struct {
		text, host string
		f          *facts.Facts
		want, err  string
	}{
		"by name, without facts": {text: both, host: "laptop", want: "laptop"},
		"by memory":              {text: both, f: &pearl, want: "big"},
		"by CPU and memory":      {text: both, f: &velox, want: "laptop"},
		"the only one, no match": {text: "package aisync\nhosts: me: {}\n", want: "me"},
		"no such name":           {text: both, host: "laptpo", err: `hosts: no host "laptpo" in DIR; did you mean "laptop"?`},
		"none matches": {text: "package aisync\nhosts: a: match: hostname: \"a\"\nhosts: b: match: {product: \"^Mac\", memoryGiB: >200}\n", f: &velox,
			err: `spec.cue:2:8: hosts: no host matches this machine: a (spec.cue:2:8): hostname is velox, not a, b (spec.cue:3:8): product is Framework Laptop (13th Gen Intel Core), not /^Mac/ and memory is 64 GiB, not >200 GiB; say which: --host a|b`},
		"two match": {text: "package aisync\nhosts: a: {}\nhosts: b: match: memoryGiB: >1\n", f: &velox,
			err: `spec.cue:2:8: hosts: more than one host matches this machine: a (spec.cue:2:8) and b (spec.cue:3:8); narrow a match, or say which: --host NAME`},
		"no host at all": {text: "package aisync\n",
			err: `hosts: no host in DIR; describe this machine as hosts: NAME: {…}, or run: aisync init`},
		"no facts": {text: both, err: "choose a host (say which: --host big|laptop): no facts of this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{HostName: c.host}
			if c.f != nil {
				o.Facts = func() (facts.Facts, error) { return *c.f, nil }
			}
			o.HostDir = unpack(t, &txtar.Archive{Files: []txtar.File{{Name: "spec.cue", Data: []byte(c.text)}}})
			o.Cwd = o.HostDir
			s, err := Load(context.Background(), o)
			if got := errorText(err); got != strings.ReplaceAll(c.err, "DIR", o.HostDir) {
				t.Fatalf("\ngot  %s\nwant %s", got, c.err)
			}
			if err == nil && s.Host.Name != c.want {
				t.Errorf("%s, want %s", s.Host.Name, c.want)
			}
		})
	}
}

func TestFactsOnlyWhenNeeded(t *testing.T) {
	asked := 0
	o := Options{HostName: "a", Facts: func() (facts.Facts, error) { asked++; return facts.Facts{}, nil }}
	if _, err := hostSpec(t, "package aisync\nhosts: a: match: hostname: \"x\"\n", o); err != nil || asked != 0 {
		t.Error(asked, err)
	}
}

func TestDefaultHostHasInstalledRuntimes(t *testing.T) {
	there := func(programs ...string) func() (facts.Facts, error) {
		f := facts.Facts{Programs: map[string]string{}}
		for _, p := range programs {
			f.Programs[p] = "/usr/bin/" + p
		}
		return func() (facts.Facts, error) { return f, nil }
	}
	for _, c := range []struct {
		facts     func() (facts.Facts, error)
		runtimes  []string
		defaultIs string
	}{
		{there("codex", "claude", "git"), []string{"claude", "codex"}, "claude"},
		{there("opencode"), []string{"local-openai", "opencode"}, "local-openai"},
		{there("goose", "codex", "amp"), []string{"codex", "amp", "goose"}, "codex"}, // the host names one of them
		{there("goose"), []string{"goose"}, "goose"},
		{there(), []string{}, ""},
	} {
		for _, dir := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "gone")} {
			s, err := Load(context.Background(), Options{HostDir: dir, Facts: c.facts})
			if err != nil {
				t.Fatal(err)
			}
			got := ids(s.Host.Runtimes, func(u spec.RuntimeUse) string { return u.ID })
			if !s.Host.Builtin || !slices.Equal(got, c.runtimes) || s.Host.Default != c.defaultIs {
				t.Errorf("%+v", s.Host)
			}
			if len(s.Host.Models)+len(s.Host.Bundles)+len(s.Files) != 0 {
				t.Error("the default host fetches something")
			}
		}
	}
	if _, err := Load(context.Background(), Options{HostName: "pearl"}); !strings.Contains(errorText(err), "aisync init") {
		t.Error(err)
	}
}

func TestScopeLimitsLoad(t *testing.T) {
	o := contractOptions(t)
	o.Scope = HostOnly
	if s, err := Load(context.Background(), o); err != nil || s.Host == nil || s.Project != nil || len(s.Files) != 1 {
		t.Error(err)
	}
	o.Scope = ProjectOnly
	if s, err := Load(context.Background(), o); err != nil || s.Host != nil || s.Project == nil || len(s.Files) != 1 {
		t.Error(err)
	}
}

func TestDigestIgnoresFolder(t *testing.T) {
	digest := func(text string) string {
		s, err := hostSpec(t, text, Options{HostName: "a"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest
	}
	const one = "package aisync\nhosts: a: {}\n"
	if first := digest(one); first != digest(one) {
		t.Error("another folder, another digest")
	}
	if digest(one) == digest(one+"// more\n") {
		t.Error("another text, the same digest")
	}
}

func TestReferenceHostsLoad(t *testing.T) {
	for _, name := range hosts.Examples() {
		text, _ := hosts.Example(name)
		s, err := hostSpec(t, string(text), Options{HostName: name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, recorded := hosts.Recorded(name)
		if !recorded {
			continue
		}
		if ok, why := hosts.Matches(s.Host.Match, f); !ok {
			t.Errorf("%s is not the machine of that name: %s", name, why)
		}
	}
}

func TestViewNames(t *testing.T) {
	s, err := hostSpec(t, "package aisync\nhosts: a: {views: [\"ollama\", \"lmstudio\"]}\n", Options{HostName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if v := s.Host.Views; len(v) != 2 || v[0].Value != "ollama" || v[1].Value != "lmstudio" || v[1].Pos.Line != 2 {
		t.Errorf("%+v", v)
	}
	_, err = hostSpec(t, "package aisync\nhosts: a: {views: [\"olama\"]}\n", Options{HostName: "a"})
	if err == nil || !strings.Contains(err.Error(), `want one of huggingface|ollama|lmstudio, got "olama"; did you mean "ollama"?`) {
		t.Errorf("%v", err)
	}
}

func TestErrorsUnwrapToProblems(t *testing.T) {
	_, err := hostSpec(t, "package aisync\nhosts: a: {x: 1, y: 2}\n", Options{HostName: "a"})
	var all Errors
	var one Problem
	if !errors.As(err, &all) || len(all) != 2 || !errors.As(err, &one) || one.Path != "hosts.a.x" {
		t.Errorf("%#v", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	o := contractOptions(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(context.Background(), o); err != nil {
			b.Fatal(err)
		}
	}
}

func TestModelUseContext(t *testing.T) {
	write := func(use string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "me.cue"), []byte("package aisync\nhosts: me: models: \"qwen3-8b\": "+use+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	s, err := Load(context.Background(), Options{HostDir: write(`{quant: "Q4_K_M", context: 16384, fit: "ignore"}`), HostName: "me"})
	if err != nil {
		t.Fatal(err)
	}
	want := []spec.ModelUse{{ID: "qwen3-8b", Quant: "Q4_K_M", Context: 16384, Fit: "ignore"}}
	if diff := cmp.Diff(want, s.Host.Models, cmpopts.IgnoreTypes(spec.Position{})); diff != "" {
		t.Error(diff)
	}
	_, err = Load(context.Background(), Options{HostDir: write(`{fit: "never"}`), HostName: "me"})
	if !strings.Contains(errorText(err), `want "ignore"`) {
		t.Errorf("an unknown word for fit: %v", err)
	}
}

func TestAgentsDefaultOff(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte("-- aisync.cue --\npackage aisync\nproject: {name: \"p\", agents: {sessions: true}}\n")))
	s, err := Load(context.Background(), Options{ProjectDir: dir, Scope: ProjectOnly, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Project.Agents; !a.Sessions.On || a.Ledger.On || a.Tasks.On || a.Runs.On || len(a.Queues) > 0 {
		t.Errorf("%+v", a)
	}
}

func TestNightlyIsRead(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`-- host.cue --
package aisync
hosts: me: tasks: {
	nightly: "02:00", until: "06:00", repos: ["~/src/chiffon"], max: 5, executor: "opencode", push: "origin", show: ["~/data", "/srv/models"], keptTrees: 7
	gitea: {url: "https://gitea.example", token: {file: "~/.config/token"}, comment: true, pullRequest: true, repos: "~/src/chiffon": "me/chiffon"}
}
`)))
	s, err := Load(context.Background(), Options{HostDir: dir, HostName: "me"})
	if err != nil {
		t.Fatal(err)
	}
	want := &spec.Nightly{
		At: "02:00", Until: "06:00", Repos: []spec.Named{{Value: "~/src/chiffon"}}, Max: 5, Executor: "opencode", Push: "origin",
		Gitea: &spec.Gitea{URL: "https://gitea.example", Token: spec.Secret{File: "~/.config/token"}, Comment: true, PullRequest: true, Repos: map[string]string{"~/src/chiffon": "me/chiffon"}},
	}
	if diff := cmp.Diff(want, s.Host.Nightly, cmpopts.IgnoreTypes(spec.Position{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]spec.Named{{Value: "~/data"}, {Value: "/srv/models"}}, s.Host.TaskShow, cmpopts.IgnoreTypes(spec.Position{})); diff != "" || s.Host.TaskTrees != 7 {
		t.Error(diff, s.Host.TaskTrees)
	}
}

// The network is allowed to tasks by the host alone, with work at night and without.
func TestTaskNetworkIsTheHosts(t *testing.T) {
	for text, want := range map[string]bool{
		"hosts: me: tasks: network: true": true, "hosts: me: tasks: network: false": false, "hosts: me: {}": false,
		`hosts: me: tasks: {nightly: "02:00", repos: ["~/x"]}`: false, `hosts: me: tasks: {network: true, nightly: "02:00", repos: ["~/x"]}`: true,
	} {
		dir := unpack(t, txtar.Parse([]byte("-- host.cue --\npackage aisync\n"+text+"\n")))
		s, err := Load(context.Background(), Options{HostDir: dir, HostName: "me"})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if nightly := strings.Contains(text, "nightly"); s.Host.TaskNetwork.On != want || (s.Host.Nightly != nil) != nightly {
			t.Errorf("%s: %+v, %+v", text, s.Host.TaskNetwork, s.Host.Nightly)
		}
	}
}

func TestSourceWithScope(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- host/me.cue --
package aisync

hosts: me: bundles: core: {source: "~/rules", scope: "applies-to"}
-- project/aisync.cue --
package aisync

project: {
	name: "p"
	sources: plain: "../plain"
	sources: old: {source: "../old", scope: "applies-to"}
}
`)))
	o := Options{HostDir: filepath.Join(dir, "host"), HostName: "me", ProjectDir: filepath.Join(dir, "project"), Cwd: dir}
	s, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []spec.Source{{Name: "old", URL: "../old", Dir: o.ProjectDir, Scope: "applies-to"}, {Name: "plain", URL: "../plain", Dir: o.ProjectDir}}
	if diff := cmp.Diff(want, s.Project.Sources, cmpopts.IgnoreTypes(spec.Position{}), cmpopts.SortSlices(func(a, b spec.Source) bool { return a.Name < b.Name })); diff != "" {
		t.Error(diff)
	}
	if b := s.Host.Bundles[0]; b.Source != "~/rules" || b.Scope != "applies-to" {
		t.Errorf("%+v", b)
	}
}
