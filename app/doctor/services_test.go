package doctor_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema"
)

// serving returns a machine whose host uses an external service at url.
func serving(t *testing.T, url, more string) *stacktest.Stage {
	t.Helper()
	return stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, fmt.Sprintf(`services: box: {kind: "external", url: %q, model: "tiny", apis: ["chat"]}, endpoint: "box", %s`, url, more))})
}

// model returns the URL of a server that has the model name and answers with text.
func model(t *testing.T, name, text string) string {
	t.Helper()
	answers := fakemodel.New(func(fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Text: text} })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprintf(w, `{"object": "list", "data": [{"id": %q}]}`, name)
			return
		}
		if text == "" {
			fmt.Fprint(w, `{"object": "chat.completion", "choices": []}`)
			return
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestServersAreAsked(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct {
		url              string
		endpoint, prompt string // results
		want             string // of both
	}{
		"answers":           {model(t, "tiny", "hello"), "ok", "ok", ""},
		"has another model": {model(t, "other", "hello"), "fail", "ok", "does not serve tiny: it serves other"},
		"brings no tokens":  {model(t, "tiny", ""), "ok", "fail", ""},
		"does not listen":   {closed.URL + "/v1", "fail", "skip", "not asked: endpoint-box says why"},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, serving(t, c.url, ""), doctor.Options{Timeout: 5 * time.Second})
			endpoint, prompt := got["endpoint-box"], got["prompt-box"]
			if endpoint.Result != c.endpoint || prompt.Result != c.prompt || !strings.Contains(text(endpoint)+text(prompt), c.want) {
				t.Errorf("%s, %s\n%s\n%s", endpoint.Result, prompt.Result, text(endpoint), text(prompt))
			}
			if c.prompt == "ok" && prompt.Took <= 0 {
				t.Error("the time of the answer is missing")
			}
			if _, there := got["service-box"]; there {
				t.Error("the unit of an external service is examined")
			}
		})
	}
}

func TestOfflineAsksOnlyThisMachine(t *testing.T) {
	for name, c := range map[string]struct{ url, result string }{
		"loopback": {model(t, "tiny", "hello"), "ok"},
		"remote":   {"http://192.0.2.1/v1", "skip"},
	} {
		s := serving(t, c.url, "")
		s.Set = func(m *stack.Machine) { m.Offline = true }
		got := examine(t, s, doctor.Options{})
		for _, check := range []string{"endpoint-box", "prompt-box"} {
			if r := got[check]; r.Result != c.result {
				t.Errorf("%s: %s: %s\n%s", name, check, r.Result, text(r))
			}
		}
	}
}

func TestServerIsAskedForTheAPIOfEachRuntime(t *testing.T) {
	for name, c := range map[string]struct{ apis, runtime, want string }{
		"has it, unsaid":          {"", "pi", ""},
		"has it, said":            {`, apis: ["chat"]`, "pi", ""},
		"lacks it, unsaid":        {"", "codex", "/v1 has no /responses, which codex needs"},
		"lacks it, the spec lies": {`, apis: ["chat", "messages"]`, "claude", "/v1 has no /messages, which claude needs"},
	} {
		t.Run(name, func(t *testing.T) {
			chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/models":
					fmt.Fprint(w, `{"data": [{"id": "tiny"}]}`)
				case "/v1/chat/completions":
					http.Error(w, `{"error": "no messages"}`, http.StatusBadRequest)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(chat.Close)
			s := serving(t, chat.URL+"/v1", `runtimes: "`+c.runtime+`": endpoint: true`)
			s.Write(stacktest.HostSpec, strings.Replace(s.Read(stacktest.HostSpec), `, apis: ["chat"]`, c.apis, 1))
			r := examine(t, s, doctor.Options{NoPrompt: true})["endpoint-box"]
			if got := text(r); (r.Result == "ok") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s\n%s", r.Result, got)
			}
		})
	}
}

// A server that grants less than its programs are told fails their longer
// conversations.
func TestContextGrantedIsCompared(t *testing.T) {
	for granted, want := range map[int]string{0: "", 4096: "", 2048: "grants a conversation 2048 tokens, and pi counts on 4096"} {
		answers := fakemodel.New(func(fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Text: "hi"} })
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/models":
				fmt.Fprint(w, `{"data": [{"id": "tiny"}]}`)
			case "/props":
				fmt.Fprintf(w, `{"default_generation_settings": {"n_ctx": %d}}`, granted)
			default:
				answers.ServeHTTP(w, r)
			}
		}))
		s := serving(t, server.URL+"/v1", `runtimes: pi: endpoint: true`)
		s.Write(stacktest.HostSpec, strings.Replace(s.Read(stacktest.HostSpec), `apis: ["chat"]`, `context: 4096`, 1))
		r := examine(t, s, doctor.Options{NoPrompt: true})["endpoint-box"]
		if got := text(r); (r.Result == "ok") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: %s\n%s", granted, r.Result, got)
		}
		server.Close()
	}
}

// A server that loads its model is waited for, and is not at fault where the time
// does not suffice.
func TestLoadingIsNoFailure(t *testing.T) {
	var asked atomic.Int64
	for name, until := range map[string]int64{"ready": 2, "not yet": 1 << 30} {
		asked.Store(0)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) <= until {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprint(w, `{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}`)
				return
			}
			fmt.Fprint(w, `{"data": [{"id": "tiny"}]}`)
		}))
		s := serving(t, server.URL+"/v1", "")
		o := doctor.Options{NoPrompt: true}
		want := "ok"
		if name == "not yet" {
			o.Timeout, want = time.Second, "warn"
		}
		r := examine(t, s, o)["endpoint-box"]
		if string(r.Result) != want || (want == "warn") != strings.Contains(text(r), "it is loading its model") {
			t.Errorf("%s: %s\n%s", name, r.Result, text(r))
		}
		server.Close()
	}
}

func TestServiceOfThisHostIsExamined(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	s := stacktest.New(t, map[string]string{
		stacktest.HostSpec: stacktest.ModelHost(t, fmt.Sprintf(`services: {coder: {kind: "llama-server", model: "tiny", port: %d}, off: {kind: "llama-server", model: "tiny", port: 18097, enabled: false}}`, port)),
		"bin/llama-server": "#!/bin/sh\n",
	})
	s.Facts.Programs["llama-server"] = s.Path("bin/llama-server")
	got := examine(t, s, doctor.Options{NoPrompt: true})
	if r := got["service-coder"]; r.Result != "fail" || !strings.Contains(text(r), "it does not run") || !strings.Contains(text(r), "aisync services start coder") {
		t.Errorf("service: %s\n%s", r.Result, text(r))
	}
	if r := got["port-coder"]; r.Result != "fail" || !strings.Contains(text(r), "which is not coder") {
		t.Errorf("port: %s\n%s", r.Result, text(r))
	}
	if _, there := got["service-off"]; there {
		t.Error("a service that is not enabled is examined")
	}
	busy.Close()
	if r := examine(t, s, doctor.Options{NoPrompt: true})["port-coder"]; !strings.Contains(text(r), "nothing listens on port") {
		t.Errorf("a free port: %s\n%s", r.Result, text(r))
	}
}

func TestAgentsAnswerThroughTheirService(t *testing.T) {
	own := func(name string) string {
		return fmt.Sprintf(`%s: {command: %q, apis: ["chat"], launch: {headless: ["-p", "{prompt}"], endpoint: BASE: "{url}"}}`, name, name)
	}
	s := serving(t, model(t, "tiny", "ready"), `runtimes: {asks: endpoint: true, dead: endpoint: true, mute: endpoint: true}`)
	s.Write(stacktest.HostSpec, s.Read(stacktest.HostSpec)+"catalog: runtimes: {"+own("asks")+", "+own("dead")+", "+own("mute")+"}\n")
	s.Write("bin/asks", "#!/bin/sh\ncurl -s \"$BASE/v1/chat/completions\" -d '{\"model\": \"tiny\", \"messages\": []}'\n")
	s.Write("bin/dead", "#!/bin/sh\necho out of order >&2\nexit 3\n")
	s.Write("bin/mute", "#!/bin/sh\n")
	for _, name := range []string{"asks", "dead", "mute"} {
		s.Facts.Programs[name] = s.Path("bin/" + name)
	}
	got := examine(t, s, doctor.Options{Deep: true})
	if r := got["agent-dead"]; r.Result != "fail" || !strings.Contains(text(r), "out of order") || r.Took <= 0 {
		t.Errorf("dead: %+v", r)
	}
	if r := got["agent-mute"]; r.Result != "fail" || !strings.Contains(text(r), "run it yourself: mute -p {prompt}") {
		t.Errorf("mute: %+v", r)
	}
	if r := got["agent-asks"]; r.Doc != "asks gets an answer from its service" {
		t.Errorf("asks: %+v", r)
	}
	for name := range examine(t, s, doctor.Options{}) {
		if strings.HasPrefix(name, "agent-") {
			t.Errorf("%s runs without Deep", name)
		}
	}
}

func TestValidatorsOfAProgramAreRun(t *testing.T) {
	for name, c := range map[string]struct{ script, result, want string }{
		"in order":     {"#!/bin/sh\n", "ok", ""},
		"fails":        {"#!/bin/sh\necho it is bad >&2\nexit 1\n", "fail", "it is bad"},
		"not runnable": {"#!/no/such/sh\n", "fail", "run it yourself: codex"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, map[string]string{
				stacktest.HostSpec: "package aisync\n\nhosts: me: {match: {}, runtimes: codex: {}}\n", "bin/codex": c.script,
			})
			s.Facts.Programs["codex"] = s.Path("bin/codex")
			r := examine(t, s, doctor.Options{Deep: true, NoPrompt: true})["runtime-codex"]
			if r.Result != c.result || !strings.Contains(text(r), c.want) {
				t.Errorf("%s\n%s", r.Result, text(r))
			}
		})
	}
}

func TestClaimsAreExamined(t *testing.T) {
	s := machine(t)
	l, _, err := ledger.Init(s.Path("p"), "pi")
	if err != nil {
		t.Fatal(err)
	}
	ended := lease.Holder{Runtime: "codex", PID: 1, Start: 1, Place: keeper.Here(process.System())} // another process has that number
	claim := func(agent string, h lease.Holder) {
		t.Helper()
		l.Leases = &lease.Leases{Table: process.System(), Project: l.Root, Clock: clock.Now, Holder: func() (lease.Holder, bool) { return h, h.PID != 0 }}
		if _, err := l.ClaimAll(agent, []string{"src/" + agent}, false); err != nil {
			t.Fatal(err)
		}
	}
	claim("person", lease.Holder{})
	if r := examine(t, s, doctor.Options{})["claims"]; r.Result != "ok" {
		t.Errorf("%s\n%s", r.Result, text(r))
	}
	claim("codex", ended)
	r := examine(t, s, doctor.Options{})["claims"]
	if r.Result != "warn" || !strings.Contains(text(r), "src/codex is ended: its agent, codex") || strings.Contains(text(r), "src/person") || !strings.Contains(text(r), "aisync ledger release "+s.Path("p/src/codex")+" --agent codex") {
		t.Errorf("%s\n%s", r.Result, text(r))
	}
}

func TestRunsAreExamined(t *testing.T) {
	s := machine(t)
	store, _, err := runs.Init(s.Path("p"), runs.Options{Home: s.Path("home"), Check: schema.CheckRun})
	if err != nil {
		t.Fatal(err)
	}
	if r := examine(t, s, doctor.Options{})["runs"]; r.Result != "ok" {
		t.Errorf("a fresh store: %s\n%s", r.Result, text(r))
	}
	s.Write("p/.ilchul/runs/broken/events.jsonl", "no event\n")
	if ids, _, err := store.Runs(); err != nil || len(ids) != 1 {
		t.Fatalf("runs %q, %v", ids, err)
	}
	if r := examine(t, s, doctor.Options{})["runs"]; r.Result != "fail" || !strings.Contains(text(r), "run broken") {
		t.Errorf("a broken run: %s\n%s", r.Result, text(r))
	}
}
