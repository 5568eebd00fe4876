package start

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// many is a service of three models, one of which was trained with less than the
// service grants, and says what two of them are for.
func many() Server {
	h := Host{Spec: &spec.Host{}, Models: []spec.Model{{ID: "m", Context: 65536}, {ID: "s", Context: 8192}, {ID: "l", Context: 131072}}}
	return h.ServerOf(&spec.Service{Name: "many", Kind: "llama-swap", Models: []string{"s", "m", "l"}, Port: 7, Context: 32768, Roles: map[string]string{"main": "m", "small": "s", "review": "s"}})
}

func TestFillNamesTheModels(t *testing.T) {
	s := many()
	for _, c := range []struct{ value, want string }{ // "" is nothing
		{`{"{each}": {"of": "{each}", "limit": "{context}"}}`, `{"l":{"limit":32768,"of":"l"},"m":{"limit":32768,"of":"m"},"s":{"limit":8192,"of":"s"}}`},
		{`["first", {"id": "x/{each}", "limit": "{contextText}"}]`, `["first",{"id":"x/s","limit":"8192"},{"id":"x/m","limit":"32768"},{"id":"x/l","limit":"32768"}]`},
		{`"{model} {small} {small|model} {large|model}"`, `"m s s m"`},
		{`"x/{large}"`, ``},
		{`"{small.context}"`, `8192`},
		{`"{large.context}"`, ``},
		{`{"{large}": 1, "a": "{review}"}`, `{"a":"s"}`},
		{`["{editor}", "x"]`, `["x"]`},
	} {
		f, ok, err := s.Fill(spec.Reference{JSON: []byte(c.value)}, nil)
		if got := string(f.Value); got != c.want || ok != (c.want != "") || err != nil {
			t.Errorf("%s: %s, %v, %v; want %s", c.value, f.Value, ok, err, c.want)
		}
	}
	if got, want := s.Lines("a: \"{small}\"\nb: \"{large}\"\nc: 1\n"), "a: \"s\"\nc: 1\n"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	env, _ := s.Variables(map[string]string{"A": "{large}", "B": "{small}", "C": "{input}", "D": "{context}"})
	if diff := cmp.Diff(map[string]string{"B": "s", "C": "28672", "D": "32768"}, env); diff != "" {
		t.Error(diff)
	}
	unknown := Server{Model: "m"}
	if env, _ := unknown.Variables(map[string]string{"A": "{context}", "B": "{input}", "C": "{model}"}); len(env) != 1 {
		t.Errorf("an unknown context is told: %v", env)
	}
}

// What each program of the catalog is told of a server with several models.
func TestProgramsAreToldOfEachModel(t *testing.T) {
	s := many()
	s.Roles["large"], s.Roles["editor"] = "l", "l"
	for id, want := range map[string]map[string]string{
		"claude": {
			"~/.claude/settings.json /env/ANTHROPIC_MODEL":                `"m"`,
			"~/.claude/settings.json /env/ANTHROPIC_DEFAULT_HAIKU_MODEL":  `"s"`,
			"~/.claude/settings.json /env/ANTHROPIC_DEFAULT_SONNET_MODEL": `"m"`,
			"~/.claude/settings.json /env/ANTHROPIC_DEFAULT_OPUS_MODEL":   `"l"`,
		},
		"codex": {
			"~/.codex/config.toml /model":                      `"m"`,
			"~/.codex/config.toml /review_model":               `"s"`,
			"~/.codex/config.toml /model_context_window":       `32768`,
			"~/.codex/small.config.toml /model":                `"s"`,
			"~/.codex/small.config.toml /model_context_window": `8192`,
			"~/.codex/large.config.toml /model":                `"l"`,
			"~/.codex/large.config.toml /model_context_window": `32768`,
		},
		"opencode": {
			"~/.config/opencode/opencode.json /model":       `"local/m"`,
			"~/.config/opencode/opencode.json /small_model": `"local/s"`,
			"~/.config/opencode/opencode.json /provider/local": `{"models":{"l":{"limit":{"context":32768,"output":4096},"name":"l"},"m":{"limit":{"context":32768,"output":4096},"name":"m"},"s":{"limit":{"context":8192,"output":2048},"name":"s"}},` +
				`"name":"local (many)","npm":"@ai-sdk/openai-compatible","options":{"apiKey":"none","baseURL":"http://127.0.0.1:7/v1"}}`,
		},
		"qwen": {
			"~/.qwen/settings.json /model/name":                `"m"`,
			"~/.qwen/settings.json /fastModel":                 `"s"`,
			"~/.qwen/settings.json /modelProviders/openai/- s": `{"baseUrl":"http://127.0.0.1:7/v1","envKey":"AISYNC_LOCAL_KEY","generationConfig":{"contextWindowSize":8192},"id":"s","name":"s (many)"}`,
			"~/.qwen/settings.json /modelProviders/openai/- m": `{"baseUrl":"http://127.0.0.1:7/v1","envKey":"AISYNC_LOCAL_KEY","generationConfig":{"contextWindowSize":32768},"id":"m","name":"m (many)"}`,
			"~/.qwen/settings.json /modelProviders/openai/- l": `{"baseUrl":"http://127.0.0.1:7/v1","envKey":"AISYNC_LOCAL_KEY","generationConfig":{"contextWindowSize":32768},"id":"l","name":"l (many)"}`,
		},
		"goose": {
			"~/.config/goose/config.yaml /GOOSE_MODEL":                    `"m"`,
			"~/.config/goose/config.yaml /GOOSE_PLANNER_MODEL":            `"l"`,
			"~/.config/goose/custom_providers/custom_aisync.json /models": `[{"context_limit":8192,"name":"s"},{"context_limit":32768,"name":"m"},{"context_limit":32768,"name":"l"}]`,
		},
		"aider": {
			"~/.aider.conf.yml /model":                `"openai/m"`,
			"~/.aider.conf.yml /weak-model":           `"openai/s"`,
			"~/.aider.conf.yml /editor-model":         `"openai/l"`,
			"~/.aider.model.metadata.json /openai~1s": `{"input_cost_per_token":0,"litellm_provider":"openai","max_input_tokens":8192,"max_output_tokens":2048,"mode":"chat","output_cost_per_token":0}`,
			"~/.aider.model.metadata.json /openai~1m": `{"input_cost_per_token":0,"litellm_provider":"openai","max_input_tokens":32768,"max_output_tokens":4096,"mode":"chat","output_cost_per_token":0}`,
			"~/.aider.model.metadata.json /openai~1l": `{"input_cost_per_token":0,"litellm_provider":"openai","max_input_tokens":32768,"max_output_tokens":4096,"mode":"chat","output_cost_per_token":0}`,
		},
	} {
		got := map[string]string{}
		for _, ref := range filled(t, s, id) {
			key, value := ref.Path+" "+ref.Pointer, string(ref.JSON)
			if strings.HasSuffix(key, "/-") {
				_, name, _ := strings.Cut(value, `"id":"`)
				key += " " + name[:1]
			}
			if _, told := want[key]; told || strings.Contains(value, `"s"`) || strings.Contains(value, "8192") {
				got[key] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	refs := filled(t, s, "pi")
	if at := slices.IndexFunc(refs, func(r spec.Reference) bool { return r.Pointer == "/providers/local" }); strings.Count(string(refs[at].JSON), `"contextWindow":32768`) != 2 || !strings.Contains(string(refs[at].JSON), `"contextWindow":8192`) {
		t.Errorf("pi is told %s", refs[at].JSON)
	}
}

// filled is what the program of id is told of s.
func filled(t *testing.T, s Server, id string) (refs []spec.Reference) {
	t.Helper()
	for _, leaf := range s.Leaves(Find(catalog.Runtimes(), id).User.Endpoint) {
		f, ok, err := leaf.Server.Fill(leaf.Ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		if leaf.Ref.JSON = f.Value; ok {
			refs = append(refs, leaf.Ref)
		}
	}
	return refs
}

func TestUntoldRolesAndModelsAreNamed(t *testing.T) {
	for id, want := range map[string][2]string{ // untold, models that grant less than is told
		"claude":   {"review (s), l", ""},
		"codex":    {"l", "s"},
		"opencode": {"review (s)", ""},
		"pi":       {"small (s), review (s)", ""},
		"qwen":     {"review (s)", ""},
		"copilot":  {"small (s), review (s), l", ""},
		"aider":    {"review (s)", ""},
	} {
		s := many()
		texts := Texts(Find(catalog.Runtimes(), id))
		var narrow []string
		for _, m := range s.Narrower(texts) {
			narrow = append(narrow, m.Name)
		}
		if got := [2]string{strings.Join(s.Untold(texts), ", "), strings.Join(narrow, ", ")}; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestAChosenModelHasItsOwnWindow(t *testing.T) {
	s := many()
	s.choose("s")
	if s.Model != "s" || s.Context != 8192 || len(s.list()) != 3 {
		t.Errorf("%+v", s)
	}
	s.choose("other")
	if s.Model != "other" || s.Context != 8192 || len(s.list()) != 4 {
		t.Errorf("%+v", s)
	}
}
