package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Questions of each protocol that offer the tool "look" and hold one answer of
// a tool.
var questions = map[string]string{
	"/v1/chat/completions": `{"model":"m","tools":[{"type":"function","function":{"name":"look"}}],"messages":[{"role":"user","content":"hi"},{"role":"tool","content":"x"}]}`,
	"/v1/responses":        `{"model":"m","tools":[{"type":"function","name":"look"}],"input":[{"type":"message"},{"type":"function_call_output"}]}`,
	"/v1/messages":         `{"model":"m","tools":[{"name":"look"}],"messages":[{"content":"hi"},{"content":[{"type":"tool_result"}]}]}`,
	"/v1beta/models/m:generateContent": `{"tools":[{"functionDeclarations":[{"name":"look"}]}],
		"contents":[{"parts":[{"text":"hi"}]},{"parts":[{"functionResponse":{"name":"look"}}]}]}`,
}

func ask(t *testing.T, s *Server, path, body string) string {
	t.Helper()
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, error %v: %s", path, res.Status, err, b)
	}
	return string(b)
}

func start(t *testing.T, r Reply) *Server {
	t.Helper()
	s, err := Start(func(Request) Reply { return r })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestEveryProtocolAnswersWholeAndStreamed(t *testing.T) {
	for _, r := range []Reply{{Text: "the words"}, {Call: &Call{Tool: "look", Args: json.RawMessage(`{"at":"the words"}`)}}} {
		s := start(t, r)
		for path, whole := range questions {
			streamed, streamPath := `{"stream":true,`+whole[1:], strings.Replace(path, ":generate", ":streamGenerate", 1)
			for _, answer := range []string{ask(t, s, path, whole), ask(t, s, streamPath, streamed)} {
				if !strings.Contains(answer, "the words") || strings.Contains(answer, "look") != (r.Call != nil) {
					t.Errorf("%s does not answer %+v:\n%s", path, r, answer)
				}
			}
			for _, q := range s.Take() {
				if !slices.Equal(q.Tools, []string{"look"}) || q.Turn != 1 {
					t.Errorf("%s: tools %q, turn %d", q.Path, q.Tools, q.Turn)
				}
			}
			for _, line := range strings.Split(ask(t, s, streamPath, streamed), "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s streams what is no JSON: %s", path, data)
				}
			}
		}
	}
}

func TestTakeForgetsRequests(t *testing.T) {
	s := start(t, Reply{Text: "x"})
	body := questions["/v1/messages"]
	ask(t, s, "/v1/messages", body)
	if got := s.Take(); len(got) != 1 || string(got[0].Body) != body {
		t.Errorf("kept %+v", got)
	}
	ask(t, s, "/v1/messages/count_tokens", body)
	if got := s.Take(); len(got) != 0 {
		t.Errorf("kept what asks for no answer: %+v", got)
	}
	if res, err := http.Get(s.URL + "/v1/telemetry"); err != nil || res.StatusCode != http.StatusNotFound || !slices.Equal(s.Unknown(), []string{"GET /v1/telemetry"}) {
		t.Errorf("an address of no model server: %v, error %v, kept %q", res, err, s.Unknown())
	}
}
