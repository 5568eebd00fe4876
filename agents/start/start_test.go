package start

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/task/executor"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

var errOffline = errors.New("offline")

// machine has these programs and files, and is online.
func machine(programs, files string) *Machine {
	return &Machine{
		Look: func(program string) (string, error) {
			if slices.Contains(strings.Fields(programs), program) {
				return "/bin/" + program, nil
			}
			return "", fmt.Errorf("%w: no program %s in PATH", launch.ErrMissing, program)
		},
		Exists: func(path string) bool { return slices.Contains(strings.Fields(files), path) },
		Expand: func(path string) string { return "/home/me" + strings.TrimPrefix(path, "~") },
		Absent: func(_ *spec.Host, s spec.Service) string {
			return map[bool]string{true: "nothing listens"}[s.Name == "dead"]
		},
	}
}

// known is the catalog with runtimes of a person's own.
func known(own ...spec.Runtime) catalog.Index { return catalog.With(spec.Catalog{Runtimes: own}) }

func chosen(t *testing.T, word string) launch.Choice {
	t.Helper()
	rt, ok := known().Runtime(word)
	if !ok {
		t.Fatalf("the catalog has no %s", word)
	}
	return launch.Choice{Runtime: rt, Label: word}
}

// served is a host whose endpoint is a service of that name.
func served(name string, runtimes ...spec.RuntimeUse) *spec.Host {
	return &spec.Host{
		Name: "h", Runtimes: runtimes, Endpoint: spec.Named{Value: name},
		Services: []spec.Service{{Name: name, Kind: "llama-server", Model: "m", Port: 8081, Enabled: true}},
	}
}

func TestDefaultOrder(t *testing.T) {
	project := &spec.Project{Default: "codex", File: "/p/aisync.cue"}
	own, builtin := &spec.Host{Name: "h", Default: "pi"}, &spec.Host{Name: "default", Default: "qwen", Builtin: true}
	for name, c := range map[string]struct {
		spec        spec.Spec
		files       map[string]string
		word, where string
	}{
		"the project's file":      {spec.Spec{Project: project, Host: own}, map[string]string{"p": "aider", "u": "amp"}, "aider", "p"},
		"the project's spec":      {spec.Spec{Project: project, Host: own}, map[string]string{"u": "amp"}, "codex", "/p/aisync.cue"},
		"the host's spec":         {spec.Spec{Host: own}, map[string]string{"u": "amp"}, "pi", "host h"},
		"the home's file":         {spec.Spec{Host: builtin}, map[string]string{"u": "amp"}, "amp", "u"},
		"what is installed":       {spec.Spec{Host: builtin}, nil, "qwen", "the programs that are installed"},
		"nothing but the catalog": {spec.Spec{}, nil, catalog.Preferred().ID, "the default"},
	} {
		word, where, err := Default(&c.spec, "p", "u", func(file string) (string, error) { return c.files[file], nil })
		if word != c.word || where != c.where || err != nil {
			t.Errorf("%s: %q of %q, %v", name, word, where, err)
		}
	}
	broken := errors.New("no TOML")
	if _, where, err := Default(&spec.Spec{Project: project}, "p", "u", func(string) (string, error) { return "", broken }); !errors.Is(err, broken) || where != "p" {
		t.Errorf("of a file that cannot be read: %q, %v", where, err)
	}
}

func TestProgramGetsServerAndRules(t *testing.T) {
	const dir = "/home/me/.config/rulesets/runtimes/local-openai/"
	for name, c := range map[string]struct {
		machine *Machine
		runtime string
		host    *spec.Host
		want    string // arguments and some variables, or "error: " and a part of it
	}{
		"a vendor's":                    {machine("claude", ""), "claude", nil, "claude"},
		"told of the project's file":    {machine("aider", "/p/AGENTS.md"), "aider", nil, "aider --read AGENTS.md"},
		"not of one that is not there":  {machine("aider", ""), "aider", nil, "aider"},
		"driven by the first":           {machine("aider opencode", dir+"opencode.json"), "local-openai", served("s"), "opencode OPENCODE_CONFIG=" + dir + "opencode.json OPENCODE_CONFIG_CONTENT={"},
		"without its file":              {machine("opencode", ""), "local-openai", served("s"), "opencode OPENCODE_CONFIG_CONTENT={"},
		"driven by the next":            {machine("aider", dir+".aider.conf.yml /p/AGENTS.md"), "local-openai", served("s"), "aider --config " + dir + ".aider.conf.yml --read AGENTS.md AIDER_MODEL=openai/m"},
		"driven by the one of the spec": {machine("", ""), "local-openai", served("s", spec.RuntimeUse{ID: "local-openai", CLI: "aider"}), "aider AIDER_MODEL=openai/m"},
		"driven by none":                {machine("", ""), "local-openai", served("s"), `error: install opencode or aider, or name one: cli: "opencode"`},
		"driven by no driver":           {machine("claude", ""), "local-openai", served("s", spec.RuntimeUse{ID: "local-openai", CLI: "claude"}), "error: no program drives local-openai here"},
		"without a server":              {machine("opencode", ""), "local-openai", nil, "error: has no server to talk to"},
		"with one that is dead":         {machine("opencode", ""), "local-openai", served("dead"), "error: talks to service dead, which does not run here: nothing listens"},
	} {
		p, err := c.machine.Program("/p", chosen(t, c.runtime), c.host, known())
		got := strings.Join(append([]string{p.Runtime.ID}, p.Args...), " ")
		for _, name := range []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "AIDER_MODEL"} {
			if v, ok := p.Environment[name]; ok {
				got += " " + name + "=" + v
			}
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if want, isError := strings.CutPrefix(c.want, "error: "); isError && !(err != nil && strings.Contains(got, want)) || !isError && !(got == c.want || strings.HasSuffix(c.want, "{") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestOfflineStartsOnlyLocalRuntimes(t *testing.T) {
	m := machine("claude opencode", "")
	m.Offline = errOffline
	if _, err := m.Program("/p", chosen(t, "claude"), nil, known()); !errors.Is(err, errOffline) {
		t.Errorf("claude: %v", err)
	}
	p, err := m.Program("/p", chosen(t, "opencode"), nil, known())
	if err != nil || p.Environment["OPENCODE_DISABLE_AUTOUPDATE"] != "1" {
		t.Errorf("opencode: %v, %v", p.Environment, err)
	}
	if _, err := m.Program("/p", chosen(t, "local-openai"), served("s"), known()); err != nil {
		t.Errorf("local-openai: %v", err)
	}
}

func TestInstalledHintsAtInstallation(t *testing.T) {
	m := machine("pi", "")
	if hint, err := m.Installed(chosen(t, "pi").Runtime); hint != "" || err != nil {
		t.Errorf("pi: %q, %v", hint, err)
	}
	hint, err := m.Installed(chosen(t, "codex").Runtime)
	if !errors.Is(err, launch.ErrMissing) || !strings.HasPrefix(hint, "npm install -g @openai/codex, or name it in the host's spec: runtimes: codex: ") {
		t.Errorf("codex: %q, %v", hint, err)
	}
	m.Look = func(string) (string, error) { return "", errOffline }
	if hint, err := m.Installed(chosen(t, "pi").Runtime); hint != "" || !errors.Is(err, errOffline) {
		t.Errorf("another error: %q, %v", hint, err)
	}
}

func TestRowsOrder(t *testing.T) {
	rows := machine("claude opencode", "").Rows(served("s"), known(), "m")
	is := map[string]Row{}
	for _, r := range rows {
		is[r.Name] = r
	}
	for name, installed := range map[string]bool{"claude": true, "codex": false, "local-openai": true, "s": true, "m": true} {
		if r, ok := is[name]; !ok || r.Installed != installed || r.Default != (name == "m") {
			t.Errorf("%s: %+v, listed: %v", name, r, ok)
		}
	}
	if last := rows[len(rows)-1].Name; last != "m" {
		t.Errorf("the last row is %s", last)
	}
	for _, r := range machine("claude", "").Rows(nil, known(), "claude") {
		if r.Installed != (r.Name == "claude") || r.Default != (r.Name == "claude") {
			t.Errorf("on a machine without a host: %+v", r)
		}
	}
}

func TestPassedVariables(t *testing.T) {
	for name, want := range map[string]bool{"PATH": true, "HOME": true, "XDG_DATA_HOME": true, "AISYNC_OFFLINE": true, "CODEX_HOME": true, "SECRET": false, "HOMES": false} {
		if got := Passed(name, "", "CODEX_HOME"); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// reasons are the candidates of t by name, with what is missing.
func reasons(t *Tasks) (order []string, missing map[string]string) {
	missing = map[string]string{}
	for _, c := range t.Choice().Candidates {
		order, missing[c.Name] = append(order, c.Name), c.Missing
	}
	return order, missing
}

func TestCandidatesExplainUnfitness(t *testing.T) {
	all := strings.Join(catalog.Commands(), " ")
	base := Tasks{Machine: machine(all, ""), Known: known(), Loopback: func(url string) bool { return strings.Contains(url, "127.0.0.1") }, Folders: func(string) []string { return nil }}
	with := func(h *spec.Host, change ...func(*Tasks)) *Tasks {
		one := base
		one.Host = h
		for _, f := range change {
			f(&one)
		}
		return &one
	}
	offline := func(t *Tasks) {
		t.Machine = machine(all, "")
		t.Offline = errOffline
	}
	far := served("far")
	far.Services[0] = spec.Service{Name: "far", Kind: "external", URL: "https://models.example/v1", Model: "m", APIs: []string{"embeddings"}, Enabled: true}
	for name, c := range map[string]struct {
		tasks *Tasks
		of    string
		want  string
	}{
		"fits":               {with(served("s")), "opencode", ""},
		"the endpoint fits":  {with(served("s")), executor.EndpointName, ""},
		"no host":            {with(nil), executor.EndpointName, "host  names no endpoint, so no model can be asked; name a service: aisync add service"},
		"no host, a runtime": {with(nil), "opencode", "host  names no endpoint, so no model can be asked; name a service: aisync add service"},
		"a dead service":     {with(served("dead")), "opencode", "service dead, the endpoint of host h, does not run here: nothing listens, so no model can be asked; name a service: aisync add service"},
		"offline":            {with(far, offline), "opencode", "service far is not on this machine, and this is offline"},
		"offline, near":      {with(served("s"), offline), "opencode", ""},
		"another API":        {with(far), "opencode", "service far speaks none of its APIs: chat, responses, messages"},
		"no chat":            {with(far), executor.EndpointName, "service far does not speak chat completions"},
		"not installed":      {with(nil, func(t *Tasks) { t.Machine = machine("", "") }), "opencode", "not installed"},
		"not executable": {with(served("s"), func(t *Tasks) {
			t.Machine = machine(all, "")
			t.Look = func(string) (string, error) { return "", exec.ErrDot }
		}), "opencode", exec.ErrDot.Error()},
		"its maker's alone":   {with(served("s")), "amp", "amp accepts only its vendor's server"},
		"the spec refuses it": {with(served("s", spec.RuntimeUse{ID: "opencode", Endpoint: &spec.EndpointUse{}})), "opencode", "the spec has endpoint: false for it, and tasks are done with the host's endpoint"},
		"no headless form":    {with(served("s"), func(t *Tasks) { t.Known = known(spec.Runtime{ID: "mute", Command: "claude"}) }), "mute", "it cannot answer a single prompt and exit"},
	} {
		_, missing := reasons(c.tasks)
		if got, ok := missing[c.of]; !ok || got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCandidatesOrder(t *testing.T) {
	base := Tasks{Machine: machine("", ""), Host: served("s", spec.RuntimeUse{ID: "qwen"}, spec.RuntimeUse{ID: "claude"}), Known: known(), Loopback: func(string) bool { return true }, Folders: func(string) []string { return nil }}
	order, missing := reasons(&base)
	if want := []string{executor.EndpointName, "opencode", "qwen", "claude", "aider"}; !slices.Equal(order[:5], want) {
		t.Errorf("%q, want %q first", order, want)
	}
	if _, there := missing["local-openai"]; there {
		t.Error("a runtime without a program is a candidate")
	}
	if len(order) != len(catalog.Commands())+1 {
		t.Errorf("%d candidates of %d programs", len(order), len(catalog.Commands()))
	}
}

// In a sandbox a program gets the lasting arguments and plain variables of the host,
// and none of its secrets.
func TestSandboxedProgramHasLastingArguments(t *testing.T) {
	m := machine(strings.Join(catalog.Commands(), " "), "")
	m.Secret = func(spec.Secret) (string, error) { t.Error("a secret is read"); return "", nil }
	use := spec.RuntimeUse{ID: "codex", Args: []spec.Named{{Value: "--search"}}, Env: []spec.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Secret: &spec.Secret{Env: "B"}}}}
	tasks := Tasks{Machine: m, Host: served("s", use), Known: known(), Loopback: func(string) bool { return true }, Folders: func(string) []string { return nil }}
	p, err := tasks.Program("codex")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(p.Command("x", true), " "), "/bin/codex --search exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check x"; !strings.HasSuffix(got, strings.TrimPrefix(want, "/bin/codex")) {
		t.Errorf("%s, want %s", got, want)
	}
	if env := p.Environment(confine.Setting{Environment: map[string]string{"C": "2"}}, true); !slices.Equal(env, []string{"A=1", "C=2"}) {
		t.Errorf("variables %q", env)
	}
}
